/** Knowledge bases, and their documents. */

import * as pb from "./gen/contextkeep/context/v1/knowledge_bases_pb.js";
import { enumText } from "./messages.js";
import { timeText } from "./times.js";

/** How far a document is. */
export type DocumentState = "queued" | "parsing" | "indexed" | "failed";

export const DOCUMENT_STATES: Readonly<Record<DocumentState, pb.DocumentState>> = {
  queued: pb.DocumentState.QUEUED,
  parsing: pb.DocumentState.PARSING,
  indexed: pb.DocumentState.INDEXED,
  failed: pb.DocumentState.FAILED,
};

/** A knowledge base of Amazon Bedrock. */
export interface BedrockBase {
  /** Bedrock's own id of it. */
  knowledgeBaseId: string;
  /** Such as "eu-central-1". */
  region: string;
}

/** Documents that are found together. */
export interface KnowledgeBase {
  knowledgeBaseId: string;
  /** What agents name it by. */
  name: string;
  description: string;
  /** Asked for everybody; else for the agents that name it. */
  isOfTenant: boolean;
  appId: string;
  agentBundleId: string;
  graphName: string;
  /** Of Amazon Bedrock; undefined: its documents are here. */
  bedrock: BedrockBase | undefined;
  documentCount: number;
  /** That came with them. */
  sizeBytes: number;
  /** How many are in which state; of a base that was read by itself. */
  documents: Partial<Record<DocumentState, number>>;
  version: number;
  createdAt: string;
  updatedAt: string;
  updatedBy: string;
}

/** A document of a knowledge base, without what it says. */
export interface Document {
  documentId: string;
  /** Its name. */
  knowledgeBase: string;
  name: string;
  uri: string;
  contentType: string;
  sizeBytes: number;
  /** Of the record that it follows. */
  workingMemoryId: string;
  /** "queued", "parsing", "indexed" or "failed". */
  state: string;
  /** Of "failed": a word, and what happened. */
  error: string;
  passageCount: number;
  /** There is more of it than is read. */
  isCut: boolean;
  createdBy: string;
  createdAt: string;
  updatedAt: string;
}

export function baseOf(message: pb.KnowledgeBase): KnowledgeBase {
  const { knowledgeBaseId, name, description, isOfTenant, appId, agentBundleId, graphName, documentCount, version, updatedBy } = message;
  return {
    ...{ knowledgeBaseId, name, description, isOfTenant, appId, agentBundleId, graphName, documentCount, version, updatedBy },
    bedrock: message.bedrock && { knowledgeBaseId: message.bedrock.knowledgeBaseId, region: message.bedrock.region },
    sizeBytes: Number(message.sizeBytes),
    documents: Object.fromEntries(message.documents.map(({ state, count }) => [enumText(pb.DocumentState, state), count])),
    createdAt: timeText(message.createdAt),
    updatedAt: timeText(message.updatedAt),
  };
}

export function documentOf(message: pb.Document): Document {
  const { documentId, knowledgeBase, name, uri, contentType, workingMemoryId, error, passageCount, isCut, createdBy } = message;
  return {
    ...{ documentId, knowledgeBase, name, uri, contentType, workingMemoryId, error, passageCount, isCut, createdBy },
    sizeBytes: Number(message.sizeBytes),
    state: enumText(pb.DocumentState, message.state),
    createdAt: timeText(message.createdAt),
    updatedAt: timeText(message.updatedAt),
  };
}
