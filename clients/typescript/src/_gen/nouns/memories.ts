// Made from the protos by `make proto`.

import * as knowledgePb from "../../gen/contextkeep/context/v1/knowledge_pb.js";
import type { AppClient, ContextOptions } from "../../context/app.js";
import { enumInput, maskOf } from "../../messages.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { toTimestamp } from "../../times.js";
import { type WriteOptions, requestId } from "../../writes.js";
import {
  type Experience,
  type Memory,
  type MemorySource,
  type RecalledMemory,
  type Reflection,
  memoryOf,
  recalledMemoryOf,
  reflectionOf,
} from "../knowledge.js";

/** Options of `memories.retain`. */
export interface RetainOptions {
  /** What the memory is: by default a fact. */
  kind?: "fact" | "preference" | "experience" | "observation";
  /** From 0 to 1. Unset: 1. */
  confidence?: number;
  /** Where the statement comes from. */
  source?: Partial<MemorySource>;
  /** Unset: now. */
  happenedAt?: Date | string;
  /** What the statement is about, up to 200 characters. Empty: nothing that another one could supersede. */
  key?: string;
  /** Only of kind EXPERIENCE. */
  experience?: Partial<Experience>;
  /** Empty: the only one that the key is bound to, else none. */
  appId?: string;
  agentBundleId?: string;
}

/** Options of `memories.recall`. */
export interface MemoriesRecallOptions {
  /** Memories to answer: 1 to 100. Unset: 20. */
  limit?: number;
  /** Only of these kinds. Empty: of any. */
  kinds?: ("fact" | "preference" | "experience" | "observation")[];
  /** Only with this key. Empty: with any, or none. */
  key?: string;
  /** Without those that are superseded. */
  holdingOnly?: boolean;
  /** From this time on. */
  happenedFrom?: Date | string;
  /** Before it. */
  happenedTo?: Date | string;
}

/** Options of `memories.reflect`. */
export interface MemoriesReflectOptions {
  /** Sentences of the statement: 1 to 20. Unset: 8. */
  limit?: number;
  /** Only of these kinds. Empty: of any. */
  kinds?: ("fact" | "preference" | "experience" | "observation")[];
  /** Only with this key. Empty: with any, or none. */
  key?: string;
  /** Without those that are superseded. */
  holdingOnly?: boolean;
  /** From this time on. */
  happenedFrom?: Date | string;
  /** Before it. */
  happenedTo?: Date | string;
}

/** Options of `memories.list`. */
export interface MemoryFilter {
  /** Only of these kinds. Empty: of any. */
  kinds?: ("fact" | "preference" | "experience" | "observation")[];
  /** Only with this key. Empty: with any, or none. */
  key?: string;
  /** Without those that are superseded. */
  holdingOnly?: boolean;
  /** From this time on. */
  happenedFrom?: Date | string;
  /** Before it. */
  happenedTo?: Date | string;
  /** 0: 100; 500 at most. */
  pageSize?: number;
}

/** Options of `memories.update`. */
export interface MemoryChanges {
  /** Not blank, up to 8,000 characters. */
  text?: string;
  /** What the memory is: by default a fact. */
  kind?: "fact" | "preference" | "experience" | "observation";
  /** From 0 to 1. Unset: 1. */
  confidence?: number;
  /** Where the statement comes from. */
  source?: Partial<MemorySource>;
  /** Unset: now. */
  happenedAt?: Date | string;
  /** What the statement is about, up to 200 characters. Empty: nothing that another one could supersede. */
  key?: string;
  /** Only of kind EXPERIENCE. */
  experience?: Partial<Experience>;
  /** Only if it is this version. 0: any. */
  expectedVersion?: number;
}

/** The calls of `memories` that are one method each. */
export class GeneratedMemories extends Noun<AppClient> {
  /**
   * Keeps a statement about a user.
   *
   * When this is answered, the memory is stored, and found by its words; with an embedder its vector follows, and `state` says how far that is.
   *
   * A `key` names what a statement is about ("home_town"): of those with the same key, app and agent bundle, the one that happened last holds,
   * and supersedes the one before, which stays, with its date, and names what supersedes it. Those of one key that differ name each other in
   * `contradicts`.
   *
   * Throws InvalidArgument (no text; a kind, confidence or quality that is none; an `experience` of another kind of memory),
   * SubjectRequired, LimitExceeded, PermissionDenied, RequestIdReused.
   *
   * @param text Not blank, up to 8,000 characters.
   */
  async retain(text: string, options: RetainOptions & ContextOptions & WriteOptions = {}): Promise<Memory> {
    const request = {
      memory: {
        text,
        kind: enumInput("memory.kind", options.kind, knowledgePb.MemoryKind),
        confidence: options.confidence,
        source: options.source,
        happenedAt: toTimestamp(options.happenedAt, "memory.happened_at"),
        key: options.key,
        experience: options.experience,
        appId: options.appId,
        agentBundleId: options.agentBundleId,
      },
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.client.call(knowledgePb.Knowledge.method.retainMemory, request, options);
    return memoryOf(answer.memory!);
  }

  /**
   * Finds memories by the words of a question, the best first, each once. Where the service has an embedder, it finds them by meaning,
   * too. Superseded ones are found, too, and say so.
   *
   * Throws InvalidArgument (a blank query; a limit outside of 1 to 100), SubjectRequired, LimitExceeded, PermissionDenied.
   *
   * @param query Not blank. Up to 8,000 characters.
   */
  async recall(query: string, options: MemoriesRecallOptions & ContextOptions = {}): Promise<RecalledMemory[]> {
    const request = {
      query,
      limit: options.limit,
      filter: {
        kinds: options.kinds?.map((item, place) => enumInput(`filter.kinds[${place}]`, item, knowledgePb.MemoryKind)),
        key: options.key,
        holdingOnly: options.holdingOnly,
        happenedFrom: toTimestamp(options.happenedFrom, "filter.happened_from"),
        happenedTo: toTimestamp(options.happenedTo, "filter.happened_to"),
      },
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.client.call(knowledgePb.Knowledge.method.recallMemories, request, options);
    return answer.memories.map(recalledMemoryOf);
  }

  /**
   * Says in one statement what is remembered of a question, and on which memories it rests. The statement has the best sentence of each
   * memory that matters, the newest first, each said once. What is superseded is no part of the statement, and is named beside it.
   *
   * Throws those of memories.recall.
   *
   * @param query Not blank. Up to 8,000 characters.
   */
  async reflect(query: string, options: MemoriesReflectOptions & ContextOptions = {}): Promise<Reflection> {
    const request = {
      query,
      limit: options.limit,
      filter: {
        kinds: options.kinds?.map((item, place) => enumInput(`filter.kinds[${place}]`, item, knowledgePb.MemoryKind)),
        key: options.key,
        holdingOnly: options.holdingOnly,
        happenedFrom: toTimestamp(options.happenedFrom, "filter.happened_from"),
        happenedTo: toTimestamp(options.happenedTo, "filter.happened_to"),
      },
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.client.call(knowledgePb.Knowledge.method.reflectMemories, request, options);
    return reflectionOf(answer);
  }

  /** Lists memories, those that were retained last first. Throws InvalidArgument, InvalidPageToken, SubjectRequired. */
  list(options: MemoryFilter & ContextOptions = {}): Rows<Memory> {
    const request = {
      filter: {
        kinds: options.kinds?.map((item, place) => enumInput(`filter.kinds[${place}]`, item, knowledgePb.MemoryKind)),
        key: options.key,
        holdingOnly: options.holdingOnly,
        happenedFrom: toTimestamp(options.happenedFrom, "filter.happened_from"),
        happenedTo: toTimestamp(options.happenedTo, "filter.happened_to"),
      },
      subjectUserId: options.subjectUserId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(knowledgePb.Knowledge.method.listMemories, { ...request, pageToken }, options);
        return [page.memories.map(memoryOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Corrects a memory: nothing of what it said before is kept. What is new rather than right is retained with the same key.
   *
   * Throws those of memories.retain, MemoryNotFound, VersionConflict.
   */
  async update(memoryId: string, options: MemoryChanges & ContextOptions & WriteOptions = {}): Promise<Memory> {
    const request = {
      memoryId,
      memory: {
        text: options.text,
        kind: enumInput("memory.kind", options.kind, knowledgePb.MemoryKind),
        confidence: options.confidence,
        source: options.source,
        happenedAt: toTimestamp(options.happenedAt, "memory.happened_at"),
        key: options.key,
        experience: options.experience,
      },
      updateMask: maskOf({
        text: options.text,
        kind: options.kind,
        confidence: options.confidence,
        source: options.source,
        happened_at: options.happenedAt,
        key: options.key,
        experience: options.experience,
      }),
      expectedVersion: options.expectedVersion,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.client.call(knowledgePb.Knowledge.method.updateMemory, request, options);
    return memoryOf(answer.memory!);
  }

  /**
   * Removes a memory for good, with all that finds it. What it superseded is superseded by the next one of the key, or holds again.
   *
   * Throws MemoryNotFound, SubjectRequired, RequestIdReused.
   */
  async forget(memoryId: string, options: ContextOptions & WriteOptions = {}): Promise<void> {
    const request = {
      memoryId,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    await this.client.call(knowledgePb.Knowledge.method.forgetMemory, request, options);
  }
}
