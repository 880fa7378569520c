// Made from the protos by `make proto`.

import * as knowledgeBasesPb from "../../gen/contextkeep/context/v1/knowledge_bases_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { enumInput } from "../../messages.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { type WriteOptions, requestId } from "../../writes.js";
import { type NewDocument, newDocument } from "../inputs.js";
import {
  type BedrockBase,
  type Document,
  type KnowledgeBase,
  documentOf,
  knowledgeBaseOf,
} from "../knowledge-bases.js";

/** Options of `knowledgeBases.put`. */
export interface KnowledgeBaseFields {
  /** What the base contains; up to 2,000 characters. */
  description?: string;
  /** Search the base for every caller of the tenant. Otherwise only for the agents that name it, or whose template does. */
  isOfTenant?: boolean;
  /**
   * The app of the base. A key that is bound to apps sees only bases of these apps, and none without an app. It never
   * changes.
   */
  appId?: string;
  /**
   * The agent bundle of the base. A key that is bound to a bundle sees only bases of this bundle, and none without one.
   * It never changes.
   */
  agentBundleId?: string;
  /**
   * The graph of the base. A key that is bound to graphs sees only bases of these graphs, and none without one. It
   * never changes.
   */
  graphName?: string;
  /**
   * The knowledge base of Amazon Bedrock to search by its Retrieve API; such a base takes no documents here. Unset:
   * knowledgeBases.addDocument adds its documents. It never changes. The operator of the service lists in BEDROCK_KNOWLEDGE_BASES
   * which ones a tenant may name, because the service searches them with its own credentials; any other is
   * PermissionDenied.
   */
  bedrock?: Partial<BedrockBase>;
}

/** The calls of `knowledgeBases` that are one method each. */
export class KnowledgeBases extends Noun<AppClient> {
  /**
   * Create a knowledge base, or replace its settings; its documents stay. Needs the scope `admin`.
   *
   * Throws InvalidArgument (a field is not valid, or the base exists with another app, agent bundle or graph),
   * LimitExceeded (limit `knowledgeBases`: 200 per tenant), PermissionDenied (the scope is missing; the key is
   * bound), RequestIdReused.
   *
   * @param name The name by which agents refer to it: 1 to 200 characters.
   */
  async put(name: string, options: KnowledgeBaseFields & WriteOptions = {}): Promise<KnowledgeBase> {
    const request = {
      knowledgeBase: {
        name,
        description: options.description,
        isOfTenant: options.isOfTenant,
        appId: options.appId,
        agentBundleId: options.agentBundleId,
        graphName: options.graphName,
        bedrock: options.bedrock,
      },
      requestId: requestId(options),
    };
    const answer = await this.client.call(knowledgeBasesPb.KnowledgeBases.method.putKnowledgeBase, request, options);
    return knowledgeBaseOf(answer.knowledgeBase!);
  }

  /**
   * Read a knowledge base, with the number of its documents in each state. Throws KnowledgeBaseNotFound.
   *
   * @param name The base to read.
   */
  async get(name: string, options: CallOptions = {}): Promise<KnowledgeBase> {
    const request = {
      name,
    };
    const answer = await this.client.call(knowledgeBasesPb.KnowledgeBases.method.getKnowledgeBase, request, options);
    return knowledgeBaseOf(answer.knowledgeBase!);
  }

  /** List the knowledge bases that the caller sees, by name. Throws InvalidPageToken. */
  list(options: { pageSize?: number } & CallOptions = {}): Rows<KnowledgeBase> {
    const request = {
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(knowledgeBasesPb.KnowledgeBases.method.listKnowledgeBases, { ...request, pageToken }, options);
        return [page.knowledgeBases.map(knowledgeBaseOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Delete a knowledge base for good, with all its documents. From then on, no search finds any part of it. Records
   * that the base used stay in working memory. Needs the scope `admin`.
   *
   * Throws KnowledgeBaseNotFound, PermissionDenied, RequestIdReused.
   *
   * @param name The base to delete.
   */
  async delete(name: string, options: WriteOptions = {}): Promise<void> {
    const request = {
      name,
      requestId: requestId(options),
    };
    await this.client.call(knowledgeBasesPb.KnowledgeBases.method.deleteKnowledgeBase, request, options);
  }

  /**
   * Add a document to a knowledge base: bytes, or a record of working memory.
   *
   * After the answer, the document is stored. The service parses it in the background, in a separate sandboxed process;
   * `state` shows the progress. If the document cannot be parsed, its `error` says why, and other documents do not wait
   * for it.
   *
   * Throws InvalidArgument (the document has neither bytes nor a record; no name; the record belongs to a user or a
   * context, or has another app, agent bundle or graph), KnowledgeBaseNotFound, RecordNotFound, LimitExceeded
   * (limits `document.data`; `documents`: 10,000 per base; `sizeBytes`: 1 GiB per base), PermissionDenied,
   * RequestIdReused.
   *
   * @param knowledgeBase The name of the base.
   */
  async addDocument(knowledgeBase: string, document: NewDocument, options: WriteOptions = {}): Promise<Document> {
    const request = {
      knowledgeBase,
      document: newDocument(document, "document"),
      requestId: requestId(options),
    };
    const answer = await this.client.call(knowledgeBasesPb.KnowledgeBases.method.addDocument, request, options);
    return documentOf(answer.document!);
  }

  /**
   * List the documents of a knowledge base. Throws InvalidArgument, InvalidPageToken, KnowledgeBaseNotFound.
   *
   * @param knowledgeBase The name of the base.
   * @param options.states Only documents in one of these states. Empty: all.
   */
  listDocuments(
    knowledgeBase: string,
    options: { states?: ("queued" | "parsing" | "indexed" | "failed")[]; pageSize?: number } & CallOptions = {},
  ): Rows<Document> {
    const request = {
      knowledgeBase,
      states: options.states?.map((item, place) => enumInput(`states[${place}]`, item, knowledgeBasesPb.DocumentState)),
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(knowledgeBasesPb.KnowledgeBases.method.listDocuments, { ...request, pageToken }, options);
        return [page.documents.map(documentOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Delete a document for good, with its index entries. A record that it follows stays in working memory.
   *
   * Throws InvalidArgument, KnowledgeBaseNotFound, DocumentNotFound, PermissionDenied, RequestIdReused.
   *
   * @param knowledgeBase The name of the base.
   * @param documentId The document to delete.
   */
  async removeDocument(knowledgeBase: string, documentId: string, options: WriteOptions = {}): Promise<void> {
    const request = {
      knowledgeBase,
      documentId,
      requestId: requestId(options),
    };
    await this.client.call(knowledgeBasesPb.KnowledgeBases.method.removeDocument, request, options);
  }
}
