// Made from the protos by `make proto`.

import * as memoriesPb from "../../gen/contextkeep/context/v1/memories_pb.js";
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
} from "../memories.js";

/** Options of `memories.retain`. */
export interface RetainOptions {
  /** The kind of memory. Default: a fact. */
  kind?: "fact" | "preference" | "experience" | "observation";
  /** Confidence in the statement, from 0 to 1. Unset: 1. */
  confidence?: number;
  /** Where the statement comes from. */
  source?: Partial<MemorySource>;
  /** When the statement became true. Unset: now. */
  happenedAt?: Date | string;
  /**
   * The subject of the statement, up to 200 characters. Newer memories of the same key supersede older ones. Empty: no
   * other memory supersedes this one.
   */
  key?: string;
  /** Only for the kind EXPERIENCE. */
  experience?: Partial<Experience>;
  /** The app that the memory belongs to. Empty: the app that the key is bound to if it is only one, else none. */
  appId?: string;
  /** The agent bundle that the memory belongs to. Empty: the bundle that the key is bound to, else none. */
  agentBundleId?: string;
}

/** Options of `memories.recall`. */
export interface MemoriesRecallOptions {
  /** Number of memories to return, from 1 to 100. Unset: 20. */
  limit?: number;
  /** Only memories of these kinds. Empty: all kinds. */
  kinds?: ("fact" | "preference" | "experience" | "observation")[];
  /** Only memories with this key. Empty: with any key or none. */
  key?: string;
  /** Only current memories, without superseded ones. */
  holdingOnly?: boolean;
  /** Only memories with `happenedAt` at or after this time. */
  happenedFrom?: Date | string;
  /** Only memories with `happenedAt` before this time. */
  happenedTo?: Date | string;
}

/** Options of `memories.reflect`. */
export interface MemoriesReflectOptions {
  /** Number of sentences of the statement, from 1 to 20. Unset: 8. */
  limit?: number;
  /** Only memories of these kinds. Empty: all kinds. */
  kinds?: ("fact" | "preference" | "experience" | "observation")[];
  /** Only memories with this key. Empty: with any key or none. */
  key?: string;
  /** Only current memories, without superseded ones. */
  holdingOnly?: boolean;
  /** Only memories with `happenedAt` at or after this time. */
  happenedFrom?: Date | string;
  /** Only memories with `happenedAt` before this time. */
  happenedTo?: Date | string;
}

/** Options of `memories.list`. */
export interface MemoryFilter {
  /** Only memories of these kinds. Empty: all kinds. */
  kinds?: ("fact" | "preference" | "experience" | "observation")[];
  /** Only memories with this key. Empty: with any key or none. */
  key?: string;
  /** Only current memories, without superseded ones. */
  holdingOnly?: boolean;
  /** Only memories with `happenedAt` at or after this time. */
  happenedFrom?: Date | string;
  /** Only memories with `happenedAt` before this time. */
  happenedTo?: Date | string;
  /** Memories per page, at most 500. 0: 100. */
  pageSize?: number;
}

/** Options of `memories.update`. */
export interface MemoryChanges {
  /** The statement: not blank, up to 8,000 characters. */
  text?: string;
  /** The kind of memory. Default: a fact. */
  kind?: "fact" | "preference" | "experience" | "observation";
  /** Confidence in the statement, from 0 to 1. Unset: 1. */
  confidence?: number;
  /** Where the statement comes from. */
  source?: Partial<MemorySource>;
  /** When the statement became true. Unset: now. */
  happenedAt?: Date | string;
  /**
   * The subject of the statement, up to 200 characters. Newer memories of the same key supersede older ones. Empty: no
   * other memory supersedes this one.
   */
  key?: string;
  /** Only for the kind EXPERIENCE. */
  experience?: Partial<Experience>;
  /** Change the memory only if it has this version. 0: any version. */
  expectedVersion?: number;
}

/** The calls of `memories` that are one method each. */
export class GeneratedMemories extends Noun<AppClient> {
  /**
   * Store a statement about a user.
   *
   * After the answer, the memory is stored and a search by words finds it. If the service has an embedder, it makes the
   * embedding in the background; `state` shows the progress.
   *
   * A `key` names the subject of a statement ("home_town"). Among the memories with the same key, app and agent bundle,
   * the one with the latest `happenedAt` is current. It supersedes the one before, which stays with its date and names
   * its successor in `supersededBy`. Memories of one key that differ name each other in `contradicts`.
   *
   * Throws InvalidArgument (the text is blank; the kind, confidence or quality is not valid; `experience` is set but
   * the kind is another one), SubjectRequired, LimitExceeded, PermissionDenied, RequestIdReused.
   *
   * @param text The statement: not blank, up to 8,000 characters.
   */
  async retain(text: string, options: RetainOptions & ContextOptions & WriteOptions = {}): Promise<Memory> {
    const request = {
      memory: {
        text,
        kind: enumInput("memory.kind", options.kind, memoriesPb.MemoryKind),
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
    const answer = await this.client.call(memoriesPb.Memories.method.retainMemory, request, options);
    return memoryOf(answer.memory!);
  }

  /**
   * Find the memories that match a question, best first, each once. It searches by words, and also by meaning if the
   * service has an embedder. The result includes superseded memories and marks them.
   *
   * Throws InvalidArgument (the query is blank; the limit is not between 1 and 100), SubjectRequired,
   * LimitExceeded, PermissionDenied.
   *
   * @param query The question: not blank, up to 8,000 characters.
   */
  async recall(query: string, options: MemoriesRecallOptions & ContextOptions = {}): Promise<RecalledMemory[]> {
    const request = {
      query,
      limit: options.limit,
      filter: {
        kinds: options.kinds?.map((item, place) => enumInput(`filter.kinds[${place}]`, item, memoriesPb.MemoryKind)),
        key: options.key,
        holdingOnly: options.holdingOnly,
        happenedFrom: toTimestamp(options.happenedFrom, "filter.happened_from"),
        happenedTo: toTimestamp(options.happenedTo, "filter.happened_to"),
      },
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.client.call(memoriesPb.Memories.method.recallMemories, request, options);
    return answer.memories.map(recalledMemoryOf);
  }

  /**
   * Summarize the memories that match a question in one statement. The statement takes the best sentence of each
   * matching memory, newest first, and repeats none. The answer names the memories that it rests on. Superseded
   * memories are not part of the statement; the answer lists them separately.
   *
   * Throws those of memories.recall.
   *
   * @param query The question: not blank, up to 8,000 characters.
   */
  async reflect(query: string, options: MemoriesReflectOptions & ContextOptions = {}): Promise<Reflection> {
    const request = {
      query,
      limit: options.limit,
      filter: {
        kinds: options.kinds?.map((item, place) => enumInput(`filter.kinds[${place}]`, item, memoriesPb.MemoryKind)),
        key: options.key,
        holdingOnly: options.holdingOnly,
        happenedFrom: toTimestamp(options.happenedFrom, "filter.happened_from"),
        happenedTo: toTimestamp(options.happenedTo, "filter.happened_to"),
      },
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.client.call(memoriesPb.Memories.method.reflectMemories, request, options);
    return reflectionOf(answer);
  }

  /** List memories, the latest retained first. Throws InvalidArgument, InvalidPageToken, SubjectRequired. */
  list(options: MemoryFilter & ContextOptions = {}): Rows<Memory> {
    const request = {
      filter: {
        kinds: options.kinds?.map((item, place) => enumInput(`filter.kinds[${place}]`, item, memoriesPb.MemoryKind)),
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
        const page = await this.client.call(memoriesPb.Memories.method.listMemories, { ...request, pageToken }, options);
        return [page.memories.map(memoryOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Correct a memory; the service keeps nothing of the old values. To record a change over time instead, retain a new
   * memory with the same key.
   *
   * Throws those of memories.retain, MemoryNotFound, VersionConflict.
   *
   * @param memoryId The memory to correct.
   */
  async update(memoryId: string, options: MemoryChanges & ContextOptions & WriteOptions = {}): Promise<Memory> {
    const request = {
      memoryId,
      memory: {
        text: options.text,
        kind: enumInput("memory.kind", options.kind, memoriesPb.MemoryKind),
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
    const answer = await this.client.call(memoriesPb.Memories.method.updateMemory, request, options);
    return memoryOf(answer.memory!);
  }

  /**
   * Delete a memory for good, with its index entries. If the memory superseded another one, the next memory of the key
   * supersedes that one now, or it is current again.
   *
   * Throws MemoryNotFound, SubjectRequired, RequestIdReused.
   *
   * @param memoryId The memory to delete.
   */
  async forget(memoryId: string, options: ContextOptions & WriteOptions = {}): Promise<void> {
    const request = {
      memoryId,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    await this.client.call(memoriesPb.Memories.method.forgetMemory, request, options);
  }
}
