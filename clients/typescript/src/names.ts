/** Nodes as callers name them. */

/** A node: its id, or your own id of it, which is looked up in `graphName`, else in "default". */
export type NodeName = string | { externalId: string; graphName?: string };

/** Return the fields of a request that name a node; the service looks an external id up. */
export function nameFields<F extends string>(field: F, name: NodeName) {
  const fields = typeof name === "string" ? { [field]: name } : { externalId: name.externalId, graphName: name.graphName };
  return fields as { [key in F]?: string } & { externalId?: string; graphName?: string };
}
