// Made from the protos by `make proto`.

import type * as artifactsPb from "../gen/contextkeep/context/v1/artifacts_pb.js";
import type * as chatHistoryPb from "../gen/contextkeep/context/v1/chat_history_pb.js";
import * as compiledPagesPb from "../gen/contextkeep/context/v1/compiled_pages_pb.js";
import * as contextSettingsPb from "../gen/contextkeep/context/v1/context_settings_pb.js";
import type * as contextsPb from "../gen/contextkeep/context/v1/contexts_pb.js";
import type * as knowledgeBasesPb from "../gen/contextkeep/context/v1/knowledge_bases_pb.js";
import type * as messagePb from "../gen/contextkeep/context/v1/message_pb.js";
import type * as entityGraphPb from "../gen/contextkeep/entity/v1/entity_graph_pb.js";
import { type PartInput, partInput } from "../contexts.js";
import { toJson, toObject } from "../json.js";
import { enumInput, whole } from "../messages.js";
import { toTimestamp } from "../times.js";
import type { ExternalId } from "./contexts.js";
import type { MessageInitShape } from "@bufbuild/protobuf";

/** The fields of an artifact that a caller sets. */
export interface ArtifactInput {
  /** Up to 200 characters, unique in its task. Empty means that the server makes an id. */
  artifactId?: string;
  /**
   * Up to 200 characters for `name` and 1,000 for `description`. With `append`, these and the metadata keep their first
   * values.
   */
  name?: string;
  description?: string;
  /** 1 to 100 parts in one call. A version has up to 2 MiB and 1,000 parts. Secrets are removed, as in messages. */
  parts: PartInput[];
  /** A JSON object up to 64 KiB. Empty means {}. */
  metadata?: object;
}

export function artifactInput(
  value: ArtifactInput,
  path: string,
): MessageInitShape<typeof artifactsPb.ArtifactInputSchema> {
  return {
    artifactId: value.artifactId,
    name: value.name,
    description: value.description,
    parts: value.parts.map((item, place) => partInput(item, `${path}.parts[${place}]`)),
    metadataJson: toObject(value.metadata, `${path}.metadata_json`),
  };
}

/** The fields of a new context that a caller sets. */
export interface ContextInput {
  /** Up to 400 characters. */
  title?: string;
  /** Up to 20. */
  externalIds?: ExternalId[];
  /** A JSON object up to 64 KiB. Empty means {}. */
  metadata?: object;
  /** Optional. The service does not check that the graph has this node. */
  entityNodeId?: string;
  appId?: string;
  agentBundleId?: string;
  expiresAt?: Date | string;
  recallProfile?: string;
  /** OFF: no text of the context is sent to a model, whatever its tenant, app and agents have. */
  models?: "on" | "off";
  /**
   * False: contexts.find, and queries about a user's own contexts, do not find it. Unset means as its agents, app and
   * tenant say.
   */
  isFindable?: boolean;
  /**
   * How the service learns memories about the owner. OFF: nothing of the context is learned, whatever its tenant, app and
   * agents have.
   */
  learning?: "off" | "rules" | "model";
}

export function contextInput(
  value: ContextInput,
  path: string,
  appId: string,
): MessageInitShape<typeof contextsPb.ContextInputSchema> {
  return {
    title: value.title,
    externalIds: value.externalIds,
    metadataJson: toObject(value.metadata, `${path}.metadata_json`),
    entityNodeId: value.entityNodeId,
    appId: value.appId ?? appId,
    agentBundleId: value.agentBundleId,
    expiresAt: toTimestamp(value.expiresAt, `${path}.expires_at`),
    recallProfile: value.recallProfile,
    models: enumInput(`${path}.models`, value.models, contextSettingsPb.ModelUse),
    isFindable: value.isFindable,
    learning: enumInput(`${path}.learning`, value.learning, contextSettingsPb.LearningMode),
  };
}

export interface NewDocument {
  /**
   * The title, such as a file name; up to 500 characters. The extension determines the type if no content type does.
   * Empty: the name of the record.
   */
  name?: string;
  /** The address of the original, shown with hits; up to 2,000 characters. The service reads nothing from there. */
  uri?: string;
  /** The media type, such as "application/pdf". For a record: the record's own. */
  contentType?: string;
  /** The content, up to 3,000,000 bytes. Upload larger files to working memory first. */
  data?: Uint8Array;
  /**
   * A record of working memory that has no owner, belongs to no context, and has the app, agent bundle and graph of
   * the base. The document follows the record: if the record changes, the service parses it again. If the record is
   * archived, expired, purged, or moved to another app, bundle or graph, searches find none of it.
   */
  workingMemoryId?: string;
}

export function newDocument(
  value: NewDocument,
  _path: string,
): MessageInitShape<typeof knowledgeBasesPb.DocumentInputSchema> {
  return {
    name: value.name,
    uri: value.uri,
    contentType: value.contentType,
    source:
      value.data !== undefined
        ? { case: "data" as const, value: value.data }
        : value.workingMemoryId !== undefined
        ? { case: "workingMemoryId" as const, value: value.workingMemoryId }
        : undefined,
  };
}

/** A facet to add to a page by hand. */
export interface FacetFields {
  /** The id of the facet, as in FacetRules. Facets of the definition may have the same slug. */
  slug: string;
  /** Heading of the facet. Required, up to 200 characters. */
  heading?: string;
  /** The kind, which determines how far the facet is trusted. */
  kind?: "operational" | "relationship" | "compiled" | "activity" | "kb" | "external";
  /** The text, up to 64 KiB. Empty: delete the facet. */
  text?: string;
  /** Confidence in the text, from 0 to 1. Absent: 1. */
  confidence?: number;
  /** When the text was true. Absent: now. */
  asOf?: Date | string;
  /** When the facet becomes out of date. Absent: when it is put again. */
  freshUntil?: Date | string;
  /** A label of the source, up to 500 characters. Required, unless `sourceUri` is set or `text` is empty. */
  sourceLabel?: string;
  /** The address of the source, up to 2,000 characters. Required, unless `sourceLabel` is set or `text` is empty. */
  sourceUri?: string;
}

export function facetFields(
  value: FacetFields,
  path: string,
): MessageInitShape<typeof compiledPagesPb.FacetInputSchema> {
  return {
    slug: value.slug,
    heading: value.heading,
    kind: enumInput(`${path}.kind`, value.kind, compiledPagesPb.FacetKind),
    text: value.text,
    confidence: value.confidence,
    asOf: toTimestamp(value.asOf, `${path}.as_of`),
    freshUntil: toTimestamp(value.freshUntil, `${path}.fresh_until`),
    sourceLabel: value.sourceLabel,
    sourceUri: value.sourceUri,
  };
}

/** The fields of a message that a caller sets. */
export interface MessageInput {
  /** The sender's own id, up to 200 characters, unique in its context. Empty means that the server makes an id. */
  messageId?: string;
  /** "user", "assistant", "system" or "tool". "agent" is stored as "assistant". Empty means "user". */
  role?: "user" | "assistant" | "agent" | "system" | "tool";
  /** The text, up to 1 MiB. A message has content, parts, or both. */
  content?: string;
  /** Up to 100 parts. A message has up to 2 MiB in all. */
  parts?: PartInput[];
  /** Name of the speaker, if several speakers share a role. */
  name?: string;
  agentId?: string;
  /** A JSON object up to 64 KiB. Empty means {}. */
  metadata?: object;
  /** When the speaker said it. Unset means now. */
  saidAt?: Date | string;
  /** The sender's name of the session. Empty means that a new session begins after four hours without a message. */
  session?: string;
  /** The task to which the message belongs. Without a `contextId`, the message goes to the context of this task. */
  taskId?: string;
  /** Up to 100 other tasks of its context to which the message refers. */
  referenceTaskIds?: string[];
  /** The sender does not vouch for the author, since the message comes from another system: see ChatMessage.is_imported. */
  isImported?: boolean;
}

export function messageInput(value: MessageInput, path: string): MessageInitShape<typeof messagePb.MessageInputSchema> {
  return {
    messageId: value.messageId,
    role: value.role,
    content: value.content,
    parts: value.parts?.map((item, place) => partInput(item, `${path}.parts[${place}]`)),
    name: value.name,
    agentId: value.agentId,
    metadataJson: toObject(value.metadata, `${path}.metadata_json`),
    saidAt: toTimestamp(value.saidAt, `${path}.said_at`),
    session: value.session,
    taskId: value.taskId,
    referenceTaskIds: value.referenceTaskIds,
    isImported: value.isImported,
  };
}

/** All providers that are in either list. At least one list must not be empty. */
export interface ProviderSelection {
  ids?: string[];
  /** All providers of these families. */
  families?: string[];
}

export interface QueryOrder {
  /** The column to sort by. */
  column: string;
  /** Largest first. */
  descending?: boolean;
}

/** Which passages may be recalled or found. An empty field does not restrict. */
export interface RecallFilter {
  /** "user", "assistant" (or "agent"), "system", "tool". Another value is InvalidArgument. */
  roles?: ("user" | "assistant" | "system" | "tool")[];
  /** "text", "data", "tool_call", "tool_result", "file", "record", "artifact". Another value is InvalidArgument. */
  kinds?: ("artifact" | "text" | "data" | "tool_call" | "tool_result" | "file")[];
  /** Names of the speakers. */
  authors?: string[];
  /** Said at `saidFrom` or later, and before `saidTo`. */
  saidFrom?: Date | string;
  saidTo?: Date | string;
  /** Range of `seq`, both ends included. 0 means no bound. Artifacts have no `seq`: `seqFrom` leaves them out. */
  seqFrom?: number;
  seqTo?: number;
  /** Messages and artifacts of these tasks. */
  taskIds?: string[];
  /**
   * Passages about one of these nodes of the entity graph, up to 100. A message or artifact is about a node if one of
   * its parts names a record of the node, or if contexts.syncHistory read the message from the node. All passages of a context
   * whose `entityNodeId` is one of the nodes match too. The service does not check that the graph has these nodes.
   */
  entityNodeIds?: string[];
}

export function recallFilter(
  value: RecallFilter,
  path: string,
): MessageInitShape<typeof contextsPb.RecallFilterSchema> {
  return {
    roles: value.roles,
    kinds: value.kinds,
    authors: value.authors,
    saidFrom: toTimestamp(value.saidFrom, `${path}.said_from`),
    saidTo: toTimestamp(value.saidTo, `${path}.said_to`),
    seqFrom: whole(`${path}.seq_from`, value.seqFrom),
    seqTo: whole(`${path}.seq_to`, value.seqTo),
    taskIds: value.taskIds,
    entityNodeIds: value.entityNodeIds,
  };
}

/** How much to recall, and from which passages. */
export interface RecallOptions {
  /** Maximum number of tokens of `promptText`, up to 100,000. 0 means 2,000. */
  tokensMax?: number;
  /** Maximum number of items, up to 200. 0 means 20. */
  itemsMax?: number;
  /**
   * Name of the ranking: "default" or "conversation". Empty means the ranking of the context. If it has none, the service
   * chooses: "conversation" where only people speak, else "default".
   */
  profile?: string;
  /** Recall only up to this `seq`. 0 means all. For callers that already hold the newest messages. */
  notAfterSeq?: number;
  /** Which passages may be recalled. */
  filter?: RecallFilter;
  /** Return for each item the parts of its ranking. */
  withFeatures?: boolean;
  /**
   * Recall only items with this score or a higher one, 0 to 1. 0 recalls items of any score. Unset means the default:
   * nothing if the best item has less than 0.12, only the best item if it has less than 0.17, otherwise items with 0.005
   * or more. So "Thanks, that's all" and a question about something that was never mentioned recall nothing.
   */
  scoreMin?: number;
}

export function recallOptions(
  value: RecallOptions,
  path: string,
): MessageInitShape<typeof contextsPb.RecallOptionsSchema> {
  return {
    tokensMax: value.tokensMax,
    itemsMax: value.itemsMax,
    profile: value.profile,
    notAfterSeq: whole(`${path}.not_after_seq`, value.notAfterSeq),
    filter: value.filter === undefined ? undefined : recallFilter(value.filter, `${path}.filter`),
    withFeatures: value.withFeatures,
    scoreMin: value.scoreMin,
  };
}

/** A node on which to test rules. Expressions see it as `entity` and `edge`. */
export interface SampleNode {
  /** Any text. Empty means its position in the request, such as "nodes[0]". */
  id?: string;
  externalId?: string;
  name?: string;
  type?: string;
  /** Empty means the type. */
  generalType?: string;
  /** Empty means "Created". */
  status?: string;
  /** A JSON object. Empty means {}. */
  data?: object;
  /** Any JSON. Empty means that it was never set. */
  input?: unknown;
  output?: unknown;
  /** Absent means the start of 1970. */
  createdAt?: Date | string;
  /** Absent means `createdAt`. */
  modifiedAt?: Date | string;
  edgeType?: string;
  depth?: number;
  /** A JSON object. Empty means {}. */
  edgeData?: object;
  /** JSON arrays: the values of `edges` and `path`. Empty means []. */
  edges?: unknown;
  path?: unknown;
}

export function sampleNode(value: SampleNode, path: string): MessageInitShape<typeof chatHistoryPb.SampleNodeSchema> {
  return {
    id: value.id,
    externalId: value.externalId,
    name: value.name,
    type: value.type,
    generalType: value.generalType,
    status: value.status,
    dataJson: toObject(value.data, `${path}.data_json`),
    inputJson: value.input === undefined ? undefined : toJson(value.input, `${path}.input_json`),
    outputJson: value.output === undefined ? undefined : toJson(value.output, `${path}.output_json`),
    createdAt: toTimestamp(value.createdAt, `${path}.created_at`),
    modifiedAt: toTimestamp(value.modifiedAt, `${path}.modified_at`),
    edgeType: value.edgeType,
    depth: value.depth,
    edgeDataJson: toObject(value.edgeData, `${path}.edge_data_json`),
    edgesJson: value.edges === undefined ? undefined : toJson(value.edges, `${path}.edges_json`),
    pathJson: value.path === undefined ? undefined : toJson(value.path, `${path}.path_json`),
  };
}

/** An entry of the state that a caller sets. */
export interface StateEntryInput {
  /** "goal", "sub_goal", "constraint", "value", "decision", "next", "question", "error", "artifact" or "progress". */
  section: "goal" | "sub_goal" | "constraint" | "value" | "decision" | "question" | "error" | "artifact" | "progress";
  /**
   * Name of the entry, such as the name of a value. A later entry with the same key replaces it. Required, except for
   * "goal" and "progress", of which there is only one. Spellings of the name of a value are equal: "staging port",
   * "stagingPort", "STAGING_PORT".
   */
  key?: string;
  /** One line. May be empty for a value. */
  text?: string;
  /**
   * For a value: the value itself. For a sub-goal: "open", "done" or "dropped" (empty means "open"). For progress: per
   * cent, 0 to 100 (empty means the number in the text).
   */
  value?: string;
}

/** Names an entry of the state. */
export interface StateEntryName {
  /**
   * A section of `StateEntryInput`, or "contested". To remove a contested entry, you can also name the value or the rule
   * as it was stated.
   */
  section: "goal" | "sub_goal" | "constraint" | "value" | "decision" | "question" | "error" | "artifact" | "progress";
  key?: string;
  /** For an entry without a key that rules read from the log, and for a contested entry: its text. */
  text?: string;
}

/** An edge to write. */
export interface EdgeInput {
  /** A UUID. Empty: the server makes one (UUID version 7). */
  id?: string;
  /** The graph of both ends. Empty: the graph that the key is bound to if it is only one, else "default". */
  graphName?: string;
  /** The node that the edge starts at. */
  fromNodeId: string;
  /** The node that the edge points to. */
  toNodeId: string;
  /** "Contains", "Calls", "InResponseTo", or any other name. Required. */
  edgeType: string;
  /** A JSON object. Empty: {}. */
  data?: object;
  /** When the edge was created, to the microsecond; for imports and replays. Empty: the server's time. */
  createdAt?: Date | string;
}

export function edgeInput(value: EdgeInput, path: string): MessageInitShape<typeof entityGraphPb.EdgeInputSchema> {
  return {
    id: value.id,
    graphName: value.graphName,
    fromNodeId: value.fromNodeId,
    toNodeId: value.toNodeId,
    edgeType: value.edgeType,
    dataJson: toObject(value.data, `${path}.data_json`),
    createdAt: toTimestamp(value.createdAt, `${path}.created_at`),
  };
}

/** A node to write. */
export interface NodeInput {
  /** A UUID. Empty: the server makes one (UUID version 7). */
  id?: string;
  /** The caller's own id, unique within tenant and graph. Up to 512 bytes. */
  externalId?: string;
  /** The graph to write to. Empty: the graph that the key is bound to if it is only one, else "default". */
  graphName?: string;
  /** The agent bundle that the node belongs to. Empty: none. */
  agentBundleId?: string;
  /** The general type, such as "Task". Required. */
  generalTypeName: string;
  /** The specific type. Empty: the general type name. */
  specificTypeName?: string;
  /** A name for people, which need not be unique. */
  name?: string;
  /** The status. Empty: "Created". */
  status?: string;
  /** A JSON object. Empty: {}. */
  data?: object;
  /**
   * When the node was created, to the microsecond; for imports and replays. It never changes later. Empty: the server's
   * time.
   */
  createdAt?: Date | string;
}

export function nodeInput(value: NodeInput, path: string): MessageInitShape<typeof entityGraphPb.NodeInputSchema> {
  return {
    id: value.id,
    externalId: value.externalId,
    graphName: value.graphName,
    agentBundleId: value.agentBundleId,
    generalTypeName: value.generalTypeName,
    specificTypeName: value.specificTypeName,
    name: value.name,
    status: value.status,
    dataJson: toObject(value.data, `${path}.data_json`),
    createdAt: toTimestamp(value.createdAt, `${path}.created_at`),
  };
}
