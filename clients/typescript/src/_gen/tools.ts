// Made from contextkeep/context/v1/tools.proto by `make proto`.

import type * as pb from "../gen/contextkeep/context/v1/tools_pb.js";
import { type JsonObject, parseObject } from "../json.js";

/** A tool that a model may call with tools.execute. */
export interface Tool {
  toolName: string;
  /** Area of the tool: "WM" (working memory), "History", "Context", "Memory" or "RAG" (searches). */
  contextType: string;
  /** Description for the model. */
  description: string;
  /** JSON schema of the arguments: an object. */
  inputSchema: JsonObject;
  /** The tool changes nothing. */
  readOnly: boolean;
  /** The tool removes something. The effect of `wm_archive` can be undone. */
  destructive: boolean;
  /** Calling the tool again with the same arguments changes nothing more. */
  idempotent: boolean;
  /** JSON schema of `resultJson`: an object. */
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

/** A record of an entity, named as in the Model Context Protocol. */
export interface Resource {
  /** "wm://{working_memory_id}". */
  uri: string;
  /** This and the fields below are those of the record. */
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
