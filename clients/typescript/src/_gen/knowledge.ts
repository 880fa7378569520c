// Made from contextkeep/context/v1/knowledge.proto by `make proto`.

import * as pb from "../gen/contextkeep/context/v1/knowledge_pb.js";
import { enumText } from "../messages.js";
import { timeText } from "../times.js";
import { type Imported, importedOf } from "./message.js";
import { create } from "@bufbuild/protobuf";

/** Where a statement comes from. All of it is the caller's, and nothing of it is looked up. */
export interface MemorySource {
  /** Such as a file's name; up to 500 characters. */
  label: string;
  /** Up to 2,000 characters. */
  uri: string;
  /** A conversation, and a ref within it, such as one that Recall answered; up to 200 characters. */
  contextId: string;
  /** A place in the conversation. */
  ref: string;
}

export function memorySourceOf(message: pb.MemorySource): MemorySource {
  return {
    label: message.label,
    uri: message.uri,
    contextId: message.contextId,
    ref: message.ref,
  };
}

/** What was tried. The text of its memory is the lesson. */
export interface Experience {
  /** Up to 2,000 characters each. */
  goal: string;
  outcome: string;
  /** How well it went, from 0 to 1. Unset: nobody said. */
  quality?: number;
}

export function experienceOf(message: pb.MemoryExperience): Experience {
  const value: Experience = {
    goal: message.goal,
    outcome: message.outcome,
  };
  if (message.quality !== undefined) value.quality = message.quality;
  return value;
}

/** A statement about a user. Its text is material, whatever wrote it, and never an instruction. */
export interface Memory {
  memoryId: string;
  text: string;
  kind: "fact" | "preference" | "experience" | "observation" | "unknown";
  confidence: number;
  /** Of a merged one, those of all; the newest first, up to 100. */
  sources: MemorySource[];
  happenedAt: string;
  /** What it is about. */
  key: string;
  experience?: Experience;
  state: "pending" | "indexed" | "failed" | "unknown";
  /** The next newer one of its key. Empty: it holds. */
  supersededBy: string;
  /** Others of its key that say something else, the newest first, up to 10. */
  contradicts: string[];
  /** Counts its changes, from 1. */
  version: number;
  ownerUserId: string;
  appId: string;
  agentBundleId: string;
  createdBy: string;
  createdAt: string;
  updatedAt: string;
  /** Unset: no import wrote it. */
  imported?: Imported;
}

export function memoryOf(message: pb.Memory): Memory {
  const value: Memory = {
    memoryId: message.memoryId,
    text: message.text,
    kind: enumText(pb.MemoryKind, message.kind),
    confidence: message.confidence,
    sources: message.sources.map(memorySourceOf),
    happenedAt: timeText(message.happenedAt),
    key: message.key,
    state: enumText(pb.MemoryState, message.state),
    supersededBy: message.supersededBy,
    contradicts: message.contradicts,
    version: message.version,
    ownerUserId: message.ownerUserId,
    appId: message.appId,
    agentBundleId: message.agentBundleId,
    createdBy: message.createdBy,
    createdAt: timeText(message.createdAt),
    updatedAt: timeText(message.updatedAt),
  };
  if (message.experience !== undefined) value.experience = experienceOf(message.experience);
  if (message.imported !== undefined) value.imported = importedOf(message.imported);
  return value;
}

/** A memory that matters to a question. */
export interface RecalledMemory {
  memory: Memory;
  /** It compares those of one answer only. */
  score: number;
}

export function recalledMemoryOf(message: pb.RecalledMemory): RecalledMemory {
  return {
    memory: memoryOf(message.memory ?? create(pb.MemorySchema)),
    score: message.score,
  };
}

/** What is remembered of a question, as one statement. */
export interface Reflection {
  /** A line for each sentence, with its date. Empty: nothing is remembered. */
  statement: string;
  /** What it rests on, in the order of its lines; of several that say the same, all. */
  memoryIds: string[];
  /** What was found and holds no longer. */
  supersededIds: string[];
  /** "extractive": nothing in it is new. */
  method: string;
  /** "words", or "words and meaning". */
  mode: string;
  meaningError: string;
}

export function reflectionOf(message: pb.ReflectMemoriesResponse): Reflection {
  return {
    statement: message.statement,
    memoryIds: message.memoryIds,
    supersededIds: message.supersededIds,
    method: message.method,
    mode: message.mode,
    meaningError: message.meaningError,
  };
}

/** What there is to merge and to promote, or was. */
export interface Consolidation {
  /** What stands for all that would be done; empty: there is nothing to do. */
  plan: string;
  merged: MergedMemories[];
  promoted: PromotedLesson[];
  /** There is more to do, after this. A plan has up to 20 merges and 100 lessons. */
  hasMore: boolean;
  isApplied: boolean;
}

export function consolidationOf(message: pb.ConsolidateMemoriesResponse): Consolidation {
  return {
    plan: message.plan,
    merged: message.merged.map(mergedMemoriesOf),
    promoted: message.promoted.map(promotedLessonOf),
    hasMore: message.hasMore,
    isApplied: message.isApplied,
  };
}

export interface MergedMemories {
  /** That stays. */
  memoryId: string;
  /** In a dry run. */
  text: string;
  /** Of the others, the newest first, up to 50. */
  mergedIds: string[];
}

export function mergedMemoriesOf(message: pb.MergedMemories): MergedMemories {
  return {
    memoryId: message.memoryId,
    text: message.text,
    mergedIds: message.mergedIds,
  };
}

/** A lesson that runs taught. */
export interface PromotedLesson {
  /** Of the observation; empty in a dry run. */
  memoryId: string;
  /** In a dry run. */
  text: string;
  /** The experiences that taught it. */
  experienceIds: string[];
}

export function promotedLessonOf(message: pb.PromotedLesson): PromotedLesson {
  return {
    memoryId: message.memoryId,
    text: message.text,
    experienceIds: message.experienceIds,
  };
}

/** Where a page comes from. All of it is the writer's, and nothing of it is looked up. */
export interface PageSource {
  /** Up to 500 characters. */
  label: string;
  /** Up to 2,000 characters. */
  uri: string;
  /** Up to 200 characters. */
  id: string;
}

export function pageSourceOf(message: pb.PageSource): PageSource {
  return {
    label: message.label,
    uri: message.uri,
    id: message.id,
  };
}

/** A page in one of its versions. Its text is material, whatever wrote it, and never an instruction. */
export interface WikiPage {
  pageId: string;
  /** "wiki". */
  family: string;
  slug: string;
  title: string;
  aliases: string[];
  /** Of what is here; `newestVersion` is the page's. From 1. */
  version: number;
  /** The newest version of the page. */
  newestVersion: number;
  /** Empty in lists, and in the answers of pages.put. */
  markdown: string;
  /** Likewise. */
  sources: PageSource[];
  /** Memories that the page rests on. */
  memoryIds: string[];
  sizeBytes: number;
  state: "fresh" | "stale" | "unknown";
  /**
   * Why it is out of date: its time is over, a memory that it cites was changed since `asOf`, superseded or forgotten, or there is a newer
   * version.
   */
  stale: string[];
  /** When it was last put, be it as it is; of a version that is not the newest, when it was written. */
  asOf: string;
  freshUntil: string;
  ownerUserId: string;
  appId: string;
  agentBundleId: string;
  /** Who wrote the first version, and who this one. */
  createdBy: string;
  /** Who wrote this version. */
  writtenBy: string;
  /** When the first version was written, and when this one. */
  createdAt: string;
  updatedAt: string;
  /** Unset: no import wrote the page or this version. */
  imported?: Imported;
}

export function wikiPageOf(message: pb.Page): WikiPage {
  const value: WikiPage = {
    pageId: message.pageId,
    family: message.family,
    slug: message.slug,
    title: message.title,
    aliases: message.aliases,
    version: message.version,
    newestVersion: message.newestVersion,
    markdown: message.markdown,
    sources: message.sources.map(pageSourceOf),
    memoryIds: message.memoryIds,
    sizeBytes: message.sizeBytes,
    state: enumText(pb.PageState, message.state),
    stale: message.stale,
    asOf: timeText(message.asOf),
    freshUntil: timeText(message.freshUntil),
    ownerUserId: message.ownerUserId,
    appId: message.appId,
    agentBundleId: message.agentBundleId,
    createdBy: message.createdBy,
    writtenBy: message.writtenBy,
    createdAt: timeText(message.createdAt),
    updatedAt: timeText(message.updatedAt),
  };
  if (message.imported !== undefined) value.imported = importedOf(message.imported);
  return value;
}

/** A version of a page that is kept. */
export interface PageVersion {
  version: number;
  title: string;
  writtenBy: string;
  createdAt: string;
  sizeBytes: number;
  /** Unset: no import wrote it. */
  imported?: Imported;
}

export function pageVersionOf(message: pb.PageVersion): PageVersion {
  const value: PageVersion = {
    version: message.version,
    title: message.title,
    writtenBy: message.writtenBy,
    createdAt: timeText(message.createdAt),
    sizeBytes: message.sizeBytes,
  };
  if (message.imported !== undefined) value.imported = importedOf(message.imported);
  return value;
}
