// Made from contextkeep/context/v1/knowledge_bases.proto by `make proto`.

import * as pb from "../gen/contextkeep/context/v1/knowledge_bases_pb.js";
import { enumText } from "../messages.js";
import { timeText } from "../times.js";
import { type Imported, importedOf } from "./message.js";

/** A knowledge base of Amazon Bedrock. */
export interface BedrockBase {
  /** Bedrock's own id of it: 10 letters and digits. */
  knowledgeBaseId: string;
  /** Such as "eu-central-1". */
  region: string;
}

export function bedrockBaseOf(message: pb.BedrockKnowledgeBase): BedrockBase {
  return {
    knowledgeBaseId: message.knowledgeBaseId,
    region: message.region,
  };
}

/** Documents that are found together. */
export interface KnowledgeBase {
  knowledgeBaseId: string;
  /** What agents name it by. */
  name: string;
  description: string;
  /** It is asked for every agent; otherwise only for those that name it. */
  isOfTenant: boolean;
  appId: string;
  agentBundleId: string;
  graphName: string;
  /** Of all its documents, and the bytes that came with them. */
  documentCount: number;
  /** Bytes that came with the documents. */
  sizeBytes: number;
  /** How many are in which state; in answers of knowledgeBases.get only. */
  documents: Record<string, number>;
  /** Counts how often it was put, from 1. */
  version: number;
  createdAt: string;
  updatedAt: string;
  /** Who put it last. */
  updatedBy: string;
  /** Unset: its documents are here. */
  bedrock?: BedrockBase;
  /** Unset: no import wrote it, or it was put since. */
  imported?: Imported;
}

export function knowledgeBaseOf(message: pb.KnowledgeBase): KnowledgeBase {
  const value: KnowledgeBase = {
    knowledgeBaseId: message.knowledgeBaseId,
    name: message.name,
    description: message.description,
    isOfTenant: message.isOfTenant,
    appId: message.appId,
    agentBundleId: message.agentBundleId,
    graphName: message.graphName,
    documentCount: message.documentCount,
    sizeBytes: Number(message.sizeBytes),
    documents: Object.fromEntries(message.documents.map((item) => [enumText(pb.DocumentState, item.state), item.count])),
    version: message.version,
    createdAt: timeText(message.createdAt),
    updatedAt: timeText(message.updatedAt),
    updatedBy: message.updatedBy,
  };
  if (message.bedrock !== undefined) value.bedrock = bedrockBaseOf(message.bedrock);
  if (message.imported !== undefined) value.imported = importedOf(message.imported);
  return value;
}

/** A document of a knowledge base, without its text. */
export interface Document {
  documentId: string;
  /** The name of its base. */
  knowledgeBase: string;
  name: string;
  uri: string;
  contentType: string;
  /** Of what came with it; of a record 0. */
  sizeBytes: number;
  /** The record that it follows. */
  workingMemoryId: string;
  state: "queued" | "parsing" | "indexed" | "failed" | "unknown";
  /** Of FAILED: a word, and what happened: "password: it wants a password". Of QUEUED: what happened the last time, if it is tried again. */
  error: string;
  /** What is found of it: pieces of a few sentences. */
  passageCount: number;
  /** There is more of it than is read: the first 2,000,000 characters are. */
  isCut: boolean;
  createdBy: string;
  createdAt: string;
  /** When it got into its state. */
  updatedAt: string;
  /** Unset: no import wrote it. */
  imported?: Imported;
}

export function documentOf(message: pb.Document): Document {
  const value: Document = {
    documentId: message.documentId,
    knowledgeBase: message.knowledgeBase,
    name: message.name,
    uri: message.uri,
    contentType: message.contentType,
    sizeBytes: Number(message.sizeBytes),
    workingMemoryId: message.workingMemoryId,
    state: enumText(pb.DocumentState, message.state),
    error: message.error,
    passageCount: message.passageCount,
    isCut: message.isCut,
    createdBy: message.createdBy,
    createdAt: timeText(message.createdAt),
    updatedAt: timeText(message.updatedAt),
  };
  if (message.imported !== undefined) value.imported = importedOf(message.imported);
  return value;
}
