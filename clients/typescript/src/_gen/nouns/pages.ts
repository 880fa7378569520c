// Made from the protos by `make proto`.

import * as knowledgePb from "../../gen/contextkeep/context/v1/knowledge_pb.js";
import type { AppClient, ContextOptions } from "../../context/app.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { toTimestamp } from "../../times.js";
import { type WriteOptions, requestId } from "../../writes.js";
import { type PageSource, type PageVersion, type WikiPage, pageVersionOf, wikiPageOf } from "../knowledge.js";

/** Options of `pages.put`. */
export interface PutPageOptions {
  /** Small letters and digits, with single marks (- _ . /) between, up to 128 characters: "customers/acme-corp". Empty: made of the title. */
  slug?: string;
  /** What it is called besides, up to 20 of 200 characters: found with the page, and each leads to it. */
  aliases?: string[];
  /** What it was made of, up to 100. */
  sources?: Partial<PageSource>[];
  /** The memories that it rests on, up to 200. */
  memoryIds?: string[];
  /** Until when it is good. Unset: as long as what it cites is. */
  freshUntil?: Date | string;
  /** Empty: the only one that the key is bound to, else none. */
  appId?: string;
  agentBundleId?: string;
  /** What the writer has read; 0: there is no such page yet. Unset: whatever there is. */
  expectedVersion?: number;
}

/** Options of `pages.get`. */
export interface PagesGetOptions {
  /** Either this, or `slug`. */
  pageId?: string;
  /** A slug or an alias. */
  slug?: string;
  /** Where the slug is looked for. Empty: the only one that the key is bound to, else pages of none. */
  appId?: string;
  agentBundleId?: string;
  /** 0: the newest. */
  version?: number;
}

/** Options of `pages.listVersions`. */
export interface PagesListVersionsOptions {
  /** As of pages.get. */
  pageId?: string;
  slug?: string;
  appId?: string;
  agentBundleId?: string;
  pageSize?: number;
}

/** Options of `pages.delete`. */
export interface PagesDeleteOptions {
  /** As of pages.get. */
  pageId?: string;
  slug?: string;
  appId?: string;
  agentBundleId?: string;
  /** Unset: whatever it is. */
  expectedVersion?: number;
}

/** The calls of `pages` that are one method each. */
export class Pages extends Noun<AppClient> {
  /**
   * Writes a page of a user's wiki, whole: a new one, or the next version of the one that has its slug.
   *
   * When this is answered, the page is stored, and what it says is found by its words, section by section; what the version before said is
   * found no more. The newest 50 versions are kept (of up to 16 MiB together). The same content again is no new version: the page then is said
   * to hold as of now.
   *
   * A slug, and an alias in any case and spacing, leads to one page among those of its user, app and agent bundle: PageNameTaken if one of
   * them leads to another.
   *
   * Of every RPC about pages: a page is always a user's, as memories are: SubjectRequired without one. A page of another user or tenant,
   * outside of what the key is bound to, deleted, or invented is PageNotFound, all alike.
   *
   * Throws InvalidArgument (the violation names the field: a slug that is none, a blank title or Markdown), SubjectRequired,
   * PageNameTaken, VersionConflict (another version than `expectedVersion`), PageNotFound (one is expected, and there is none),
   * MemoryNotFound (the page would cite one that is not there), LimitExceeded, PermissionDenied, RequestIdReused.
   *
   * @param title Not blank, up to 200 characters.
   * @param markdown Not blank, up to 1 MiB, with up to 2,000 headings (`#`).
   */
  async put(
    title: string,
    markdown: string,
    options: PutPageOptions & ContextOptions & WriteOptions = {},
  ): Promise<WikiPage> {
    const request = {
      page: {
        slug: options.slug,
        title,
        markdown,
        aliases: options.aliases,
        sources: options.sources,
        memoryIds: options.memoryIds,
        freshUntil: toTimestamp(options.freshUntil, "page.fresh_until"),
        appId: options.appId,
        agentBundleId: options.agentBundleId,
      },
      expectedVersion: options.expectedVersion,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.client.call(knowledgePb.Knowledge.method.putPage, request, options);
    return wikiPageOf(answer.page!);
  }

  /**
   * Reads a page in its newest version, or in one that is kept.
   *
   * Throws InvalidArgument (both `pageId` and `slug`, or neither), SubjectRequired, PageNotFound (also: it has not this version, or not
   * any more), LimitExceeded, PermissionDenied.
   */
  async get(options: PagesGetOptions & ContextOptions = {}): Promise<WikiPage> {
    const request = {
      pageId: options.pageId,
      slug: options.slug,
      appId: options.appId,
      agentBundleId: options.agentBundleId,
      version: options.version,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.client.call(knowledgePb.Knowledge.method.getPage, request, options);
    return wikiPageOf(answer.page!);
  }

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

  /**
   * Lists the versions of a page that are kept, the newest first.
   *
   * Throws InvalidArgument, InvalidPageToken, SubjectRequired, PageNotFound, PermissionDenied.
   */
  listVersions(options: PagesListVersionsOptions & ContextOptions = {}): Rows<PageVersion> {
    const request = {
      pageId: options.pageId,
      slug: options.slug,
      appId: options.appId,
      agentBundleId: options.agentBundleId,
      pageSize: options.pageSize,
      subjectUserId: options.subjectUserId,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(knowledgePb.Knowledge.method.listPageVersions, { ...request, pageToken }, options);
        return [page.versions.map(pageVersionOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Removes a page, for good, with all its versions.
   *
   * Throws InvalidArgument, SubjectRequired, PageNotFound, VersionConflict, PermissionDenied, RequestIdReused.
   */
  async delete(options: PagesDeleteOptions & ContextOptions & WriteOptions = {}): Promise<void> {
    const request = {
      pageId: options.pageId,
      slug: options.slug,
      appId: options.appId,
      agentBundleId: options.agentBundleId,
      expectedVersion: options.expectedVersion,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    await this.client.call(knowledgePb.Knowledge.method.deletePage, request, options);
  }
}
