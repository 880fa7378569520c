/** Knowledge bases, and their documents. */

import * as pb from "./gen/contextkeep/context/v1/knowledge_bases_pb.js";

/** How far a document is. */
export type DocumentState = "queued" | "parsing" | "indexed" | "failed";

export const DOCUMENT_STATES: Readonly<Record<DocumentState, pb.DocumentState>> = {
  queued: pb.DocumentState.QUEUED,
  parsing: pb.DocumentState.PARSING,
  indexed: pb.DocumentState.INDEXED,
  failed: pb.DocumentState.FAILED,
};
