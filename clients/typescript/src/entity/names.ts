/** Nodes by the caller's own ids. */

import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/entity/v1/entity_graph_pb.js";
import type { NodeName } from "../names.js";
import { Noun } from "../noun.js";
import { Rows, pages } from "../rows.js";

const graph = pb.EntityGraph.method;

/** Base class of calls that take a node. A separate call looks an external id up; if you call often, store the id. */
export abstract class NodeNoun extends Noun {
  /**
   * Return the id of a node.
   *
   * @param graphName The graph of an external id that names no graph. Default: "default".
   * @throws NodeNotFound No node of the graph has the external id: both are in the metadata.
   */
  protected async nodeId(name: NodeName, options: CallOptions, graphName?: string): Promise<string> {
    if (typeof name === "string") return name;
    const { headers, timeoutMs, signal } = options;
    const request = { externalId: name.externalId, graphName: name.graphName ?? graphName };
    return (await this.client.call(graph.getNodeByExternalId, request, { headers, timeoutMs, signal })).node!.id;
  }

  /** Return the rows of all pages of a list about one node, whose id is looked up once. */
  protected rowsOf<T>(
    name: NodeName,
    options: { graphName?: string } & CallOptions,
    page: (nodeId: string, token: string) => Promise<[rows: T[], nextToken: string]>,
  ): Rows<T> {
    return new Rows(() => this.pagesOf(name, options, page));
  }

  private async *pagesOf<T>(
    name: NodeName,
    options: { graphName?: string } & CallOptions,
    page: (nodeId: string, token: string) => Promise<[rows: T[], nextToken: string]>,
  ): AsyncGenerator<T> {
    const nodeId = await this.nodeId(name, options, options.graphName);
    yield* pages((token) => page(nodeId, token));
  }
}
