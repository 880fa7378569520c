/** Working memory records: what callers see and say of them. */

import { create } from "@bufbuild/protobuf";

import * as pb from "./gen/contextkeep/context/v1/working_memory_pb.js";
import { InvalidArgument } from "./gen/errors.js";
import { type Imported, importedField } from "./imported.js";
import { type JsonObject, parseJson, parseObject, toJson, toObject } from "./json.js";
import { enumText, fieldsOf } from "./messages.js";
import { timeText, toTimestamp } from "./times.js";

/** Memory types that have a meaning; any other text is allowed. */
export const MemoryType = {
  FILE: "file",
  JSON: "data/json",
  PNG: "image/png",
  JPEG: "image/jpeg",
  TYPESCRIPT: "code/typescript",
  JAVASCRIPT: "code/javascript",
  PYTHON: "code/python",
  MARKDOWN: "text/markdown",
} as const;

/** One item of working memory: metadata, and inline JSON or a blob as its content. */
export interface WMRecord {
  workingMemoryId: string;
  entityNodeId: string;
  memoryType: string;
  subtype: string;
  semanticPurpose: string;
  name: string;
  description: string;
  reasoning: string;
  contentType: string;
  metadata: JsonObject;
  /** Inline content: JSON parsed, text as it is; undefined: there is none, or a list left it out. */
  content: unknown;
  /** Inline JSON as text, byte for byte as it was given. */
  contentJson: string;
  /** Inline text. */
  contentText: string;
  /** "postgres" for inline content, else where the blob lives; empty without content. */
  provider: string;
  blobKey: string;
  sizeBytes: number;
  /** Of the content, in hexadecimal. */
  sha256: string;
  status: string;
  tags: string[];
  graphName: string;
  agentBundleId: string;
  appId: string;
  contextId: string;
  createdBy: string;
  ownerUserId: string;
  agentId: string;
  /** Empty: never. */
  expiresAt: string;
  createdAt: string;
  updatedAt: string;
  /** Counts the changes, from 1. */
  version: number;
  /** "none", "pending", "indexed" or "failed": where its text is on its way to an embedding. */
  indexState: string;
  /** What went wrong last, of a record that is pending or failed. */
  indexError: string;
  /** How far the text of its file is, if that is a PDF, an Office file or HTML: a search finds it. */
  textState: string;
  /** Why there is none, or none yet. */
  textError: string;
  /** Unset: no import wrote it. */
  imported?: Imported;
}

/** What may be said of a record beside its content. */
export interface RecordFields {
  /** The node that it belongs to, which need not exist yet. */
  entityNodeId?: string;
  /** A `MemoryType`, or your own text. */
  memoryType?: string;
  subtype?: string;
  semanticPurpose?: string;
  name?: string;
  description?: string;
  reasoning?: string;
  /** Else guessed from the name. */
  contentType?: string;
  /** Up to 64 KiB of JSON. */
  metadata?: object;
  tags?: string[];
  /** Else "default". */
  graphName?: string;
  agentBundleId?: string;
  /** Else the client's. */
  appId?: string;
  expiresAt?: Date | string;
  /** 1,536 values, made by the caller from the record's text. */
  embedding?: number[];
  embeddingModel?: string;
}

/** Inline content, one of these: any JSON up to 1 MiB, as a value or as text that is kept byte for byte, or plain text. */
export interface InlineContent {
  content?: unknown;
  contentJson?: string;
  contentText?: string;
}

/** One blob of an entity. */
export interface BlobEntry {
  blobKey: string;
  workingMemoryId: string;
  name: string;
  memoryType: string;
  contentType: string;
  sizeBytes: number;
  sha256: string;
  createdAt: string;
}

/** Names a blob: a record's id, a blob key, or anything that has one of them, such as a record. */
export type BlobName = string | { workingMemoryId: string } | { blobKey: string };

/** The records of an entity that have one memory type. */
export interface ManifestGroup {
  memoryType: string;
  /** Of all of them. */
  recordCount: number;
  sizeBytes: number;
  /** The newest, newest first, without their content. */
  records: WMRecord[];
}

/** An entity that has records, and where it hangs below the root of a manifest. */
export interface ManifestEntity {
  entityNodeId: string;
  name: string;
  specificTypeName: string;
  parentNodeId: string;
  edgeType: string;
  /** 0: the root. */
  depth: number;
  /** Node ids from the root to this one. */
  path: string[];
  groups: ManifestGroup[];
}

/** One entry of a record's log. */
export interface RecordAction {
  /** "created", "updated", "archived", "restored", "moved" or "purged". */
  kind: string;
  createdAt: string;
  /** Whom the key of the call stood for; "sweeper": the service itself, when a retention ended. */
  principal: string;
  requestId: string;
  details: JsonObject;
}

/** A record that was found, and why. */
export interface SearchHit {
  record: WMRecord;
  /** What the hits are ordered by. */
  score: number;
  /** Its place among what was found by text, from 1, and its rank there; 0: not found by it. */
  textPlace: number;
  textScore: number;
  /** Its place by vector, from 1, and the cosine. */
  vectorPlace: number;
  similarity: number;
  /** Its place by vector comes from the operator's index, which may have missed nearer ones. */
  approximate: boolean;
}

/** How far a resumable upload is. */
export interface Upload {
  uploadId: string;
  /** Bytes that are durable; the next part begins here. */
  offsetBytes: number;
  /** Of the whole, where it was declared. */
  sizeBytes: number | undefined;
  /** It is given up then, unless a part comes. */
  expiresAt: string;
  /** The size of a part. */
  partBytesMax: number;
  /** Once it is finished. */
  record: WMRecord | undefined;
}

export function recordInput(record: RecordFields & InlineContent & { workingMemoryId?: string }): pb.WMRecordInput {
  const { content, contentJson, contentText } = record;
  if (content !== undefined && contentJson) {
    throw new InvalidArgument("give content or contentJson, not both", { field: "record.content_json" });
  }
  if (contentText && (content !== undefined || contentJson)) {
    throw new InvalidArgument("give contentText or JSON, not both", { field: "record.content_text" });
  }
  return create(pb.WMRecordInputSchema, {
    workingMemoryId: record.workingMemoryId,
    entityNodeId: record.entityNodeId,
    memoryType: record.memoryType,
    subtype: record.subtype,
    semanticPurpose: record.semanticPurpose,
    name: record.name,
    description: record.description,
    reasoning: record.reasoning,
    contentType: record.contentType,
    metadataJson: toObject(record.metadata, "record.metadata_json"),
    contentJson: content === undefined ? contentJson : toJson(content, "record.content_json"),
    contentText,
    tags: record.tags,
    graphName: record.graphName,
    agentBundleId: record.agentBundleId,
    appId: record.appId,
    expiresAt: toTimestamp(record.expiresAt, "record.expires_at"),
    embedding: record.embedding && { values: record.embedding, model: record.embeddingModel },
  });
}

const MASK_PATHS: Readonly<Record<keyof (RecordFields & InlineContent), string>> = {
  entityNodeId: "entity_node_id",
  memoryType: "memory_type",
  subtype: "subtype",
  semanticPurpose: "semantic_purpose",
  name: "name",
  description: "description",
  reasoning: "reasoning",
  contentType: "content_type",
  metadata: "metadata_json",
  content: "content_json",
  contentJson: "content_json",
  contentText: "content_text",
  tags: "tags",
  graphName: "graph_name",
  agentBundleId: "agent_bundle_id",
  appId: "app_id",
  expiresAt: "expires_at",
  embedding: "embedding",
  embeddingModel: "embedding",
};

/** The update mask of the fields that are given: what is undefined stays, what is empty is emptied. */
export function recordMask(changes: RecordFields & InlineContent): string[] {
  const given = Object.entries(MASK_PATHS).filter(([name]) => changes[name as keyof typeof MASK_PATHS] !== undefined);
  return [...new Set(given.map(([, path]) => path))];
}

const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;

/** The fields of a request that name a blob: one of them. Keys are never UUIDs, so a text says itself what it is. */
export function blobName(blob: BlobName): { workingMemoryId?: string; blobKey?: string } {
  if (typeof blob !== "string") {
    if ("workingMemoryId" in blob && blob.workingMemoryId) return { workingMemoryId: blob.workingMemoryId };
    return blobName("blobKey" in blob ? blob.blobKey : "");
  }
  if (!blob) {
    throw new InvalidArgument("neither a working memory id nor a blob key is given", { field: "working_memory_id" });
  }
  return UUID.test(blob) ? { workingMemoryId: blob } : { blobKey: blob };
}

export function recordOf(message: pb.WMRecord): WMRecord {
  const { metadataJson, sizeBytes, version, status, indexState, textState, expiresAt, createdAt, updatedAt, imported, ...fields } =
    fieldsOf(message);
  return {
    ...fields,
    metadata: parseObject(metadataJson),
    content: fields.contentJson ? parseJson(fields.contentJson) : fields.contentText || undefined,
    sizeBytes: Number(sizeBytes),
    version: Number(version),
    status: enumText(pb.RecordStatus, status),
    indexState: enumText(pb.IndexState, indexState),
    textState: enumText(pb.IndexState, textState),
    expiresAt: timeText(expiresAt),
    createdAt: timeText(createdAt),
    updatedAt: timeText(updatedAt),
    ...importedField(imported),
  };
}

export function blobEntryOf(message: pb.BlobEntry): BlobEntry {
  const { sizeBytes, createdAt, ...fields } = fieldsOf(message);
  return { ...fields, sizeBytes: Number(sizeBytes), createdAt: timeText(createdAt) };
}

export function uploadOf(message: pb.Upload): Upload {
  return {
    uploadId: message.uploadId,
    offsetBytes: Number(message.offsetBytes),
    sizeBytes: message.sizeBytes === undefined ? undefined : Number(message.sizeBytes),
    expiresAt: timeText(message.expiresAt),
    partBytesMax: Number(message.partBytesMax),
    record: message.record && recordOf(message.record),
  };
}

export function searchHitOf(message: pb.SearchHit): SearchHit {
  const { record, ...fields } = fieldsOf(message);
  return { ...fields, record: recordOf(record!) };
}

export function manifestEntityOf(message: pb.ManifestEntity): ManifestEntity {
  const { groups, ...fields } = fieldsOf(message);
  return {
    ...fields,
    groups: groups.map(({ memoryType, recordCount, sizeBytes, records }) => ({
      memoryType,
      recordCount: Number(recordCount),
      sizeBytes: Number(sizeBytes),
      records: records.map(recordOf),
    })),
  };
}

export function recordActionOf(message: pb.WMRecordAction): RecordAction {
  const { kind, createdAt, detailsJson, ...fields } = fieldsOf(message);
  return {
    ...fields,
    kind: enumText(pb.RecordActionKind, kind),
    createdAt: timeText(createdAt),
    details: parseObject(detailsJson),
  };
}
