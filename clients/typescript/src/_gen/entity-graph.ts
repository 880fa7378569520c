// Made from contextkeep/entity/v1/entity_graph.proto by `make proto`.

import type * as pb from "../gen/contextkeep/entity/v1/entity_graph_pb.js";
import { type JsonObject, parseObject } from "../json.js";
import { timeText } from "../times.js";

/** A vertex. */
export interface Node {
  id: string;
  /** The caller's own id; unique in tenant and graph. */
  externalId: string;
  /** The partition. Edges never leave it. */
  graphName: string;
  agentBundleId: string;
  generalTypeName: string;
  specificTypeName: string;
  name: string;
  /** "Created", "Running", "Completed", "Failed", "Cancelled", or an app's own. */
  status: string;
  /**
   * A JSON object, equal to what was written; not the same text: members are in Postgres's order, of repeated ones the
   * last counts, and numbers are written out without exponent (all their digits are kept).
   */
  data: JsonObject;
  isArchived: boolean;
  /** The server's order of writing. */
  seq: number;
  createdAt: string;
  /** The time of the last change; `createdAt` before the first. */
  modifiedAt: string;
  /** Counts the changes, from 1. */
  version: number;
  /** The subject whose key or token wrote the node. */
  createdBy: string;
  ownerUserId: string;
  agentId: string;
  /** The isolated context that the node belongs to; set by later capabilities. */
  contextId: string;
}

export function nodeOf(message: pb.Node): Node {
  return {
    id: message.id,
    externalId: message.externalId,
    graphName: message.graphName,
    agentBundleId: message.agentBundleId,
    generalTypeName: message.generalTypeName,
    specificTypeName: message.specificTypeName,
    name: message.name,
    status: message.status,
    data: parseObject(message.dataJson),
    isArchived: message.isArchived,
    seq: Number(message.seq),
    createdAt: timeText(message.createdAt),
    modifiedAt: timeText(message.modifiedAt),
    version: Number(message.version),
    createdBy: message.createdBy,
    ownerUserId: message.ownerUserId,
    agentId: message.agentId,
    contextId: message.contextId,
  };
}

/** A directed relation. */
export interface Edge {
  id: string;
  graphName: string;
  fromNodeId: string;
  toNodeId: string;
  /** "Contains", "Calls", "InResponseTo", ...: any name is allowed. */
  edgeType: string;
  data: JsonObject;
  createdAt: string;
  version: number;
  contextId: string;
}

export function edgeOf(message: pb.Edge): Edge {
  return {
    id: message.id,
    graphName: message.graphName,
    fromNodeId: message.fromNodeId,
    toNodeId: message.toNodeId,
    edgeType: message.edgeType,
    data: parseObject(message.dataJson),
    createdAt: timeText(message.createdAt),
    version: Number(message.version),
    contextId: message.contextId,
  };
}

/** What there is of what a user owns, or what an erasure has removed of it. */
export interface OwnedNodes {
  nodes: number;
  /** Of these nodes, in both directions. */
  edges: number;
  /** Of repeated calls. */
  answers: number;
  /** In the place of which there is a pseudonym. */
  names: number;
  /** Of an erasure: unset while it runs. */
  finishedAt: string;
}

export function ownedNodesOf(message: pb.Owned): OwnedNodes {
  return {
    nodes: Number(message.nodes),
    edges: Number(message.edges),
    answers: Number(message.answers),
    names: Number(message.names),
    finishedAt: timeText(message.finishedAt),
  };
}
