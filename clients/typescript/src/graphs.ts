/** A whole graph on its way, as newline-delimited JSON: what came of it, and the pieces it is sent and read in. */

import { create } from "@bufbuild/protobuf";

import type { RowCount } from "./_gen/entity-graph.js";
import type { CallOptions } from "./client.js";
import * as pb from "./gen/contextkeep/entity/v1/entity_graph_pb.js";
import { type ByteStream, type OnProgress, cut } from "./transfer.js";

/** Of an import: the bytes that are kept in case they must be sent again. */
const SEGMENT_BYTES = 8 * 1024 * 1024;
const NEWLINE = 0x0a;
const NONE: RowCount = { written: 0, existed: 0 };

/** What `graph.import` came to. */
export interface ImportedGraph {
  graphName: string;
  lines: number;
  nodes: RowCount;
  edges: RowCount;
  embeddings: RowCount;
  envelopes: RowCount;
}

export interface ImportOptions extends Omit<CallOptions, "timeoutMs"> {
  /** Where the rows go. Else the graph that the first line names, else "default". */
  graphName?: string;
  /** Told the bytes that are written. */
  onProgress?: OnProgress;
}

export interface ExportOptions extends Omit<CallOptions, "timeoutMs"> {
  /** Else "default". */
  graphName?: string;
  /** Of the last piece that arrived in an export that another process began. */
  resumeToken?: string;
}

export function nothingImported(graphName = ""): ImportedGraph {
  return { graphName, lines: 0, nodes: NONE, edges: NONE, embeddings: NONE, envelopes: NONE };
}

/** Return `done` with what one more call came to. */
export function withImported(done: ImportedGraph, answer: pb.ImportGraphResponse): ImportedGraph {
  return {
    graphName: answer.graphName,
    lines: Number(answer.lines),
    nodes: sum(done.nodes, answer.nodes),
    edges: sum(done.edges, answer.edges),
    embeddings: sum(done.embeddings, answer.embeddings),
    envelopes: sum(done.envelopes, answer.envelopes),
  };
}

function sum(count: RowCount, more: pb.RowCount | undefined): RowCount {
  return { written: count.written + Number(more?.written ?? 0), existed: count.existed + Number(more?.existed ?? 0) };
}

/** Cut a text of lines into segments of whole lines, as lists of chunks. */
export async function* segments(source: ByteStream): AsyncGenerator<Uint8Array[]> {
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  for await (const chunk of cut(source)) {
    const end = heldBytes + chunk.length < SEGMENT_BYTES ? 0 : chunk.lastIndexOf(NEWLINE) + 1;
    if (end) {
      yield [...held, chunk.subarray(0, end)];
      [held, heldBytes] = [[], 0];
    }
    if (end === chunk.length) continue;
    held.push(Buffer.from(chunk.subarray(end))); // a source may use its buffer again
    heldBytes += chunk.length - end;
  }
  if (heldBytes) yield held;
}

/** Yield the messages of one segment. */
export async function* segmentMessages(
  header: { graphName: string; linesBefore: bigint },
  segment: Uint8Array[],
): AsyncGenerator<pb.ImportGraphRequest> {
  yield create(pb.ImportGraphRequestSchema, { content: { case: "header", value: header } });
  for (const value of segment) yield create(pb.ImportGraphRequestSchema, { content: { case: "lines", value } });
}
