// Made from contextkeep/context/v1/working_memory.proto by `make proto`.

import * as pb from "../gen/contextkeep/context/v1/working_memory_pb.js";
import { type JsonObject, parseObject } from "../json.js";
import { enumText } from "../messages.js";
import { contentOf } from "../records.js";
import { timeText } from "../times.js";
import { type Imported, importedOf } from "./message.js";
import { create } from "@bufbuild/protobuf";

/** One item of working memory. */
export interface WMRecord {
  workingMemoryId: string;
  entityNodeId: string;
  /** "file", "data/json", "image/png", "code/python", or any other text of up to 100 characters. */
  memoryType: string;
  subtype: string;
  semanticPurpose: string;
  name: string;
  description: string;
  reasoning: string;
  contentType: string;
  metadata: JsonObject;
  /** Inline JSON, byte for byte as it was written. Lists leave it out unless `withContent`. */
  contentJson: string;
  /**
   * "postgres" for inline content, else the provider of the blob: "azure", "gcs", "s3" or "local". Empty without
   * content.
   */
  provider: string;
  /** Key of the record's blob, unique to this record even if records share their bytes. Empty without a blob. */
  blobKey: string;
  sizeBytes: number;
  /** SHA-256 of the content, in hexadecimal. Empty without content. */
  sha256: string;
  status: "active" | "archived" | "unknown";
  tags: string[];
  graphName: string;
  agentBundleId: string;
  appId: string;
  /** The isolated context that the record belongs to. Empty: none. */
  contextId: string;
  createdBy: string;
  ownerUserId: string;
  agentId: string;
  /** When the record expires. Empty: never. */
  expiresAt: string;
  createdAt: string;
  updatedAt: string;
  /** Counts the changes, from 1. */
  version: number;
  indexState: "none" | "pending" | "indexed" | "failed" | "unknown";
  /** The last error, for a record that is PENDING or FAILED. */
  indexError: string;
  /**
   * Inline text, as it was written. A record has at most one of this, `contentJson` and a blob. Lists leave it out
   * unless `withContent`.
   */
  contentText: string;
  /**
   * The progress of the text that the service extracts in the background for SearchWMRecords: the text of PDF, Office
   * and HTML files, and any text longer than 50,000 characters. NONE for other records: a shorter text is found at
   * once, and a picture has no text.
   */
  textState: "none" | "pending" | "indexed" | "failed" | "unknown";
  /** Why there is no text, if `textState` is FAILED; the last error, while it is PENDING. */
  textError: string;
  /** Where an import took it from. Unset: no import wrote it. */
  imported?: Imported;
  /** Inline content: JSON parsed, text as it is; undefined: there is none, or a list left it out. */
  content: unknown;
}

export function wmRecordOf(message: pb.WMRecord): WMRecord {
  const value: WMRecord = {
    workingMemoryId: message.workingMemoryId,
    entityNodeId: message.entityNodeId,
    memoryType: message.memoryType,
    subtype: message.subtype,
    semanticPurpose: message.semanticPurpose,
    name: message.name,
    description: message.description,
    reasoning: message.reasoning,
    contentType: message.contentType,
    metadata: parseObject(message.metadataJson),
    contentJson: message.contentJson,
    provider: message.provider,
    blobKey: message.blobKey,
    sizeBytes: Number(message.sizeBytes),
    sha256: message.sha256,
    status: enumText(pb.RecordStatus, message.status),
    tags: message.tags,
    graphName: message.graphName,
    agentBundleId: message.agentBundleId,
    appId: message.appId,
    contextId: message.contextId,
    createdBy: message.createdBy,
    ownerUserId: message.ownerUserId,
    agentId: message.agentId,
    expiresAt: timeText(message.expiresAt),
    createdAt: timeText(message.createdAt),
    updatedAt: timeText(message.updatedAt),
    version: Number(message.version),
    indexState: enumText(pb.IndexState, message.indexState),
    indexError: message.indexError,
    contentText: message.contentText,
    textState: enumText(pb.IndexState, message.textState),
    textError: message.textError,
    content: contentOf(message),
  };
  if (message.imported !== undefined) value.imported = importedOf(message.imported);
  return value;
}

/** An entity that has records. */
export interface ManifestEntity {
  entityNodeId: string;
  /** Name of the node. Empty, like its type, if the root is not a node that the caller sees. */
  name: string;
  specificTypeName: string;
  /** The node above it on the path. Empty for the root. */
  parentNodeId: string;
  /** Type of the edge from the node above. Empty for the root. */
  edgeType: string;
  /** 0: the root. */
  depth: number;
  /** Node ids from the root to this one, both included. */
  path: string[];
  /** The records, by memory type. */
  groups: ManifestGroup[];
}

export function manifestEntityOf(message: pb.ManifestEntity): ManifestEntity {
  return {
    entityNodeId: message.entityNodeId,
    name: message.name,
    specificTypeName: message.specificTypeName,
    parentNodeId: message.parentNodeId,
    edgeType: message.edgeType,
    depth: message.depth,
    path: message.path,
    groups: message.groups.map(manifestGroupOf),
  };
}

/** The records of an entity that have one memory type. */
export interface ManifestGroup {
  memoryType: string;
  /** Number of all records of the group. */
  recordCount: number;
  /** Total size of their contents. */
  sizeBytes: number;
  /** Newest first, without content; at most `recordsMax`. */
  records: WMRecord[];
}

export function manifestGroupOf(message: pb.ManifestGroup): ManifestGroup {
  return {
    memoryType: message.memoryType,
    recordCount: Number(message.recordCount),
    sizeBytes: Number(message.sizeBytes),
    records: message.records.map(wmRecordOf),
  };
}

/** A record that a search found, and why. */
export interface SearchHit {
  record: WMRecord;
  /** The hits are sorted by it; see SearchWMRecords. */
  score: number;
  /** Its rank in the search by text, from 1. 0: that search did not find it. */
  textPlace: number;
  /** Its score in the search by text. */
  textScore: number;
  /** Its rank in the search by vector, from 1. 0: that search did not find it. */
  vectorPlace: number;
  /** The cosine, -1 to 1. */
  similarity: number;
  /** The search by vector used the operator's index, which may have missed nearer records. */
  approximate: boolean;
}

export function searchHitOf(message: pb.SearchHit): SearchHit {
  return {
    record: wmRecordOf(message.record ?? create(pb.WMRecordSchema)),
    score: message.score,
    textPlace: message.textPlace,
    textScore: message.textScore,
    vectorPlace: message.vectorPlace,
    similarity: message.similarity,
    approximate: message.approximate,
  };
}

export interface QueriedRows {
  /** One JSON object per row: the columns under their names and in their order in `select`; null for a missing value. */
  rows: JsonObject[];
  /** There are more rows than the limit. */
  hasMore: boolean;
}

export function queriedRowsOf(message: pb.QueryWMRecordsResponse): QueriedRows {
  return {
    rows: message.rowsJson.map(parseObject),
    hasMore: message.hasMore,
  };
}

/** One entry of a record's log. */
export interface RecordAction {
  kind: "created" | "updated" | "archived" | "restored" | "moved" | "purged" | "unknown";
  createdAt: string;
  /** The subject of the caller's key; "sweeper" for actions of the service itself at the end of a retention. */
  principal: string;
  /** The request id of the call, if it had one. */
  requestId: string;
  /**
   * A JSON object. An entry that an import wrote has `imported`: `importId`, `importedBy`, `importedAt`, and the
   * `principal` that the archive claims; `principal` above is the importer. UPDATED has `fields` and the new `version`.
   * PURGED has `why` ("deleted", "retention" or "context deleted"), `memoryType` and `sizeBytes`.
   */
  details: JsonObject;
}

export function recordActionOf(message: pb.WMRecordAction): RecordAction {
  return {
    kind: enumText(pb.RecordActionKind, message.kind),
    createdAt: timeText(message.createdAt),
    principal: message.principal,
    requestId: message.requestId,
    details: parseObject(message.detailsJson),
  };
}

/** The progress of a resumable upload. */
export interface Upload {
  uploadId: string;
  /** Number of durable bytes; the next part begins here. */
  offsetBytes: number;
  /** The size that uploads.start declared. */
  sizeBytes?: number;
  /** When it expires, unless a part arrives before. */
  expiresAt: string;
  /** Maximum size of a part. */
  partBytesMax: number;
  /** After uploads.finish: the record as that call answered it. */
  record?: WMRecord;
}

export function uploadOf(message: pb.Upload): Upload {
  const value: Upload = {
    uploadId: message.uploadId,
    offsetBytes: Number(message.offsetBytes),
    expiresAt: timeText(message.expiresAt),
    partBytesMax: Number(message.partBytesMax),
  };
  if (message.sizeBytes !== undefined) value.sizeBytes = Number(message.sizeBytes);
  if (message.record !== undefined) value.record = wmRecordOf(message.record);
  return value;
}

/** A URL of a blob. It works without a key. */
export interface DownloadUrl {
  /** The record, with the sha256 that the bytes must have. */
  record: WMRecord;
  url: string;
  expiresAt: string;
}

export function downloadUrlOf(message: pb.CreateDownloadUrlResponse): DownloadUrl {
  return {
    record: wmRecordOf(message.record ?? create(pb.WMRecordSchema)),
    url: message.url,
    expiresAt: timeText(message.expiresAt),
  };
}

/** A blob of an entity. */
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

export function blobEntryOf(message: pb.BlobEntry): BlobEntry {
  return {
    blobKey: message.blobKey,
    workingMemoryId: message.workingMemoryId,
    name: message.name,
    memoryType: message.memoryType,
    contentType: message.contentType,
    sizeBytes: Number(message.sizeBytes),
    sha256: message.sha256,
    createdAt: timeText(message.createdAt),
  };
}
