// Made from the protos by `make proto`.

import * as knowledgePb from "../../gen/contextkeep/context/v1/knowledge_pb.js";
import type { AppClient, ContextOptions } from "../../context/app.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { type WikiPage, wikiPageOf } from "../knowledge.js";

/** The calls of `pages` that are one method each. */
export class GeneratedPages extends Noun<AppClient> {
  /**
   * Lists the pages of a user by slug, each in its newest version, without what it says.
   *
   * Throws InvalidArgument, InvalidPageToken, SubjectRequired, LimitExceeded, PermissionDenied.
   *
   * @param options.slugPrefix Only those whose slug begins with it: "customers/". Up to 128 characters.
   * @param options.memoryId Only those that cite this memory.
   */
  list(options: { slugPrefix?: string; memoryId?: string; pageSize?: number } & ContextOptions = {}): Rows<WikiPage> {
    const request = {
      slugPrefix: options.slugPrefix,
      memoryId: options.memoryId,
      pageSize: options.pageSize,
      subjectUserId: options.subjectUserId,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(knowledgePb.Knowledge.method.listPages, { ...request, pageToken }, options);
        return [page.pages.map(wikiPageOf), page.nextPageToken];
      }),
    );
  }
}
