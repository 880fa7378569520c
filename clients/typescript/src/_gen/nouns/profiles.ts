// Made from the protos by `make proto`.

import * as contextWindowsPb from "../../gen/contextkeep/context/v1/context_windows_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { type WriteOptions, requestId } from "../../writes.js";
import { type CompressionProfile, type Learning, compressionProfileOf, learningOf } from "../context-windows.js";

/** The calls of `profiles` that are one method each. */
export class Profiles extends Noun<AppClient> {
  /**
   * Registers a profile of compression under a name of the tenant's, as data. The same content again is the same version; other content is a
   * new one. The name stands for what was put last; a window keeps the version that it was opened with. An app puts its profile when it starts.
   *
   * Throws InvalidArgument (the name is no name, or of a profile that comes with the service; the text is no profile, and where),
   * LimitExceeded (`text`: 256 KiB; `profiles`: 100 of a tenant; `profile_versions`: 100 of a profile), PermissionDenied (the key is bound),
   * RequestIdReused.
   *
   * @param name Up to 64 characters: a small letter, and small letters, digits, `_` and `-`.
   * @param text YAML, or JSON, of up to 256 KiB, as docs/windows.md says: `extends`, `high_importance`, `low_importance`, `preserve_verbatim`, `tool_output_trim`, `words`, `state`. Patterns are RE2's, up to 400, of up to 20,000 instructions together; no anchors and no tags.
   */
  async put(name: string, text: string, options: WriteOptions = {}): Promise<CompressionProfile> {
    const request = {
      name,
      text,
      requestId: requestId(options),
    };
    const answer = await this.client.call(contextWindowsPb.ContextWindows.method.putProfile, request, options);
    return compressionProfileOf(answer.profile!);
  }

  /**
   * Lists compression profiles by name, or all versions of one, the newest first. Profiles that come with the service are listed, too.
   * Those that were learned are among the versions, to whoever may see their app. Throws InvalidArgument, InvalidPageToken,
   * PermissionDenied (`withEvidence` needs `admin`).
   *
   * @param options.name Empty: all, each as it was put last. Else of this one all versions.
   * @param options.withText With `text`; a page has up to 10 then.
   * @param options.withEvidence With the counts of which versions follow that were learned. Needs `admin`.
   */
  list(options: { name?: string; withText?: boolean; pageSize?: number; withEvidence?: boolean } & CallOptions = {}): Rows<CompressionProfile> {
    const request = {
      name: options.name,
      withText: options.withText,
      pageSize: options.pageSize,
      withEvidence: options.withEvidence,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(contextWindowsPb.ContextWindows.method.listProfiles, { ...request, pageToken }, options);
        return [page.profiles.map(compressionProfileOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Freezes, resumes or undoes what windows with `learning` teach of a profile. After an undo, windows that are opened get the profile as
   * it was put, and nothing is left of the counts. Windows that are open keep what they have. With nothing said but the profile and the
   * app it answers what is known. Needs `admin`.
   *
   * Throws InvalidArgument (there is no such profile), LimitExceeded (`learnings`: 1,000 profiles and apps of a tenant),
   * PermissionDenied (the key is bound), RequestIdReused.
   *
   * @param profile "general", "coding", "research", "operations", or one that was put: "mine", as it was put last, or "mine@3".
   * @param options.appId Of whose windows; empty: of those of no app.
   * @param options.isFrozen Nothing more is counted and learned. Unset: as it is.
   * @param options.undo Undoes what was learned, and forgets what was counted.
   */
  async setLearning(
    profile: string,
    options: { appId?: string; isFrozen?: boolean; undo?: boolean } & WriteOptions = {},
  ): Promise<Learning> {
    const request = {
      profile,
      appId: options.appId,
      isFrozen: options.isFrozen,
      undo: options.undo,
      requestId: requestId(options),
    };
    const answer = await this.client.call(contextWindowsPb.ContextWindows.method.setLearning, request, options);
    return learningOf(answer);
  }
}
