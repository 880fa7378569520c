// Made from the protos by `make proto`.

import * as entityGraphPb from "../../gen/contextkeep/entity/v1/entity_graph_pb.js";
import type { CallOptions } from "../../client.js";
import { NodeNoun } from "../../entity/names.js";
import type { NodeName } from "../../names.js";

/** The calls of `progress` that are one method each. */
export class GeneratedProgress extends NodeNoun {
  /** Removes all envelopes of a node for good; those of what it Calls stay. Throws NodeNotFound. */
  async clear(nodeId: NodeName, options: CallOptions = {}): Promise<number> {
    const request = {
      nodeId: await this.nodeId(nodeId, options),
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.clearProgress, request, options);
    return Number(answer.envelopesDeleted);
  }
}
