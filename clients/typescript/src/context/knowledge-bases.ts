/** Knowledge bases: documents that are found together. */

import { type Document, documentOf } from "../_gen/knowledge-bases.js";
import { GeneratedKnowledgeBases } from "../_gen/nouns/knowledge-bases.js";
import * as pb from "../gen/contextkeep/context/v1/knowledge_pb.js";
import { type WriteOptions, requestId } from "../writes.js";

const method = pb.Knowledge.method;

/** How far a document is. */
export type DocumentState = "queued" | "parsing" | "indexed" | "failed";

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
export class KnowledgeBases extends GeneratedKnowledgeBases {
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
    return documentOf((await this.client.call(method.addDocument, request, options)).document!);
  }
}
