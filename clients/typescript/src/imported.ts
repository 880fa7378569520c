/** By which import a row was written. */

import type * as pb from "./gen/contextkeep/context/v1/message_pb.js";
import { timeText } from "./times.js";

/** Whom an archive names as author: a claim, which nothing confirms. */
export interface ClaimedAuthor {
  /** Such as "created_by". */
  field: string;
  author: string;
}

/** By which import a row was written. The row's own fields, such as `createdBy`, name who imported it. */
export interface Imported {
  importId: string;
  importedBy: string;
  importedAt: string;
  claimedAuthors: ClaimedAuthor[];
}

/** Return the field `imported` of a value; nothing if no import wrote the row. */
export function importedField(message: pb.Imported | undefined): { imported?: Imported } {
  if (!message) return {};
  const { importId, importedBy, importedAt, claimedAuthors } = message;
  const claims = claimedAuthors.map(({ field, author }) => ({ field, author }));
  return { imported: { importId, importedBy, importedAt: timeText(importedAt), claimedAuthors: claims } };
}
