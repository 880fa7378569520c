/** The client of the Entity Service: nodes and typed edges. An RPC is one method, of its noun. */

import { EntityNouns } from "./_gen/entity-nouns.js";
import type { ClientOptions } from "./client.js";

export type {
  AppendedMessage,
  Direction,
  MessageInput as NewMessage,
  SearchOptions,
  TraverseOptions,
} from "./entity/graph.js";
export type { EnvelopeStatus, EnvelopeType } from "./progress.js";
export type { VersionOptions, WriteOptions } from "./writes.js";

export class EntityClient extends EntityNouns {
  /** The address is else that of `ENTITY_SERVICE_ADDRESS`, else 127.0.0.1:50052. */
  constructor(options: ClientOptions = {}) {
    super(options, { name: "entity-service", variable: "ENTITY_SERVICE_ADDRESS", address: "127.0.0.1:50052" });
  }
}
