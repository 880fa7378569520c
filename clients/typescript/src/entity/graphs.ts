/** Graphs: written at once, listed, imported and exported as a whole. */

import { type ExportPage, type WrittenGraph, exportPageOf, writtenGraphOf } from "../_gen/entity-graph.js";
import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/entity/v1/entity_graph_pb.js";
import {
  type ExportOptions,
  type ImportOptions,
  type ImportedGraph,
  nothingImported,
  segmentMessages,
  segments,
  withImported,
} from "../graphs.js";
import { choice } from "../messages.js";
import { timeText } from "../times.js";
import type { ByteStream } from "../transfer.js";
import { type WriteOptions, requestId } from "../writes.js";
import { type EdgeInput, EdgeCalls, edgeInput } from "./edges.js";
import { type NodeInput, nodeInput } from "./nodes.js";

const graph = pb.EntityGraph.method;

const ON_EXISTING = { fail: pb.OnExisting.FAIL, skip: pb.OnExisting.SKIP };

/** What became of a node or an edge: what to read again, not what it was. */
export interface Change {
  /** "changed": it is new, too. */
  kind: "changed" | "removed";
  /** Empty: it is an edge. */
  nodeId: string;
  edgeId: string;
  graphName: string;
  /** Of a node. */
  generalTypeName: string;
  specificTypeName: string;
  /** Of an edge. */
  edgeType: string;
  fromNodeId: string;
  toNodeId: string;
  changedAt: string;
}

/** Changes in their order, each node and each edge once. */
export interface ChangePage {
  changes: Change[];
  /** Where to go on, now or later: to be kept once the changes are dealt with. */
  nextPlace: string;
  /** There is more already. */
  hasMore: boolean;
}

/** An RPC is one method. */
export abstract class GraphCalls extends EdgeCalls {
  /**
   * Write nodes and edges in one transaction: all of them or none, up to 2,000 rows and 4 MiB. Edges may join nodes of the same
   * call. With `onExisting: "skip"` rows that exist are left as they are and answered as `existed`.
   *
   * @throws ContextKeepError Those of `createNode` and `createEdge`; the field names the row.
   */
  async writeGraph(
    rows: { nodes?: NodeInput[]; edges?: EdgeInput[]; onExisting?: "fail" | "skip" } & WriteOptions,
  ): Promise<WrittenGraph> {
    const written = await this.call(
      graph.writeGraph,
      {
        nodes: rows.nodes?.map((node, row) => nodeInput(node, `nodes[${row}]`)),
        edges: rows.edges?.map((edge, row) => edgeInput(edge, `edges[${row}]`)),
        onExisting: choice("onExisting", rows.onExisting ?? "fail", ON_EXISTING),
        requestId: requestId(rows),
      },
      rows,
    );
    return writtenGraphOf(written);
  }

  /**
   * What changed behind a place, in an order in which nothing that is written late is missed. Keep `nextPlace` once the changes are
   * dealt with, and go on from it: at once if there `hasMore`, else later. Without a place: no changes, and the place of now.
   *
   * @throws ChangesNotStarted `startChanges` was not called, or has not answered yet.
   * @throws ChangesExpired Changes behind the place are forgotten: take a new place, then read everything anew.
   */
  async listChanges(place = "", options: { pageSize?: number } & CallOptions = {}): Promise<ChangePage> {
    const { pageSize } = options;
    const page = await this.call(graph.listChanges, { place, pageSize }, options);
    return { changes: page.changes.map(change), nextPlace: page.nextPlace, hasMore: page.hasMore };
  }

  /**
   * Write a graph from newline-delimited JSON, as `exportGraph` gives it, and return what was written.
   *
   * What is there already, by its id, is skipped: an import that broke off is simply begun again. It is sent in segments of some
   * MiB; one that failed with `Unavailable` is sent again by itself.
   *
   * @throws InvalidArgument A line is malformed: the violation names it.
   * @throws NodeNotFound A line names a node that no line before it wrote.
   */
  async importGraph(source: ByteStream | Uint8Array, options: ImportOptions = {}): Promise<ImportedGraph> {
    let done = nothingImported(options.graphName);
    let sentBytes = 0;
    for await (const segment of segments(source instanceof Uint8Array ? [source] : source)) {
      const header = { graphName: done.graphName, linesBefore: BigInt(done.lines) };
      const attempts = this.attempts(options, undefined);
      const answer = await attempts.run(() => {
        const messages = segmentMessages(header, segment);
        return this.connection.upload(graph.importGraph, messages, this.settings(options, attempts));
      });
      done = withImported(done, answer);
      for (const chunk of segment) sentBytes += chunk.length;
      options.onProgress?.(sentBytes, source instanceof Uint8Array ? source.length : undefined);
    }
    return done;
  }

  /**
   * Read a whole graph out, as newline-delimited JSON: `writeFile(path, client.exportGraph())`, or another client's `importGraph`.
   * An export that breaks off goes on where it was. It is no snapshot of rows that are written meanwhile.
   */
  async *exportGraph(options: ExportOptions = {}): AsyncGenerator<Uint8Array> {
    for await (const { lines } of this.exportGraphPages(options)) yield lines;
  }

  /**
   * The same in pieces that say how many rows they hold, and by which token another export goes on behind them.
   *
   * @throws InvalidPageToken The token is malformed or of another graph.
   */
  async *exportGraphPages(options: ExportOptions = {}): AsyncGenerator<ExportPage> {
    const { graphName } = options;
    let { resumeToken } = options;
    let attempts = this.attempts(options, undefined);
    for (;;) {
      try {
        for await (const page of this.stream(graph.exportGraph, { graphName, resumeToken }, options, false)) {
          resumeToken = page.resumeToken;
          attempts.succeeded();
          attempts = this.attempts(options, undefined);
          yield exportPageOf(page);
        }
        return;
      } catch (error) {
        await attempts.wait(error);
      }
    }
  }
}

function change(message: pb.Change): Change {
  const { nodeId, edgeId, graphName, generalTypeName, specificTypeName, edgeType, fromNodeId, toNodeId } = message;
  const kind = message.kind === pb.ChangeKind.REMOVED ? "removed" : "changed";
  const changedAt = timeText(message.changedAt);
  return { kind, nodeId, edgeId, graphName, generalTypeName, specificTypeName, edgeType, fromNodeId, toNodeId, changedAt };
}
