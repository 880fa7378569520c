// Made from the protos by `make proto`.

import { Client } from "../client.js";
import { Changes } from "./nouns/changes.js";
import { Embeddings } from "./nouns/embeddings.js";
import { Graph } from "../entity/graph.js";
import { EntityOperations } from "./nouns/entity-operations.js";
import { Progress } from "./nouns/progress.js";

export { Changes, Embeddings, Graph, EntityOperations, Progress };

/** What the client of the Entity Service has calls about. */
export abstract class EntityNouns extends Client {
  readonly changes = new Changes(this);
  readonly embeddings = new Embeddings(this);
  readonly graph = new Graph(this);
  readonly operations = new EntityOperations(this);
  readonly progress = new Progress(this);
}
