// Made from contextkeep/context/v1/transfer.proto by `make proto`.

import * as pb from "../gen/contextkeep/context/v1/transfer_pb.js";
import { type JsonObject, parseObject } from "../json.js";
import { enumText } from "../messages.js";
import { timeText } from "../times.js";

export interface ArchivePart {
  /** Up to 1 MiB. */
  data: Uint8Array;
  /** Goes on behind `data`. Empty: it cannot be gone on with here. */
  resumeToken: string;
}

export function archivePartOf(message: pb.ExportArchiveResponse): ArchivePart {
  return {
    data: message.data,
    resumeToken: message.resumeToken,
  };
}

export interface ImportedArchive {
  importId: string;
  state: "running" | "done" | "given_up" | "unknown";
  /** How much of the archive is written: where to go on. */
  offsetBytes: number;
  pieces: number;
  createdAt: string;
  updatedAt: string;
  /** What the archive says of itself: JSON. */
  manifest: JsonObject;
  /** Of each table, by its name. */
  rows: ImportedRows[];
  /** The first 100 rows that are here and other than in the archive. */
  conflicts: ImportConflict[];
  /** What the archive has not, and why. */
  leftOut: string[];
  dryRun: boolean;
}

export function importedArchiveOf(message: pb.ImportedArchive): ImportedArchive {
  return {
    importId: message.importId,
    state: enumText(pb.ImportState, message.state),
    offsetBytes: Number(message.offsetBytes),
    pieces: Number(message.pieces),
    createdAt: timeText(message.createdAt),
    updatedAt: timeText(message.updatedAt),
    manifest: parseObject(message.manifestJson),
    rows: message.rows.map(importedRowsOf),
    conflicts: message.conflicts.map(importConflictOf),
    leftOut: message.leftOut,
    dryRun: message.dryRun,
  };
}

export interface ImportedRows {
  /** "message", "wm_record", …; "blob": files; "graph.nodes", "graph.edges", …: rows of the Entity Service. */
  table: string;
  written: number;
  /** Were there, and equal. */
  present: number;
  /** Were there, and other: they stay as they are. */
  conflicts: number;
}

export function importedRowsOf(message: pb.ImportedRows): ImportedRows {
  return {
    table: message.table,
    written: Number(message.written),
    present: Number(message.present),
    conflicts: Number(message.conflicts),
  };
}

export interface ImportConflict {
  table: string;
  /** Of the row: JSON. */
  key: JsonObject;
  /** "different", "taken" (another row has its place), "erased" (it was removed here); "renumbered": it was written, with another `seq`. */
  why: string;
  piece: number;
}

export function importConflictOf(message: pb.ImportConflict): ImportConflict {
  return {
    table: message.table,
    key: parseObject(message.keyJson),
    why: message.why,
    piece: Number(message.piece),
  };
}
