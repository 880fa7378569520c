/** Memories: what is kept about a user, across contexts. */

import type { ContextOptions } from "./app.js";
import {
  type Consolidation,
  type Experience,
  type Memory,
  type MemorySource,
  type RecalledMemory,
  type Reflection,
  consolidationOf,
  memoryOf,
  recalledMemoryOf,
  reflectionOf,
} from "../_gen/knowledge.js";
import { GeneratedMemories } from "../_gen/nouns/memories.js";
import * as pb from "../gen/contextkeep/context/v1/knowledge_pb.js";
import { KINDS, type MemoryKind } from "../memories.js";
import { choice } from "../messages.js";
import { Rows, pages } from "../rows.js";
import { toTimestamp } from "../times.js";
import { type WriteOptions, requestId } from "../writes.js";

const method = pb.Knowledge.method;

/** What is said of a memory besides its text. */
export interface MemoryFields {
  /** Else "fact". */
  kind?: MemoryKind;
  /** What it is about. A newer one of the same key supersedes it, and both are kept. */
  key?: string;
  /** From 0 to 1; else 1. */
  confidence?: number;
  source?: Partial<MemorySource>;
  /** Else now. */
  happenedAt?: Date | string;
  /** Of the kind "experience": what was tried, and what came of it; the text is the lesson. */
  experience?: Partial<Experience>;
}

/** Which memories are meant; all that is said must hold. */
export interface MemoryFilter {
  kinds?: MemoryKind[];
  /** Only what is about this. */
  key?: string;
  /** Without those that are superseded. */
  holdingOnly?: boolean;
  /** Happened then or later. */
  happenedFrom?: Date | string;
  /** Happened before. */
  happenedTo?: Date | string;
}

/** Of a memory that is retained. */
export interface RetainOptions extends MemoryFields, ContextOptions, WriteOptions {
  /** Else the only one that the key is bound to. */
  appId?: string;
  agentBundleId?: string;
}

/**
 * An RPC is one method. Memories are always a user's: a key without a user names him in `subjectUserId`, else it is `SubjectRequired`.
 * Another's memory, and one that is not there at all, is `MemoryNotFound`.
 */
export class Memories extends GeneratedMemories {
  /**
   * Keep a statement about a user, and return it: stored, and found by its words.
   *
   * @param text Up to 8,000 characters.
   * @throws InvalidArgument It is no memory; the field is named.
   * @throws LimitExceeded It is too long, or the user has too many.
   */
  async retain(text: string, options: RetainOptions = {}): Promise<Memory> {
    const { appId, agentBundleId, subjectUserId } = options;
    const memory = { text, ...fields(options), appId, agentBundleId };
    const request = { memory, subjectUserId, requestId: requestId(options) };
    return memoryOf((await this.client.call(method.retainMemory, request, options)).memory!);
  }

  /**
   * Return the memories that matter to a question, the best first. Superseded ones are found, too, and say so.
   *
   * @param options `limit` is 1 to 100, else 20.
   */
  async recall(query: string, options: { limit?: number } & MemoryFilter & ContextOptions = {}): Promise<RecalledMemory[]> {
    const { limit, subjectUserId } = options;
    const request = { query, limit, filter: filterOf(options), subjectUserId };
    return (await this.client.call(method.recallMemories, request, options)).memories.map(recalledMemoryOf);
  }

  /**
   * Return what is remembered of a question as one statement, with the memories that it rests on.
   *
   * @param options `limit` is that of its sentences, 1 to 20, else 8.
   */
  async reflect(query: string, options: { limit?: number } & MemoryFilter & ContextOptions = {}): Promise<Reflection> {
    const { limit, subjectUserId } = options;
    const request = { query, limit, filter: filterOf(options), subjectUserId };
    return reflectionOf(await this.client.call(method.reflectMemories, request, options));
  }

  /** Memories, those that were retained last first. */
  list(options: { pageSize?: number } & MemoryFilter & ContextOptions = {}): Rows<Memory> {
    const { pageSize, subjectUserId } = options;
    return new Rows(() =>
      pages(async (pageToken) => {
        const request = { filter: filterOf(options), subjectUserId, pageSize, pageToken };
        const page = await this.client.call(method.listMemories, request, options);
        return [page.memories.map(memoryOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Correct a memory, and return it. Nothing of what it said before is kept; what is not given stays.
   *
   * @throws MemoryNotFound There is none.
   * @throws VersionConflict It has another version than `expectedVersion`.
   */
  async update(
    memoryId: string,
    changes: { text?: string; expectedVersion?: number } & MemoryFields & ContextOptions & WriteOptions,
  ): Promise<Memory> {
    const { text, expectedVersion, subjectUserId } = changes;
    const said = { text, ...fields(changes) };
    const names = { text: "text", kind: "kind", key: "key", confidence: "confidence", source: "source", happenedAt: "happened_at", experience: "experience" };
    const paths = Object.entries(names).flatMap(([name, path]) => (said[name as keyof typeof said] === undefined ? [] : [path]));
    const request = { memoryId, memory: said, updateMask: { paths }, expectedVersion, subjectUserId, requestId: requestId(changes) };
    return memoryOf((await this.client.call(method.updateMemory, request, changes)).memory!);
  }

  /**
   * Say what there is to merge and to promote; with the `plan` of that, do it.
   *
   * @param options `runContextIds` are up to 20 runs whose lessons are promoted.
   * @throws PlanOutdated Memories changed since.
   */
  async consolidate(
    options: { plan?: string; runContextIds?: string[] } & ContextOptions & WriteOptions = {},
  ): Promise<Consolidation> {
    const { plan, runContextIds, subjectUserId } = options;
    const request = { runContextIds, apply: Boolean(plan), plan, subjectUserId, requestId: plan && requestId(options) };
    return consolidationOf(await this.client.call(method.consolidateMemories, request, options));
  }
}

function filterOf({ kinds, key, holdingOnly, happenedFrom, happenedTo }: MemoryFilter) {
  return {
    kinds: kinds?.map((kind) => choice("filter.kinds", kind, KINDS)),
    key,
    holdingOnly,
    happenedFrom: toTimestamp(happenedFrom, "filter.happened_from"),
    happenedTo: toTimestamp(happenedTo, "filter.happened_to"),
  };
}

function fields({ kind, key, confidence, source, happenedAt, experience }: MemoryFields) {
  return {
    kind: kind && choice("memory.kind", kind, KINDS),
    key,
    confidence,
    source,
    happenedAt: toTimestamp(happenedAt, "memory.happened_at"),
    experience,
  };
}
