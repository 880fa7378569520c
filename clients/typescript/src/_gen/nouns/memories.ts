// Made from the protos by `make proto`.

import * as memoriesPb from "../../gen/contextkeep/context/v1/memories_pb.js";
import * as summariesPb from "../../gen/contextkeep/context/v1/summaries_pb.js";
import type { AppClient, ContextOptions } from "../../context/app.js";
import { toObject } from "../../json.js";
import { enumInput, maskOf } from "../../messages.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { toTimestamp } from "../../times.js";
import { type WriteOptions, requestId } from "../../writes.js";
import {
  type Experience,
  type Memory,
  type MemoryRevision,
  type MemorySource,
  type RecalledMemory,
  type Reflection,
  memoryOf,
  memoryRevisionOf,
  recalledMemoryOf,
  reflectionOf,
} from "../memories.js";
import { type UserContext, userContextOf } from "../summaries.js";

/** Options of `memories.retain`. */
export interface RetainOptions {
  /** The kind of memory. Default: a fact. */
  kind?: "fact" | "preference" | "experience" | "observation" | "event" | "commitment";
  /** Confidence in the statement, from 0 to 1. Unset: 1. */
  confidence?: number;
  /** Where the statement comes from. */
  source?: Partial<MemorySource>;
  /** When the statement was made, or when the event happened. Unset: `validFrom`, or now. */
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
  /**
   * Since when the statement holds. Unset: since the date that a text with a known subject names ("in May"), or
   * `happenedAt`.
   */
  validFrom?: Date | string;
  /** Until when the statement holds, not included. Unset: until another memory supersedes it. */
  validTo?: Date | string;
  /** When the memory is deleted; must be in the future. From then on no call returns it. Unset: never. */
  expiresAt?: Date | string;
  /** A JSON object of the caller's own, up to 8,192 bytes. */
  metadata?: object;
  /** Labels, up to 32. */
  tags?: string[];
}

/** Options of `memories.recall`. */
export interface MemoriesRecallOptions {
  /** Number of memories to return, from 1 to 100. Unset: 20. */
  limit?: number;
  /** Only memories of these kinds. Empty: all kinds. */
  kinds?: ("fact" | "preference" | "experience" | "observation" | "event" | "commitment")[];
  /** Only memories with this key. Empty: with any key or none. */
  key?: string;
  /** Only current memories, without superseded ones and those whose `validTo` has passed. */
  holdingOnly?: boolean;
  /** Only memories with `happenedAt` at or after this time. */
  happenedFrom?: Date | string;
  /** Only memories with `happenedAt` before this time. */
  happenedTo?: Date | string;
  /** Only memories that held at this time: `validFrom` is at or before it, and `validTo` is unset or after it. */
  asOf?: Date | string;
  /** Only memories with all of these tags. */
  tags?: string[];
  /** A JSON object. Only memories whose metadata contain it. */
  metadataContains?: object;
  /** Return only memories with this score or a higher one, 0 to 1. Unset means memories of any score. */
  scoreMin?: number;
}

/** Options of `memories.reflect`. */
export interface MemoriesReflectOptions {
  /** Number of sentences of the statement, from 1 to 20. Unset: 3. */
  limit?: number;
  /** Only memories of these kinds. Empty: all kinds. */
  kinds?: ("fact" | "preference" | "experience" | "observation" | "event" | "commitment")[];
  /** Only memories with this key. Empty: with any key or none. */
  key?: string;
  /** Only current memories, without superseded ones and those whose `validTo` has passed. */
  holdingOnly?: boolean;
  /** Only memories with `happenedAt` at or after this time. */
  happenedFrom?: Date | string;
  /** Only memories with `happenedAt` before this time. */
  happenedTo?: Date | string;
  /** Only memories that held at this time: `validFrom` is at or before it, and `validTo` is unset or after it. */
  asOf?: Date | string;
  /** Only memories with all of these tags. */
  tags?: string[];
  /** A JSON object. Only memories whose metadata contain it. */
  metadataContains?: object;
  /** Tokens of the statement, from 1 to 4,000. Unset: 400. */
  tokensMax?: number;
}

/** Options of `memories.list`. */
export interface MemoryFilter {
  /** Only memories of these kinds. Empty: all kinds. */
  kinds?: ("fact" | "preference" | "experience" | "observation" | "event" | "commitment")[];
  /** Only memories with this key. Empty: with any key or none. */
  key?: string;
  /** Only current memories, without superseded ones and those whose `validTo` has passed. */
  holdingOnly?: boolean;
  /** Only memories with `happenedAt` at or after this time. */
  happenedFrom?: Date | string;
  /** Only memories with `happenedAt` before this time. */
  happenedTo?: Date | string;
  /** Only memories that held at this time: `validFrom` is at or before it, and `validTo` is unset or after it. */
  asOf?: Date | string;
  /** Only memories with all of these tags. */
  tags?: string[];
  /** A JSON object. Only memories whose metadata contain it. */
  metadataContains?: object;
  /** Memories per page, at most 500. 0: 100. */
  pageSize?: number;
}

/** Options of `memories.update`. */
export interface MemoryChanges {
  /** The statement: not blank, up to 8,000 characters. */
  text?: string;
  /** The kind of memory. Default: a fact. */
  kind?: "fact" | "preference" | "experience" | "observation" | "event" | "commitment";
  /** Confidence in the statement, from 0 to 1. Unset: 1. */
  confidence?: number;
  /** Where the statement comes from. */
  source?: Partial<MemorySource>;
  /** When the statement was made, or when the event happened. Unset: `validFrom`, or now. */
  happenedAt?: Date | string;
  /**
   * The subject of the statement, up to 200 characters. Newer memories of the same key supersede older ones. Empty: no
   * other memory supersedes this one.
   */
  key?: string;
  /** Only for the kind EXPERIENCE. */
  experience?: Partial<Experience>;
  /**
   * Since when the statement holds. Unset: since the date that a text with a known subject names ("in May"), or
   * `happenedAt`.
   */
  validFrom?: Date | string;
  /** Until when the statement holds, not included. Unset: until another memory supersedes it. */
  validTo?: Date | string;
  /** When the memory is deleted; must be in the future. From then on no call returns it. Unset: never. */
  expiresAt?: Date | string;
  /** A JSON object of the caller's own, up to 8,192 bytes. */
  metadata?: object;
  /** Labels, up to 32. */
  tags?: string[];
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
   * the one with the latest `validFrom` is current. It supersedes the one before, which stays with its dates and names
   * its successor in `supersededBy`. Memories of one key that differ name each other in `contradicts`. Without a key,
   * rules find the subject of facts and preferences in a few plain forms, such as "I moved from Bergen to Oslo in May"
   * or "Kim's manager is Ola"; such memories supersede each other in the same way. Other texts have no subject.
   *
   * A statement that is stored already is not stored again: the call answers that memory, with one more source. The
   * memory must have the same kind, key, app and agent bundle, its text may differ in case, spaces and final
   * punctuation, and no other statement of its subject may lie between the two. Experiences are always new memories.
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
        validFrom: toTimestamp(options.validFrom, "memory.valid_from"),
        validTo: toTimestamp(options.validTo, "memory.valid_to"),
        expiresAt: toTimestamp(options.expiresAt, "memory.expires_at"),
        metadataJson: toObject(options.metadata, "memory.metadata_json"),
        tags: options.tags,
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
        asOf: toTimestamp(options.asOf, "filter.as_of"),
        tags: options.tags,
        metadataContainsJson: toObject(options.metadataContains, "filter.metadata_contains_json"),
      },
      subjectUserId: options.subjectUserId,
      scoreMin: options.scoreMin,
    };
    const answer = await this.client.call(memoriesPb.Memories.method.recallMemories, request, options);
    return answer.memories.map(recalledMemoryOf);
  }

  /**
   * Answer a question with sentences of memories, the most relevant first, each once. A memory is used if its words
   * cover enough of the question. A word that all matching memories share, such as a name, counts next to nothing. The
   * answer names the memories that it rests on. Superseded memories are not part of the statement, unless the filter
   * has `asOf`; the answer lists them separately.
   *
   * Throws those of memories.recall; InvalidArgument (`tokensMax` is not between 1 and 4,000).
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
        asOf: toTimestamp(options.asOf, "filter.as_of"),
        tags: options.tags,
        metadataContainsJson: toObject(options.metadataContains, "filter.metadata_contains_json"),
      },
      subjectUserId: options.subjectUserId,
      tokensMax: options.tokensMax,
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
        asOf: toTimestamp(options.asOf, "filter.as_of"),
        tags: options.tags,
        metadataContainsJson: toObject(options.metadataContains, "filter.metadata_contains_json"),
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
   * Correct a memory. The values before are kept, and memories.listRevisions returns them. To record a change over time
   * instead, retain a new memory with the same key.
   *
   * Throws those of memories.retain, MemoryNotFound, VersionConflict, LimitExceeded (the memory has 1,000 revisions).
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
        validFrom: toTimestamp(options.validFrom, "memory.valid_from"),
        validTo: toTimestamp(options.validTo, "memory.valid_to"),
        expiresAt: toTimestamp(options.expiresAt, "memory.expires_at"),
        metadataJson: toObject(options.metadata, "memory.metadata_json"),
        tags: options.tags,
      },
      updateMask: maskOf({
        text: options.text,
        kind: options.kind,
        confidence: options.confidence,
        source: options.source,
        happened_at: options.happenedAt,
        key: options.key,
        experience: options.experience,
        valid_from: options.validFrom,
        valid_to: options.validTo,
        expires_at: options.expiresAt,
        metadata_json: options.metadata,
        tags: options.tags,
      }),
      expectedVersion: options.expectedVersion,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.client.call(memoriesPb.Memories.method.updateMemory, request, options);
    return memoryOf(answer.memory!);
  }

  /**
   * List the earlier values of a memory, newest first. Each correction leaves one revision. Empty: the memory was never
   * corrected.
   *
   * Throws InvalidArgument, InvalidPageToken, MemoryNotFound, SubjectRequired, PermissionDenied.
   *
   * @param options.pageSize Revisions per page, at most 500. 0: 100.
   */
  listRevisions(memoryId: string, options: { pageSize?: number } & ContextOptions = {}): Rows<MemoryRevision> {
    const request = {
      memoryId,
      subjectUserId: options.subjectUserId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(memoriesPb.Memories.method.listMemoryRevisions, { ...request, pageToken }, options);
        return [page.revisions.map(memoryRevisionOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Delete a memory for good, with its revisions and index entries. If the memory superseded another one, the next memory of the key
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

  /**
   * Return one text about a user, to put before a new conversation.
   *
   * The text has the memories that hold now, with their dates and origins, commitments, the last
   * conversations, and the sentences of users in these that tell the most, within `tokensMax`. Each line has a
   * ref, and `lines` says what it is the ref of. Without new memories and messages the text stays the same, so a
   * vendor's prompt cache can keep it.
   *
   * It reads the user's newest 1,000 memories that hold, and up to 2,000 messages of the newest 100 contexts. Contexts
   * that are not findable, that were opened with `learning` OFF, and forks are left out. The bounds of the key apply; a
   * key of a context may not call it.
   *
   * Throws InvalidArgument (`tokensMax` is not between 1 and 32,000), SubjectRequired, PermissionDenied.
   *
   * @param options.tokensMax Tokens of the text, from 1 to 32,000. Unset: 2,000.
   */
  async getUserContext(options: { tokensMax?: number } & ContextOptions = {}): Promise<UserContext> {
    const request = {
      subjectUserId: options.subjectUserId,
      tokensMax: options.tokensMax,
    };
    const answer = await this.client.call(summariesPb.Summaries.method.getUserContext, request, options);
    return userContextOf(answer);
  }
}
