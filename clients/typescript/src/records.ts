/** Working memory records: what callers see and say of them. */

import { create } from "@bufbuild/protobuf";

import * as pb from "./gen/contextkeep/context/v1/working_memory_pb.js";
import { InvalidArgument } from "./gen/errors.js";
import { parseJson, toJson, toObject } from "./json.js";
import { toTimestamp } from "./times.js";

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

/** The fields of a record besides its content. */
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

/** Names a blob: a record's id, a blob key, or anything that has one of them, such as a record. */
export type BlobName = string | { workingMemoryId: string } | { blobKey: string };

/** A record to write, with inline content or none. */
export interface NewRecord extends RecordFields, InlineContent {
  /** A UUID; else the server makes one. */
  workingMemoryId?: string;
  name: string;
  memoryType: string;
}

/** Return the message of the fields of a record; a new one without an app is in `appId`. */
export function recordInput(
  record: RecordFields & InlineContent & { workingMemoryId?: string },
  path: string,
  appId?: string,
): pb.WMRecordInput {
  const { content, contentJson, contentText } = record;
  if (content !== undefined && contentJson) {
    throw new InvalidArgument("give content or contentJson, not both", { field: `${path}.content_json` });
  }
  if (contentText && (content !== undefined || contentJson)) {
    throw new InvalidArgument("give contentText or JSON, not both", { field: `${path}.content_text` });
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
    metadataJson: toObject(record.metadata, `${path}.metadata_json`),
    contentJson: content === undefined ? contentJson : toJson(content, `${path}.content_json`),
    contentText,
    tags: record.tags,
    graphName: record.graphName,
    agentBundleId: record.agentBundleId,
    appId: record.appId ?? appId,
    expiresAt: toTimestamp(record.expiresAt, `${path}.expires_at`),
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

/** The update mask of the given fields: undefined fields stay, empty values empty a field. */
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
    throw new InvalidArgument("give a working memory id or a blob key", { field: "working_memory_id" });
  }
  return UUID.test(blob) ? { workingMemoryId: blob } : { blobKey: blob };
}

/** Return the inline content of a record; undefined: it has none. */
export function contentOf({ contentJson, contentText }: pb.WMRecord): unknown {
  return contentJson ? parseJson(contentJson) : contentText || undefined;
}
