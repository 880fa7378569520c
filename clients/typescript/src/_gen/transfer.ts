// Made from contextkeep/context/v1/transfer.proto by `make proto`.

import * as pb from "../gen/contextkeep/context/v1/transfer_pb.js";
import { type JsonObject, parseObject } from "../json.js";
import { enumText } from "../messages.js";
import { timeText } from "../times.js";

export interface ArchivePart {
  /** Up to 1 MiB. */
  data: Uint8Array;
  /** Token to continue after `data`. Empty means that the export cannot continue from here. */
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
  /** Bytes of the archive that are written. An import continues from here. */
  offsetBytes: number;
  pieces: number;
  createdAt: string;
  updatedAt: string;
  /** The manifest of the archive: JSON. */
  manifest: JsonObject;
  /** Counts by table. */
  rows: ImportedRows[];
  /** The first 100 rows that exist here and differ from the archive. */
  conflicts: ImportConflict[];
  /** Data that the archive does not contain, and why. */
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
  /** "message", "wm_record", …; "blob" for files; "graph.nodes", "graph.edges", … for rows of the Entity Service. */
  table: string;
  written: number;
  /** Rows that existed and were equal. */
  present: number;
  /** Rows that existed and differed. They stay as they are. */
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
  /** Key of the row: JSON. */
  key: JsonObject;
  /**
   * "different", "taken" (another row has its place), "erased" (the row was removed here) or "renumbered" (the row was
   * written with another `seq`).
   */
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
