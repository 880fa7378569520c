// Made from contextkeep/context/v1/tools.proto by `make proto`.

import type * as pb from "../gen/contextkeep/context/v1/tools_pb.js";
import { type JsonObject, parseObject } from "../json.js";

/** A tool that a model may call: see tools.execute. */
export interface Tool {
  toolName: string;
  /** What it works on: "WM" (working memory), "History", "Context" or "RAG" (searches). */
  contextType: string;
  /** For the model. */
  description: string;
  /** A JSON schema: an object. */
  inputSchema: JsonObject;
  /** It changes nothing. */
  readOnly: boolean;
  /** It takes something away. What `wm_archive` does can be undone. */
  destructive: boolean;
  /** Once more with the same arguments changes nothing more. */
  idempotent: boolean;
  /** A JSON schema of `resultJson`: an object. */
  outputSchema: JsonObject;
}

export function toolOf(message: pb.Tool): Tool {
  return {
    toolName: message.toolName,
    contextType: message.contextType,
    description: message.description,
    inputSchema: parseObject(message.inputSchemaJson),
    readOnly: message.readOnly,
    destructive: message.destructive,
    idempotent: message.idempotent,
    outputSchema: parseObject(message.outputSchemaJson),
  };
}

/** A record of an entity, as the Model Context Protocol names it. */
export interface Resource {
  /** "wm://{working_memory_id}". */
  uri: string;
  /** Of the record, as the rest. */
  name: string;
  description: string;
  contentType: string;
  sizeBytes: number;
}

export function resourceOf(message: pb.Resource): Resource {
  return {
    uri: message.uri,
    name: message.name,
    description: message.description,
    contentType: message.contentType,
    sizeBytes: Number(message.sizeBytes),
  };
}
