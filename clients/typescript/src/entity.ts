/** The entity graph: nodes and typed edges. An RPC is one method, in the module of its noun. */

import type { ClientOptions } from "./client.js";
import { TraversalCalls } from "./entity/traversal.js";

export type { Direction, EdgeInput } from "./entity/edges.js";
export type { Change, ChangePage } from "./entity/graphs.js";
export type { AppendedMessage, MessageInput } from "./entity/messages.js";
export type { NodeInput } from "./entity/nodes.js";
export type { EnvelopeStatus, EnvelopeType } from "./entity/progress.js";
export type { SearchOptions } from "./entity/search.js";
export type { TraverseOptions } from "./entity/traversal.js";
export type { VersionOptions, WriteOptions } from "./writes.js";

/** A class has one parent, so the calls of each noun extend those of another; the order means nothing. */
export class EntityClient extends TraversalCalls {
  /** The address is else that of `ENTITY_SERVICE_ADDRESS`, else 127.0.0.1:50052. */
  constructor(options: ClientOptions = {}) {
    super(options, { name: "entity-service", variable: "ENTITY_SERVICE_ADDRESS", address: "127.0.0.1:50052" });
  }
}
