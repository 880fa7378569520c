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
  /** "file", "data/json", "image/png", "code/python", ...: any text up to 100 characters. */
  memoryType: string;
  subtype: string;
  semanticPurpose: string;
  name: string;
  description: string;
  reasoning: string;
  contentType: string;
  metadata: JsonObject;
  /** Inline JSON, byte for byte as it was given. Lists leave it out unless `withContent`. */
  contentJson: string;
  /** "postgres" for inline content, else the blob's provider: "azure", "gcs", "s3" or "local"; empty without content. */
  provider: string;
  /** Names the record's blob; unique to this record, also where records share their bytes. Empty without a blob. */
  blobKey: string;
  sizeBytes: number;
  /** Of the content, in hexadecimal; empty without content. */
  sha256: string;
  status: "active" | "archived" | "unknown";
  tags: string[];
  graphName: string;
  agentBundleId: string;
  appId: string;
  /** The isolated context that the record belongs to; set by later capabilities. */
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
  indexState: "none" | "pending" | "indexed" | "failed" | "unknown";
  /** What went wrong last, of a record that is PENDING or FAILED. */
  indexError: string;
  /** Inline text, as it was given; a record has this, `contentJson`, a blob, or none of them. Lists leave it out unless `withContent`. */
  contentText: string;
  /**
   * How far that is which SearchWMRecords finds behind the write: the text of PDF, Office files and HTML; and all of what is longer than
   * 50,000 characters. NONE of others: a text is found at once, a picture has none.
   */
  textState: "none" | "pending" | "indexed" | "failed" | "unknown";
  /** Why there is no text, of a record whose `textState` is FAILED; what went wrong last, while it is PENDING. */
  textError: string;
  /** Unset: no import wrote it. */
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
  /** Of the node; empty, as its type, if the root is no node. */
  name: string;
  specificTypeName: string;
  /** The node that it hangs below, and the edge by which; empty for the root. */
  parentNodeId: string;
  edgeType: string;
  /** 0: the root. */
  depth: number;
  /** Node ids from the root to this one, both included. */
  path: string[];
  /** By memory type. */
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
  /** Of all of them. */
  recordCount: number;
  sizeBytes: number;
  /** Newest first, without their content; see `recordsMax`. */
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

/** A record that was found, and why. */
export interface SearchHit {
  record: WMRecord;
  /** What the hits are ordered by; see SearchWMRecords. */
  score: number;
  /** Its place among what was found by text, from 1, and its rank there; 0: not found by it. */
  textPlace: number;
  textScore: number;
  /** Its place by vector, from 1, and the cosine. */
  vectorPlace: number;
  /** Cosine, -1 to 1. */
  similarity: number;
  /** Its place by vector comes from the operator's index, which may have missed nearer ones. */
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
  /** A JSON object each: the columns under the names that they have in `select`, in that order; null where nothing is. */
  rows: JsonObject[];
  /** There are rows behind the limit. */
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
  /** Whom the key of the call stood for; "sweeper" for what the service did when a retention ended. */
  principal: string;
  /** Of the call, where it had one. */
  requestId: string;
  /**
   * A JSON object. Of an entry that an import wrote, `imported`: `importId`, `importedBy`, `importedAt`, and the `principal` that
   * the archive claims; `principal` above is whoever imported it. UPDATED: `fields` and the new `version`. PURGED: `why` ("deleted", "retention" or "context deleted"), `memoryType`, `sizeBytes`.
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

/** How far a resumable upload is. */
export interface Upload {
  uploadId: string;
  /** Bytes that are durable; the next part begins here. */
  offsetBytes: number;
  /** As uploads.start declared it. */
  sizeBytes?: number;
  /** It is given up then, unless a part comes. */
  expiresAt: string;
  /** The size of a part. */
  partBytesMax: number;
  /** Once it is finished: the record as uploads.finish answered it. */
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

/** A URL of a blob. It needs no key. */
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
