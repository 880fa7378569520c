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
   * Register a compression profile under a name of the tenant. A profile is data: it says which lines of a log are
   * worth keeping. The same content again is the same version; other content creates a new version. The name means the
   * newest version; a window keeps the version with which it was opened. An app can register its profile at every
   * start.
   *
   * Throws InvalidArgument (the name is malformed, or belongs to a built-in profile; the text is not a valid
   * profile, with the position of the error), LimitExceeded (`text`: 256 KiB; `profiles`: 100 of a tenant;
   * `profile_versions`: 100 of a profile), PermissionDenied (the key is bound), RequestIdReused.
   *
   * @param name Up to 64 characters: a lowercase letter, then lowercase letters, digits, `_` and `-`.
   * @param text YAML or JSON of up to 256 KiB, as in docs/windows.md: `extends`, `high_importance`, `low_importance`, `preserve_verbatim`, `tool_output_trim`, `tool_clearing`, `planning_tools`, `words`, `state`. Patterns use the syntax of RE2: up to 400 patterns with up to 20,000 instructions together. YAML anchors and tags are not allowed.
   */
  async put(name: string, text: string, options: WriteOptions = {}): Promise<CompressionProfile> {
    const request = {
      name,
      text,
      requestId: requestId(options),
    };
    const answer = await this.client.call(contextWindowsPb.CompressionProfiles.method.putProfile, request, options);
    return compressionProfileOf(answer.profile!);
  }

  /**
   * List compression profiles by name, or all versions of one profile, newest first. The list includes built-in
   * profiles. Callers who may see the app of a learned version get that version too. Throws InvalidArgument,
   * InvalidPageToken, PermissionDenied (`withEvidence` needs `admin`).
   *
   * @param options.name Empty means all profiles, each in its newest version. A name means all versions of this profile.
   * @param options.withText Return `text` too. A page then has up to 10 profiles.
   * @param options.withEvidence Return the counts behind learned versions too. Needs `admin`.
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
        const page = await this.client.call(contextWindowsPb.CompressionProfiles.method.listProfiles, { ...request, pageToken }, options);
        return [page.profiles.map(compressionProfileOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Freeze, resume or undo the learning of a profile from windows with `learning`. After an undo, new windows get
   * the profile as it was registered, and all counts are deleted. Open windows keep their version. A request with only
   * the profile and the app changes nothing and returns the current state. Needs `admin`.
   *
   * Throws InvalidArgument (the profile does not exist), LimitExceeded (`learnings`: 1,000 profiles and apps of a
   * tenant), PermissionDenied (the key is bound), RequestIdReused.
   *
   * @param profile "general", "coding", "research", "operations", or a profile of the tenant: "mine" for its newest version, or "mine@3".
   * @param options.appId The app of the windows. Empty means windows without an app.
   * @param options.isFrozen True stops counting and learning. Unset means no change.
   * @param options.undo Undo what was learned, and delete all counts.
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
    const answer = await this.client.call(contextWindowsPb.CompressionProfiles.method.setLearning, request, options);
    return learningOf(answer);
  }
}
