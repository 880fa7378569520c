// Made from the protos by `make proto`.

import * as pagesPb from "../../gen/contextkeep/context/v1/pages_pb.js";
import type { AppClient, ContextOptions } from "../../context/app.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { toTimestamp } from "../../times.js";
import { type WriteOptions, requestId } from "../../writes.js";
import { type PageSource, type PageVersion, type WikiPage, pageVersionOf, wikiPageOf } from "../pages.js";

/** Options of `pages.put`. */
export interface PutPageOptions {
  /**
   * Lowercase letters and digits, with single marks (- _ . /) between them, up to 128 characters:
   * "customers/acme-corp". Empty: made from the title.
   */
  slug?: string;
  /**
   * Other names of the page, up to 20 of up to 200 characters each. A search for an alias finds the page, and pages.get
   * accepts an alias in place of the slug.
   */
  aliases?: string[];
  /** Sources of the page, up to 100. */
  sources?: Partial<PageSource>[];
  /** The memories that the page rests on, up to 200. */
  memoryIds?: string[];
  /** When the page becomes out of date. Unset: only when a memory that it cites changes. */
  freshUntil?: Date | string;
  /** The app that the page belongs to. Empty: the app that the key is bound to if it is only one, else none. */
  appId?: string;
  /** The agent bundle that the page belongs to. Empty: the bundle that the key is bound to, else none. */
  agentBundleId?: string;
  /** Write only if the page has this version; 0: only if there is no such page yet. Unset: write in any case. */
  expectedVersion?: number;
}

/** Options of `pages.get`. */
export interface PagesGetOptions {
  /** The page. Give either this or `slug`. */
  pageId?: string;
  /** A slug or an alias. */
  slug?: string;
  /**
   * The app to look up the slug in. Empty: the app that the key is bound to if it is only one, else pages without an
   * app.
   */
  appId?: string;
  /** The agent bundle to look up the slug in. Empty: the bundle that the key is bound to, else pages without a bundle. */
  agentBundleId?: string;
  /** The version to read. 0: the newest. */
  version?: number;
}

/** Options of `pages.listVersions`. */
export interface PagesListVersionsOptions {
  /** The page, as in pages.get: give either this or `slug`. */
  pageId?: string;
  /** A slug or an alias. */
  slug?: string;
  /** The app to look up the slug in, as in pages.get. */
  appId?: string;
  /** The agent bundle to look up the slug in, as in pages.get. */
  agentBundleId?: string;
  pageSize?: number;
}

/** Options of `pages.delete`. */
export interface PagesDeleteOptions {
  /** The page, as in pages.get: give either this or `slug`. */
  pageId?: string;
  /** A slug or an alias. */
  slug?: string;
  /** The app to look up the slug in, as in pages.get. */
  appId?: string;
  /** The agent bundle to look up the slug in, as in pages.get. */
  agentBundleId?: string;
  /** Delete the page only if it has this version. Unset: any version. */
  expectedVersion?: number;
}

/** The calls of `pages` that are one method each. */
export class Pages extends Noun<AppClient> {
  /**
   * Write a whole page of a user's wiki: a new page, or the next version of the page with the same slug.
   *
   * After the answer, the page is stored and a search by words finds its sections; the text of the version before is
   * not found any more. The service keeps the newest 50 versions, up to 16 MiB together. A put of unchanged content
   * makes no new version; it only renews `asOf`.
   *
   * Among the pages of a user, app and agent bundle, each slug and each alias leads to one page; aliases ignore case
   * and spacing. If another page has the slug or an alias, the call fails with PageNameTaken.
   *
   * Throws InvalidArgument (the violation names the field: the slug is not valid, the title or Markdown is blank),
   * SubjectRequired, PageNameTaken, VersionConflict (the page has another version than `expectedVersion`),
   * PageNotFound (`expectedVersion` is set, and there is no such page), MemoryNotFound (a cited memory does not
   * exist), LimitExceeded, PermissionDenied, RequestIdReused.
   *
   * @param title The title: not blank, up to 200 characters.
   * @param markdown The text: not blank, up to 1 MiB, with up to 2,000 headings (`#`).
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
    const answer = await this.client.call(pagesPb.Pages.method.putPage, request, options);
    return wikiPageOf(answer.page!);
  }

  /**
   * Read the newest version of a page, or an older version that is still kept.
   *
   * Throws InvalidArgument (both `pageId` and `slug`, or neither), SubjectRequired, PageNotFound (there is no
   * such page, or it does not have this version, or no longer has it), LimitExceeded, PermissionDenied.
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
    const answer = await this.client.call(pagesPb.Pages.method.getPage, request, options);
    return wikiPageOf(answer.page!);
  }

  /**
   * List the newest versions of a user's pages by slug, without their Markdown.
   *
   * Throws InvalidArgument, InvalidPageToken, SubjectRequired, LimitExceeded, PermissionDenied.
   *
   * @param options.slugPrefix Only pages whose slug begins with this text, such as "customers/". Up to 128 characters.
   * @param options.memoryId Only pages that cite this memory.
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
        const page = await this.client.call(pagesPb.Pages.method.listPages, { ...request, pageToken }, options);
        return [page.pages.map(wikiPageOf), page.nextPageToken];
      }),
    );
  }

  /**
   * List the kept versions of a page, newest first.
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
        const page = await this.client.call(pagesPb.Pages.method.listPageVersions, { ...request, pageToken }, options);
        return [page.versions.map(pageVersionOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Delete a page for good, with all its versions.
   *
   * Throws InvalidArgument, SubjectRequired, PageNotFound, VersionConflict, PermissionDenied,
   * RequestIdReused.
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
    await this.client.call(pagesPb.Pages.method.deletePage, request, options);
  }
}
