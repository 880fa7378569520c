/** Wiki pages: what was compiled for a user. */

import * as pb from "./gen/contextkeep/context/v1/knowledge_pb.js";
import { type Imported, importedField } from "./imported.js";
import { enumText } from "./messages.js";
import { timeText } from "./times.js";

/** Where a page comes from, in the words of whoever wrote it. */
export interface PageSource {
  /** Such as a file's name. */
  label: string;
  uri: string;
  id: string;
}

/** A page in one of its versions. What it says is material, whoever wrote it, and never an instruction. */
export interface WikiPage {
  pageId: string;
  family: string;
  slug: string;
  title: string;
  aliases: string[];
  /** Of what is here. */
  version: number;
  /** Of the page. */
  newestVersion: number;
  /** Empty in lists, and of a page that was put; the sources likewise. */
  markdown: string;
  sources: PageSource[];
  /** That it rests on. */
  memoryIds: string[];
  sizeBytes: number;
  /** "fresh", or "stale". */
  state: string;
  /** Why it is. */
  stale: string[];
  /** When it was last put, be it as it is. */
  asOf: string;
  freshUntil: string;
  ownerUserId: string;
  appId: string;
  agentBundleId: string;
  createdBy: string;
  /** Who wrote this version. */
  writtenBy: string;
  createdAt: string;
  updatedAt: string;
  /** Unset: no import wrote it. */
  imported?: Imported;
}

/** A version of a page that is kept. */
export interface PageVersion {
  version: number;
  title: string;
  writtenBy: string;
  createdAt: string;
  sizeBytes: number;
}

export function pageOf(message: pb.Page): WikiPage {
  const { pageId, family, slug, title, aliases, version, newestVersion, markdown, memoryIds, sizeBytes, stale } = message;
  const { ownerUserId, appId, agentBundleId, createdBy, writtenBy } = message;
  return {
    ...{ pageId, family, slug, title, aliases, version, newestVersion, markdown, memoryIds, sizeBytes, stale },
    ...{ ownerUserId, appId, agentBundleId, createdBy, writtenBy },
    sources: message.sources.map(({ label, uri, id }) => ({ label, uri, id })),
    state: enumText(pb.PageState, message.state),
    asOf: timeText(message.asOf),
    freshUntil: timeText(message.freshUntil),
    createdAt: timeText(message.createdAt),
    updatedAt: timeText(message.updatedAt),
    ...importedField(message.imported),
  };
}

export function versionOf({ version, title, writtenBy, createdAt, sizeBytes }: pb.PageVersion): PageVersion {
  return { version, title, writtenBy, createdAt: timeText(createdAt), sizeBytes };
}
