/** Working memory and chat history. An RPC is one method. */

import { randomUUID } from "node:crypto";

import { create } from "@bufbuild/protobuf";

import { Client, type CallOptions, type ClientOptions } from "./client.js";
import type { VersionOptions, WriteOptions } from "./entity.js";
import * as history_pb from "./gen/contextgraph/context/v1/chat_history_pb.js";
import * as tools_pb from "./gen/contextgraph/context/v1/tools_pb.js";
import * as memory_pb from "./gen/contextgraph/context/v1/working_memory_pb.js";
import { AnswerTooLarge, Internal, InvalidArgument } from "./gen/errors.js";
import * as history from "./history.js";
import { parseJson, parseObject, toObject, type JsonObject } from "./json.js";
import { choice, whole } from "./messages.js";
import * as records from "./records.js";
import type {
  BlobEntry,
  BlobName,
  InlineContent,
  ManifestEntity,
  RecordAction,
  RecordFields,
  Upload,
  WMRecord,
} from "./records.js";
import { type ResumeOptions, patiently, sendRest } from "./resumable.js";
import { Rows, pages } from "./rows.js";
import { timeText } from "./times.js";
import { type Resource, type Tool, resourceOf, toolOf } from "./tools.js";
import { BlobReader, type ByteStream, type OnProgress, Tally, checkUpload, cut } from "./transfer.js";

const memory = memory_pb.WorkingMemory.method;
const chat = history_pb.ChatHistory.method;
const tools = tools_pb.Tools.method;

const FINISH_TIMEOUT_MS = 3_600_000; // the service reads and writes every byte once more
const FORMATS = { openai: history_pb.MessageFormat.OPENAI, anthropic: history_pb.MessageFormat.ANTHROPIC };
const SEARCH_MODES = {
  text: memory_pb.SearchMode.TEXT,
  vector: memory_pb.SearchMode.VECTOR,
  fused: memory_pb.SearchMode.FUSED,
};

export interface ContextClientOptions extends ClientOptions {
  /** The app that records, mappings and histories belong to where a call does not say. Else `CONTEXT_SERVICE_APP_ID`. */
  appId?: string;
}

/** Which records are meant; all that is said must hold. */
export interface RecordFilter {
  /** One of these; so of the next three. */
  memoryTypes?: string[];
  subtypes?: string[];
  semanticPurposes?: string[];
  names?: string[];
  namePrefix?: string;
  /** All of these. */
  tags?: string[];
  metadataContains?: object;
  includeArchived?: boolean;
}

export interface UploadOptions extends RecordFields, WriteOptions {
  name: string;
  /** A UUID; else the server makes one. */
  workingMemoryId?: string;
  /** In hexadecimal, where you know it: the service then refuses other bytes. */
  sha256?: string;
  onProgress?: OnProgress;
}

/** A resumable upload to begin. */
export interface NewUpload extends RecordFields {
  name: string;
  workingMemoryId?: string;
  /** Of the whole, where you know it; so of the next one. */
  sizeBytes?: number;
  sha256?: string;
  /** A UUID: the same one again answers the same upload. */
  requestId?: string;
}

export interface ReadOptions extends CallOptions {
  /** The first byte; else 0. */
  offsetBytes?: number;
  /** 0, or more than there is: to the end. */
  lengthBytes?: number;
  /** Read it although its record is archived. */
  includeArchived?: boolean;
}

export interface HistoryOptions extends CallOptions {
  /** How nodes become messages; else "simple_chat". */
  mappingName?: string;
  /** Where the mapping is looked up; else the client's. */
  appId?: string;
  /** The newest; else all. */
  maxMessages?: number;
}

export class ContextClient extends Client {
  private readonly appId: string;

  /** The address is else that of `CONTEXT_SERVICE_ADDRESS`, else 127.0.0.1:50051. */
  constructor(options: ContextClientOptions = {}) {
    super(options, { name: "context-service", variable: "CONTEXT_SERVICE_ADDRESS", address: "127.0.0.1:50051" });
    this.appId = options.appId ?? process.env.CONTEXT_SERVICE_APP_ID ?? "";
  }

  // --- Records

  /**
   * Write a record with inline JSON content, or with none, and return it.
   *
   * @throws RecordExists The id is taken.
   */
  async insertWMRecord(
    record: RecordFields & InlineContent & { workingMemoryId?: string; name: string; memoryType: string } & WriteOptions,
  ): Promise<WMRecord> {
    const request = { record: this.recordInput(record), requestId: record.requestId ?? randomUUID() };
    return records.recordOf((await this.call(memory.insertWMRecord, request, record)).record!);
  }

  /**
   * Return a record with its inline content.
   *
   * @throws RecordNotFound There is none, or it is another tenant's.
   * @throws RecordArchived It is archived, and `includeArchived` is not set.
   */
  async fetchWMRecord(
    workingMemoryId: string,
    options: { includeArchived?: boolean } & CallOptions = {},
  ): Promise<WMRecord> {
    const request = { workingMemoryId, includeArchived: options.includeArchived };
    return records.recordOf((await this.call(memory.fetchWMRecord, request, options)).record!);
  }

  /**
   * Change fields of a record and return it: what is not given stays, what is empty is emptied. Metadata are replaced, not merged.
   *
   * @throws VersionConflict `expectedVersion` is stale: `version` in the metadata.
   */
  async updateWMRecord(
    workingMemoryId: string,
    changes: RecordFields & InlineContent & WriteOptions & VersionOptions,
  ): Promise<WMRecord> {
    const request = {
      record: records.recordInput({ ...changes, workingMemoryId }),
      updateMask: { paths: records.recordMask(changes) },
      expectedVersion: whole("expected_version", changes.expectedVersion),
      requestId: changes.requestId ?? randomUUID(),
    };
    return records.recordOf((await this.call(memory.updateWMRecord, request, changes)).record!);
  }

  /** The records of an entity, newest first; with their inline content if `withContent`. */
  fetchWMRecordsByEntity(
    entityNodeId: string,
    options: RecordFilter & { withContent?: boolean; pageSize?: number } & CallOptions = {},
  ): Rows<WMRecord> {
    const { withContent, pageSize } = options;
    const filter = recordFilter(options);
    return new Rows(() =>
      pages(async (pageToken) => {
        const request = { entityNodeId, ...filter, withContent, pageSize, pageToken };
        const page = await this.call(memory.fetchWMRecordsByEntity, request, options);
        return [page.records.map(records.recordOf), page.nextPageToken];
      }),
    );
  }

  /**
   * The entities below a root that have records, with these by memory type, counted. A root that is no node gives its own records.
   *
   * @throws NodeBudgetExceeded There are too many entities below the root.
   */
  fetchWMManifest(
    rootNodeId: string,
    options: RecordFilter & {
      /** 1 to 100; else 3. */
      depthMax?: number;
      edgeTypes?: string[];
      /** Leave the records out. */
      countsOnly?: boolean;
      /** Records of one entity and memory type, the newest; else 100. */
      recordsMax?: number;
      pageSize?: number;
    } & CallOptions = {},
  ): Rows<ManifestEntity> {
    const { depthMax, edgeTypes, countsOnly, recordsMax, pageSize } = options;
    const filter = recordFilter(options);
    return new Rows(() =>
      pages(async (pageToken) => {
        const request = { rootNodeId, ...filter, depthMax, edgeTypes, countsOnly, recordsMax, pageSize, pageToken };
        const page = await this.call(memory.fetchWMManifest, request, options);
        return [page.entities.map(records.manifestEntityOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Find records of all entities by their words, by a vector, or by both; the best first.
   *
   * @param search `text` has words, all of which a record must have, with "or", quotes and minus as in a web search; `embedding`
   *   has 1,536 values. Unlike elsewhere the client's app filters nothing.
   * @throws SliceTooLarge There are more than 50,000 vectors to compare with; add a filter.
   */
  async searchWMRecords(
    search: {
      text?: string;
      embedding?: number[];
      /** Compare only with embeddings of this model. */
      embeddingModel?: string;
      /** Else by what is given. */
      mode?: keyof typeof SEARCH_MODES;
      entityNodeIds?: string[];
      memoryTypes?: string[];
      graphName?: string;
      agentBundleId?: string;
      appId?: string;
      /** A condition tree, as of `queryWMRecords`. */
      where?: object;
      includeArchived?: boolean;
      /** At most 100; else 10. */
      limit?: number;
      withContent?: boolean;
    } & CallOptions,
  ): Promise<records.SearchHit[]> {
    const { text, embedding, embeddingModel, mode, where, entityNodeIds, memoryTypes } = search;
    const { graphName, agentBundleId, appId, includeArchived, limit, withContent } = search;
    const request = {
      text,
      embedding: embedding && { values: embedding, model: embeddingModel },
      mode: mode && choice("mode", mode, SEARCH_MODES),
      whereJson: toObject(where, "where_json"),
      ...{ entityNodeIds, memoryTypes, graphName, agentBundleId, appId, includeArchived, limit, withContent },
    };
    return (await this.call(memory.searchWMRecords, request, search)).hits.map(records.searchHitOf);
  }

  /**
   * Answer a question about records without SQL: columns, a condition, groups, an order, a limit; docs/search.md has examples.
   */
  async queryWMRecords(
    query: {
      select: string[];
      where?: object;
      groupBy?: string[];
      orderBy?: { column: string; descending?: boolean }[];
      limit?: number;
      includeArchived?: boolean;
    } & CallOptions,
  ): Promise<{ rows: JsonObject[]; hasMore: boolean }> {
    const { select, where, groupBy, orderBy, limit, includeArchived } = query;
    const request = { select, whereJson: toObject(where, "where_json"), groupBy, orderBy, limit, includeArchived };
    const answer = await this.call(memory.queryWMRecords, request, query);
    return { rows: answer.rowsJson.map(parseJson), hasMore: answer.hasMore };
  }

  /**
   * Archive a record and return it as it is now; `restoreWMRecord` brings it back. With `purge` it is gone for good, and nothing is
   * returned.
   */
  async deleteWMRecord(
    workingMemoryId: string,
    options: { purge?: boolean } & CallOptions = {},
  ): Promise<WMRecord | undefined> {
    const request = { workingMemoryId, purge: options.purge };
    const { record } = await this.call(memory.deleteWMRecord, request, options);
    return record && records.recordOf(record);
  }

  /** Bring an archived or expired record back, and return it. */
  async restoreWMRecord(workingMemoryId: string, options: CallOptions = {}): Promise<WMRecord> {
    return records.recordOf((await this.call(memory.restoreWMRecord, { workingMemoryId }, options)).record!);
  }

  /** What happened to a record, oldest first. */
  listWMRecordActions(workingMemoryId: string, options: { pageSize?: number } & CallOptions = {}): Rows<RecordAction> {
    const { pageSize } = options;
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(memory.listWMRecordActions, { workingMemoryId, pageSize, pageToken }, options);
        return [page.actions.map(records.recordActionOf), page.nextPageToken];
      }),
    );
  }

  // --- Blobs

  /**
   * Store bytes as a blob and return its record. When it returns, they are durable; until then nothing is visible.
   *
   * The answer is compared with what was sent. An upload that failed with `Unavailable` is repeated, with the same request id.
   *
   * @throws BlobTooLarge The limit was passed. Nothing was stored.
   * @throws ChecksumMismatch The bytes have not the `sha256`. Nothing was stored.
   */
  async uploadBlobFromBuffer(upload: UploadOptions & { buffer: Uint8Array }): Promise<WMRecord> {
    const header = this.uploadHeader(upload, upload.buffer.length);
    const attempts = this.attempts(upload, upload.timeoutMs);
    return attempts.run(() => this.upload(header, [upload.buffer], upload, this.settings(upload, attempts)));
  }

  /**
   * Store what a stream gives as a blob and return its record; the bytes are never held at once.
   *
   * It is sent once, since a stream cannot be read again. If the stream fails, nothing is stored, and its error is thrown.
   *
   * @throws SizeMismatch The stream gave other than `sizeBytes` bytes. Nothing was stored.
   */
  async uploadBlobFromStream(upload: UploadOptions & { stream: ByteStream; sizeBytes?: number }): Promise<WMRecord> {
    const header = this.uploadHeader(upload, upload.sizeBytes);
    const attempts = this.attempts(upload, upload.timeoutMs, false);
    return attempts.run(() => this.upload(header, upload.stream, upload, this.settings(upload, attempts)));
  }

  /**
   * Store a stream as `uploadBlobFromStream` does, but in parts that each survive on their own: a broken connection or a restart of
   * the service costs one part, not the whole. Keep the id that `onStarted` gets: should this process end, `resumeUpload` goes on.
   *
   * @throws Unavailable The service was away for too long.
   */
  async uploadResumable(
    upload: NewUpload & ResumeOptions & { stream: ByteStream; onStarted?: (uploadId: string) => void },
  ): Promise<WMRecord> {
    const request = { ...upload, requestId: upload.requestId ?? randomUUID(), timeoutMs: undefined };
    const started = await patiently(upload, () => this.startUpload(request));
    upload.onStarted?.(started.uploadId);
    return sendRest(this, started, upload.stream, upload);
  }

  /**
   * Go on with an upload, in this process or another, and return its record.
   *
   * @param stream The same bytes again, from their start.
   * @throws UploadNotFound It was given up, after a day without a new part.
   * @throws ChecksumMismatch These are other bytes.
   */
  async resumeUpload(uploadId: string, stream: ByteStream, options: ResumeOptions = {}): Promise<WMRecord> {
    const upload = await patiently(options, () => this.getUpload(uploadId, { ...options, timeoutMs: undefined }));
    return sendRest(this, upload, stream, options);
  }

  /** Begin an upload that survives broken connections and restarts; `resumeUpload` does the rest of it. */
  async startUpload(upload: NewUpload & CallOptions): Promise<Upload> {
    const { record, sizeBytes, sha256, requestId } = this.uploadHeader(upload, upload.sizeBytes);
    const { upload: started } = await this.call(memory.startUpload, { record, sizeBytes, sha256, requestId }, upload);
    return records.uploadOf(started!);
  }

  /**
   * Add one part to an upload, in one piece or several. It is sent once: behind an error, `getUpload` tells whether it arrived.
   *
   * @throws UploadPartExists The upload is past this offset: `offset_bytes` in the metadata.
   */
  async appendUpload(
    uploadId: string,
    offsetBytes: number,
    part: Uint8Array | Uint8Array[],
    options: CallOptions = {},
  ): Promise<Upload> {
    const header = { uploadId, offsetBytes: whole("offset_bytes", offsetBytes) };
    const messages = partMessages(header, part instanceof Uint8Array ? [part] : part);
    const settings = this.settings(options, this.attempts(options, options.timeoutMs, false));
    return records.uploadOf((await this.connection.upload(memory.appendUpload, messages, settings)).upload!);
  }

  /** Return how far an upload is; of one that was finished within the last day, its record. */
  async getUpload(uploadId: string, options: CallOptions = {}): Promise<Upload> {
    return records.uploadOf((await this.call(memory.getUpload, { uploadId }, options)).upload!);
  }

  /**
   * Make a record of an upload and return it; again answers the same. It may take minutes, and has an hour.
   *
   * @throws SizeMismatch The parts are not as many bytes. They stay, and others may be added.
   */
  async finishUpload(
    uploadId: string,
    options: { sizeBytes?: number; sha256?: string } & CallOptions = {},
  ): Promise<WMRecord> {
    const request = { uploadId, sizeBytes: whole("size_bytes", options.sizeBytes), sha256: options.sha256 };
    const call = { ...options, timeoutMs: options.timeoutMs ?? FINISH_TIMEOUT_MS };
    return records.recordOf((await this.call(memory.finishUpload, request, call)).record!);
  }

  /**
   * Open a blob, or a range of it: its record, then its bytes as they arrive.
   *
   * @throws BlobNotFound There is none of that key.
   * @throws RecordHasNoBlob Its content is inline: see `getContentAsBuffer`.
   */
  async getBlob(blob: BlobName, options: ReadOptions = {}): Promise<BlobReader> {
    return this.opened(blob, options, true);
  }

  /** Return the bytes of a blob, checked against its sha256. A read that breaks is begun again. */
  async getBlobAsBuffer(
    blob: BlobName,
    options: { includeArchived?: boolean; onProgress?: OnProgress } & CallOptions = {},
  ): Promise<Buffer> {
    const attempts = this.attempts(options, options.timeoutMs);
    return attempts.run(async () => {
      const once = { ...options, timeoutMs: attempts.remainingMs() };
      const reader = await this.opened(blob, once, false); // all of this is repeated
      const bytes = Buffer.allocUnsafeSlow(reader.sizeBytes);
      let doneBytes = 0;
      for await (const chunk of reader) {
        bytes.set(chunk, doneBytes);
        doneBytes += chunk.length;
        options.onProgress?.(doneBytes, reader.sizeBytes);
      }
      return bytes;
    });
  }

  /** Return the content of a record, wherever it lives: the bytes of its blob, or its inline JSON; none: empty. */
  async getContentAsBuffer(
    record: BlobName,
    options: { includeArchived?: boolean } & CallOptions = {},
  ): Promise<Buffer> {
    const request = { ...records.blobName(record), includeArchived: options.includeArchived };
    try {
      const { content } = await this.call(memory.getContent, request, options);
      return Buffer.from(content.buffer, content.byteOffset, content.byteLength);
    } catch (error) {
      if (!(error instanceof AnswerTooLarge)) throw error;
      return this.getBlobAsBuffer(record, options); // over 3 MiB: only a blob is
    }
  }

  /**
   * Return a URL that gives the blob to whoever has it, straight from the provider, until it expires.
   *
   * @throws NoDownloadUrl The provider, or its credentials, can sign none; use `getBlob`.
   */
  async createDownloadUrl(
    blob: BlobName,
    options: { lifetimeS?: number; includeArchived?: boolean } & CallOptions = {},
  ): Promise<{ url: string; expiresAt: string; record: WMRecord }> {
    const { lifetimeS, includeArchived } = options;
    const request = { ...records.blobName(blob), lifetimeS, includeArchived };
    const { url, expiresAt, record } = await this.call(memory.createDownloadUrl, request, options);
    return { url, expiresAt: timeText(expiresAt), record: records.recordOf(record!) };
  }

  /** Archive the record that a blob belongs to, and return its id. */
  async deleteBlob(blob: BlobName, options: CallOptions = {}): Promise<string> {
    return (await this.call(memory.deleteBlob, records.blobName(blob), options)).workingMemoryId;
  }

  /** The blobs of an entity, newest first. */
  listBlobs(
    entityNodeId: string,
    options: { includeArchived?: boolean; pageSize?: number } & CallOptions = {},
  ): Rows<BlobEntry> {
    const { includeArchived, pageSize } = options;
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(memory.listBlobs, { entityNodeId, includeArchived, pageSize, pageToken }, options);
        return [page.blobs.map(records.blobEntryOf), page.nextPageToken];
      }),
    );
  }

  // --- Chat history

  /**
   * Return the messages of a conversation, oldest first, however many they are.
   *
   * @param nodeId The conversation's node.
   * @param options `strict` fails on the first node on which a rule fails, instead of counting it.
   * @throws MappingNotFound Nobody has registered the mapping: `apps` in the metadata names where it is.
   */
  async getChatHistory(
    nodeId: string,
    options: HistoryOptions & { strict?: boolean } = {},
  ): Promise<history.ChatHistory> {
    const request = { ...this.historyOf(nodeId, options), strict: options.strict };
    const message = create(history_pb.StreamChatHistoryRequestSchema, request);
    const attempts = this.attempts(options, options.timeoutMs);
    return attempts.run(async () => {
      const found: history.ChatHistory = { messages: [], nodesFailed: 0, rolesUnknown: 0 };
      const settings = this.settings(options, attempts);
      for await (const answer of this.connection.stream(chat.streamChatHistory, message, settings)) {
        for (const turn of answer.messages) found.messages.push(history.chatMessageOf(turn));
        found.nodesFailed = answer.nodesFailed;
        found.rolesUnknown = answer.rolesUnknown;
      }
      return found;
    });
  }

  /**
   * Return the messages of a conversation as a model vendor's API takes them, tool calls beside their results.
   *
   * @param format Whose: OpenAI's Chat Completions or Anthropic's Messages.
   * @throws AnswerTooLarge It is over 4 MiB; see `maxMessages`.
   */
  async getFormattedChatHistory(
    nodeId: string,
    format: keyof typeof FORMATS,
    options: HistoryOptions & { strict?: boolean } = {},
  ): Promise<history.FormattedHistory> {
    const asked = { ...this.historyOf(nodeId, options), strict: options.strict, format: choice("format", format, FORMATS) };
    return history.formattedHistoryOf(await this.call(chat.getChatHistory, asked, options));
  }

  /**
   * All that happened to an entity, by time: its node, its timeline, its edges, and the logs of its records, purged ones too.
   *
   * @throws NodeNotFound There is no such node, and never was a record of it.
   */
  fetchEntityHistory(
    nodeId: string,
    options: { descending?: boolean; pageSize?: number } & CallOptions = {},
  ): Rows<history.HistoryEvent> {
    const { descending, pageSize } = options;
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(chat.fetchEntityHistory, { nodeId, descending, pageSize, pageToken }, options);
        return [page.events.map(history.historyEventOf), page.nextPageToken];
      }),
    );
  }

  /**
   * The nodes that a mapping reads, in its order, each with the messages that it gives and, for each of the other rules, why it
   * gives none.
   *
   * @param options `dataPaths` names up to 32 paths such as "turn.index", whose values come along.
   */
  assembleContext(
    nodeId: string,
    options: HistoryOptions & { dataPaths?: string[]; pageSize?: number } = {},
  ): Rows<history.AssembledNode> {
    const { dataPaths, pageSize } = options;
    const asked = this.historyOf(nodeId, options);
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(chat.assembleContext, { ...asked, dataPaths, pageSize, pageToken }, options);
        return [page.nodes.map(history.assembledNodeOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Register rules under a name and return the mapping that the name has now. The same rules again are free.
   *
   * @throws InvalidArgument A rule does not compile: `rule`, `line` and `column` in the metadata.
   * @throws MappingExists Other rules have the name, or it is built in.
   */
  async registerMapping(mapping: history.MappingInput & CallOptions): Promise<history.Mapping> {
    const request = {
      appId: mapping.appId ?? this.appId,
      mappingName: mapping.mappingName,
      rules: history.mappingRules(mapping.rules),
      rulesVersion: whole("rules_version", mapping.rulesVersion),
      replace: mapping.replace,
    };
    return history.mappingOf((await this.call(chat.registerMapping, request, mapping)).mapping!);
  }

  /** Return the mapping that `getChatHistory` would use. */
  async getMapping(mappingName: string, options: { appId?: string } & CallOptions = {}): Promise<history.Mapping> {
    const request = { mappingName, appId: options.appId ?? this.appId };
    return history.mappingOf((await this.call(chat.getMapping, request, options)).mapping!);
  }

  /** The mappings that the caller sees, by app and name, then the built-in ones; of one app, if `appId` names it. */
  listMappings(options: { appId?: string; pageSize?: number } & CallOptions = {}): Rows<history.Mapping> {
    const { appId, pageSize } = options;
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(chat.listMappings, { appId, pageSize, pageToken }, options);
        return [page.mappings.map(history.mappingOf), page.nextPageToken];
      }),
    );
  }

  /** Remove a mapping from the app that it was registered in, and return it as it was. */
  async deleteMapping(mappingName: string, options: { appId?: string } & CallOptions = {}): Promise<history.Mapping> {
    const request = { mappingName, appId: options.appId ?? this.appId };
    return history.mappingOf((await this.call(chat.deleteMapping, request, options)).mapping!);
  }

  /** Try rules out that are not registered: on what they reach from a node, or on nodes that need not exist. */
  testMapping(
    rules: history.MappingRules,
    options: {
      nodeId?: string;
      nodes?: history.SampleNode[];
      root?: history.SampleNode;
      pageSize?: number;
    } & CallOptions,
  ): Rows<history.NodeTrial> {
    const { nodeId, pageSize } = options;
    const asked = {
      rules: history.mappingRules(rules),
      nodeId,
      nodes: options.nodes?.map((node, index) => history.sampleNode(node, `nodes[${index}]`)),
      root: options.root && history.sampleNode(options.root, "root"),
      pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(chat.testMapping, { ...asked, pageToken }, options);
        return [page.nodes.map(history.nodeTrialOf), page.nextPageToken];
      }),
    );
  }

  // --- Tools

  /** The tools that the caller's key may call: what a model can be offered. With `readOnly` without those that write. */
  async listTools(options: { readOnly?: boolean } & CallOptions = {}): Promise<Tool[]> {
    return (await this.call(tools.listTools, { readOnly: options.readOnly }, options)).tools.map(toolOf);
  }

  /** The records of an entity as resources, newest first. Their text is read by the tool `wm_read`. */
  listResources(entityNodeId: string, options: { pageSize?: number } & CallOptions = {}): Rows<Resource> {
    const { pageSize } = options;
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(tools.listResources, { entityNodeId, pageSize, pageToken }, options);
        return [page.resources.map(resourceOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Call a tool and return its result. Only a call with `readOnly` is tried again when the service does not answer.
   *
   * @param toolArguments What the tool's schema says.
   * @param options `entityNodeId` is what it works on if the arguments name no entity; `readOnly` refuses a tool that writes.
   * @throws ToolNotFound There is none of this name.
   * @throws PermissionDenied The key may not call it, or it writes and may not.
   */
  async executeTool(
    toolName: string,
    toolArguments: object = {},
    options: { entityNodeId?: string; readOnly?: boolean } & CallOptions = {},
  ): Promise<JsonObject> {
    const { entityNodeId, readOnly = false } = options;
    const request = { toolName, argumentsJson: toObject(toolArguments, "arguments_json"), entityNodeId, readOnly };
    return parseObject((await this.call(tools.executeTool, request, options, readOnly)).resultJson);
  }

  private async opened(blob: BlobName, options: ReadOptions, mayRepeat: boolean): Promise<BlobReader> {
    const { offsetBytes = 0, lengthBytes = 0, includeArchived } = options;
    const request = {
      ...records.blobName(blob),
      offsetBytes: whole("offset_bytes", offsetBytes),
      lengthBytes: whole("length_bytes", lengthBytes),
      includeArchived,
    };
    const answers = this.stream(memory.getBlob, request, options, mayRepeat);
    const first = await answers.next();
    if (first.done || first.value.part.case !== "record") {
      await answers.return(undefined);
      throw new Internal("the service sent no record before the bytes of a blob");
    }
    return new BlobReader(records.recordOf(first.value.part.value), { offsetBytes, lengthBytes }, answers);
  }

  private recordInput(record: RecordFields & InlineContent & { workingMemoryId?: string }): memory_pb.WMRecordInput {
    return records.recordInput({ ...record, appId: record.appId ?? this.appId });
  }

  private uploadHeader(upload: NewUpload, sizeBytes: number | undefined): memory_pb.UploadHeader {
    if (!upload.name) throw new InvalidArgument("an upload needs a name", { field: "header.record.name" });
    return create(memory_pb.UploadHeaderSchema, {
      record: this.recordInput({
        ...upload,
        memoryType: upload.memoryType ?? records.MemoryType.FILE,
        content: undefined, // it is in the chunks, whatever else the caller's object holds
        contentJson: undefined,
      } as RecordFields),
      sizeBytes: whole("header.size_bytes", sizeBytes),
      sha256: upload.sha256,
      requestId: upload.requestId ?? randomUUID(),
    });
  }

  private async upload(
    header: memory_pb.UploadHeader,
    source: ByteStream,
    options: UploadOptions,
    settings: ReturnType<Client["settings"]>,
  ): Promise<WMRecord> {
    const tally = new Tally();
    const totalBytes = header.sizeBytes === undefined ? undefined : Number(header.sizeBytes);
    const messages = uploadMessages(header, source, tally, (doneBytes) => options.onProgress?.(doneBytes, totalBytes));
    try {
      const answer = await this.connection.upload(memory.uploadBlob, messages, settings);
      for await (const _ of messages); // a repeated request is answered before it is read; its bytes must be the same
      const record = records.recordOf(answer.record!);
      checkUpload(record, tally);
      return record;
    } finally {
      await messages.return(undefined);
    }
  }

  private historyOf(nodeId: string, options: HistoryOptions) {
    const { mappingName, maxMessages } = options;
    return { nodeId, mappingName, maxMessages, appId: options.appId ?? this.appId };
  }
}

function recordFilter(options: RecordFilter) {
  return {
    memoryTypes: options.memoryTypes,
    subtypes: options.subtypes,
    semanticPurposes: options.semanticPurposes,
    names: options.names,
    namePrefix: options.namePrefix,
    tags: options.tags,
    metadataContainsJson: toObject(options.metadataContains, "metadata_contains_json"),
    includeArchived: options.includeArchived,
  };
}

/** Yield the messages of one part. */
async function* partMessages(
  header: { uploadId: string; offsetBytes: bigint | undefined },
  part: Uint8Array[],
): AsyncGenerator<memory_pb.AppendUploadRequest> {
  yield create(memory_pb.AppendUploadRequestSchema, { part: { case: "header", value: header } });
  for await (const chunk of cut(part)) {
    yield create(memory_pb.AppendUploadRequestSchema, { part: { case: "chunk", value: chunk } });
  }
}

/** Yield the messages of an upload; progress is told when a chunk was taken. */
async function* uploadMessages(
  header: memory_pb.UploadHeader,
  source: ByteStream,
  tally: Tally,
  report: (doneBytes: number) => void,
): AsyncGenerator<memory_pb.UploadBlobRequest> {
  yield create(memory_pb.UploadBlobRequestSchema, { part: { case: "header", value: header } });
  for await (const chunk of cut(source)) {
    tally.add(chunk);
    yield create(memory_pb.UploadBlobRequestSchema, { part: { case: "chunk", value: chunk } });
    report(tally.sizeBytes);
  }
}
