/** Knowledge bases: documents that are found together. */

import {
  type BedrockBase,
  type Document,
  type KnowledgeBase,
  documentOf,
  knowledgeBaseOf,
} from "../_gen/knowledge-bases.js";
import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/context/v1/knowledge_pb.js";
import { DOCUMENT_STATES, type DocumentState } from "../knowledge-bases.js";
import { choice } from "../messages.js";
import { Rows, pages } from "../rows.js";
import { type WriteOptions, requestId } from "../writes.js";
import { DefinitionCalls } from "./definitions.js";

const method = pb.Knowledge.method;

/** What is said of a knowledge base. */
export interface KnowledgeBaseFields {
  /** Up to 2,000 characters. */
  description?: string;
  /** Asked for everybody of the tenant; else only for the agents that name it. */
  isOfTenant?: boolean;
  /** Walls: a key that is bound to one of these sees what has its own. They never change. */
  appId?: string;
  agentBundleId?: string;
  graphName?: string;
  /** One of Amazon Bedrock, which is asked instead. It never changes. */
  bedrock?: BedrockBase;
}

/** A document as it is added: bytes, or a record of working memory that it follows. */
export interface NewDocument {
  /** Up to 3,000,000 bytes. */
  data?: Uint8Array;
  workingMemoryId?: string;
  /** Its title, such as the name of a file, whose ending tells what it is; else the record's. */
  name?: string;
  /** Where it is from, for who follows a hit. */
  uri?: string;
  /** Such as "application/pdf"; of bytes. */
  contentType?: string;
}

/** An RPC is one method. Who sees a base adds documents; to all others it is `KnowledgeBaseNotFound`, as one that never was. */
export abstract class KnowledgeBaseCalls extends DefinitionCalls {
  /**
   * Write a knowledge base as it is said, whether there was one or not, and return it; its documents stay.
   *
   * @param name What agents name it by, up to 200 characters.
   * @throws PermissionDenied The key lacks the scope admin, or is bound, or the operator does not list what it names in Bedrock.
   */
  async putKnowledgeBase(name: string, options: KnowledgeBaseFields & WriteOptions = {}): Promise<KnowledgeBase> {
    const { description, isOfTenant, appId, agentBundleId, graphName, bedrock } = options;
    const knowledgeBase = { name, description, isOfTenant, appId, agentBundleId, graphName, bedrock };
    const request = { knowledgeBase, requestId: requestId(options) };
    return knowledgeBaseOf((await this.call(method.putKnowledgeBase, request, options)).knowledgeBase!);
  }

  /** Return a knowledge base, and how many of its documents are in which state. */
  async getKnowledgeBase(name: string, options: CallOptions = {}): Promise<KnowledgeBase> {
    return knowledgeBaseOf((await this.call(method.getKnowledgeBase, { name }, options)).knowledgeBase!);
  }

  /** The knowledge bases that you may see, by name. */
  listKnowledgeBases(options: { pageSize?: number } & CallOptions = {}): Rows<KnowledgeBase> {
    const { pageSize } = options;
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(method.listKnowledgeBases, { pageSize, pageToken }, options);
        return [page.knowledgeBases.map(knowledgeBaseOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Remove a knowledge base for good, with its documents; records stay.
   *
   * @throws PermissionDenied The key lacks the scope admin, or is bound.
   */
  async deleteKnowledgeBase(name: string, options: WriteOptions = {}): Promise<void> {
    await this.call(method.deleteKnowledgeBase, { name, requestId: requestId(options) }, options);
  }

  /**
   * Add a document, and return it before it is read: its `state` says how far that is.
   *
   * @param knowledgeBase The name of a base.
   * @throws RecordNotFound There is none.
   * @throws InvalidArgument It is neither bytes nor a record, or the record is not open to the base.
   * @throws LimitExceeded It is too large, or the base has no room.
   */
  async addDocument(knowledgeBase: string, document: NewDocument, options: WriteOptions = {}): Promise<Document> {
    const { data, workingMemoryId, name, uri, contentType } = document;
    const source =
      workingMemoryId !== undefined
        ? { case: "workingMemoryId" as const, value: workingMemoryId }
        : data && { case: "data" as const, value: new Uint8Array(data) };
    const request = { knowledgeBase, document: { name, uri, contentType, source }, requestId: requestId(options) };
    return documentOf((await this.call(method.addDocument, request, options)).document!);
  }

  /** The documents of a base, those that were added last first. */
  listDocuments(knowledgeBase: string, options: { states?: DocumentState[]; pageSize?: number } & CallOptions = {}): Rows<Document> {
    const { pageSize } = options;
    return new Rows(() =>
      pages(async (pageToken) => {
        const states = options.states?.map((state) => choice("states", state, DOCUMENT_STATES));
        const page = await this.call(method.listDocuments, { knowledgeBase, states, pageSize, pageToken }, options);
        return [page.documents.map(documentOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Remove a document for good, with all that finds it; a record stays.
   *
   * @throws DocumentNotFound There is none.
   */
  async removeDocument(knowledgeBase: string, documentId: string, options: WriteOptions = {}): Promise<void> {
    await this.call(method.removeDocument, { knowledgeBase, documentId, requestId: requestId(options) }, options);
  }
}
