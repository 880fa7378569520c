/** Wiki pages: what was compiled for a user. */

import type { ContextOptions } from "./app.js";
import { type PageSource, type PageVersion, type WikiPage, pageVersionOf, wikiPageOf } from "../_gen/knowledge.js";
import { GeneratedPages } from "../_gen/nouns/pages.js";
import * as pb from "../gen/contextkeep/context/v1/knowledge_pb.js";
import { Rows, pages } from "../rows.js";
import { toTimestamp } from "../times.js";
import { type WriteOptions, requestId } from "../writes.js";

const method = pb.Knowledge.method;

/** Of a page that is written. */
export interface PutPageOptions extends ContextOptions, WriteOptions {
  /** By which it is known, such as "customers/acme"; else made of the title. */
  slug?: string;
  /** What it is called besides. */
  aliases?: string[];
  /** What it was made of. */
  sources?: Partial<PageSource>[];
  /** Memories that it rests on: when one is changed, superseded or forgotten, the page is stale. */
  memoryIds?: string[];
  /** Until when it is good; else as long as what it cites is. */
  freshUntil?: Date | string;
  /** What the writer has read; 0: there is no such page yet. Else whatever there is. */
  expectedVersion?: number;
  /** Else the only one that the key is bound to. */
  appId?: string;
  agentBundleId?: string;
}

/** Which page is meant: its slug or an alias, within an app and an agent bundle; or its id. */
export type PageName = { pageId: string } | { slug: string; appId?: string; agentBundleId?: string };

/**
 * An RPC is one method. Pages are always a user's: a key without a user names him in `subjectUserId`, else it is `SubjectRequired`. Another's
 * page, and one that is not there at all, is `PageNotFound`.
 */
export class Pages extends GeneratedPages {
  /**
   * Write a page of a user's wiki, whole, and return it without what it says. The same again is no new version: the page holds as of now.
   *
   * @param markdown Up to 1 MiB.
   * @throws InvalidArgument It is no page; the field is named.
   * @throws PageNameTaken Its slug or an alias leads to another page.
   * @throws VersionConflict There is another version than the one that is expected.
   * @throws MemoryNotFound It would cite one that is not there.
   */
  async put(title: string, markdown: string, options: PutPageOptions = {}): Promise<WikiPage> {
    const { slug, aliases, sources, memoryIds, freshUntil, expectedVersion, appId, agentBundleId, subjectUserId } = options;
    const page = {
      ...{ title, markdown, slug, aliases, sources, memoryIds, appId, agentBundleId },
      freshUntil: toTimestamp(freshUntil, "page.fresh_until"),
    };
    const request = { page, expectedVersion, subjectUserId, requestId: requestId(options) };
    return wikiPageOf((await this.client.call(method.putPage, request, options)).page!);
  }

  /**
   * Return a page.
   *
   * @param options `version`: one that is kept; else the newest.
   * @throws PageNotFound There is none, or it has not this version, or not any more.
   */
  async get(name: PageName, options: { version?: number } & ContextOptions = {}): Promise<WikiPage> {
    const { version, subjectUserId } = options;
    return wikiPageOf((await this.client.call(method.getPage, { ...name, version, subjectUserId }, options)).page!);
  }

  /** The versions of a page that are kept, the newest first. */
  listVersions(name: PageName, options: { pageSize?: number } & ContextOptions = {}): Rows<PageVersion> {
    const { pageSize, subjectUserId } = options;
    return new Rows(() =>
      pages(async (pageToken) => {
        const request = { ...name, pageSize, pageToken, subjectUserId };
        const page = await this.client.call(method.listPageVersions, request, options);
        return [page.versions.map(pageVersionOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Remove a page, for good, with all its versions.
   *
   * @throws PageNotFound There is no such page.
   * @throws VersionConflict There is another version than the one that is expected.
   */
  async delete(name: PageName, options: { expectedVersion?: number } & ContextOptions & WriteOptions = {}): Promise<void> {
    const { expectedVersion, subjectUserId } = options;
    const request = { ...name, expectedVersion, subjectUserId, requestId: requestId(options) };
    await this.client.call(method.deletePage, request, options);
  }
}
