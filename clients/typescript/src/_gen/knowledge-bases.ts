// Made from contextkeep/context/v1/knowledge_bases.proto by `make proto`.

import * as pb from "../gen/contextkeep/context/v1/knowledge_bases_pb.js";
import { enumText } from "../messages.js";
import { timeText } from "../times.js";
import { type Imported, importedOf } from "./message.js";

/** A knowledge base of Amazon Bedrock. */
export interface BedrockBase {
  /** Bedrock's id of it: 10 letters and digits. */
  knowledgeBaseId: string;
  /** The AWS region, such as "eu-central-1". */
  region: string;
}

export function bedrockBaseOf(message: pb.BedrockKnowledgeBase): BedrockBase {
  return {
    knowledgeBaseId: message.knowledgeBaseId,
    region: message.region,
  };
}

/** A set of documents to search together. */
export interface KnowledgeBase {
  knowledgeBaseId: string;
  /** The name by which agents refer to it. */
  name: string;
  description: string;
  /**
   * The base is searched for every caller of the tenant; otherwise only for the agents that name it, or whose template
   * does.
   */
  isOfTenant: boolean;
  appId: string;
  agentBundleId: string;
  graphName: string;
  /** Number of its documents. */
  documentCount: number;
  /** Total size of the bytes that were added with the documents. */
  sizeBytes: number;
  /** Number of documents in each state; only in answers of knowledgeBases.get. */
  documents: Record<string, number>;
  /** Counts the puts of the base, from 1. */
  version: number;
  createdAt: string;
  updatedAt: string;
  /** The subject of the credential that put it last. */
  updatedBy: string;
  /** The knowledge base of Amazon Bedrock that it stands for. Unset: its documents are stored here. */
  bedrock?: BedrockBase;
  /** Where an import took it from. Unset: no import wrote it, or it was put since. */
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
  /** Size of the bytes that were added with it. For a record: 0. */
  sizeBytes: number;
  /** The record that it follows. Empty: none. */
  workingMemoryId: string;
  state: "queued" | "parsing" | "indexed" | "failed" | "unknown";
  /**
   * FAILED: a word and an explanation, such as "password: it wants a password". QUEUED after a failed attempt: the
   * error of that attempt.
   */
  error: string;
  /** Number of its passages: chunks of a few sentences that searches find. */
  passageCount: number;
  /** The document is longer than 2,000,000 characters; only these are read. */
  isCut: boolean;
  createdBy: string;
  createdAt: string;
  /** When it entered its state. */
  updatedAt: string;
  /** Where an import took it from. Unset: no import wrote it. */
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
