/** What a model may call by itself: tools and resources of the Model Context Protocol, over gRPC. */

import type * as pb from "./gen/contextkeep/context/v1/tools_pb.js";
import { type JsonObject, parseObject } from "./json.js";
import { fieldsOf } from "./messages.js";

/** A tool that a model can be offered. */
export interface Tool {
  toolName: string;
  /** What it works on: "WM" (working memory), "History", "Context" or "RAG" (searches). */
  contextType: string;
  /** For the model. */
  description: string;
  /** The JSON schema of its arguments. */
  inputSchema: JsonObject;
  /** The JSON schema of its result. */
  outputSchema: JsonObject;
  /** It changes nothing. */
  readOnly: boolean;
  /** It takes something away. */
  destructive: boolean;
  /** Once more with the same arguments changes nothing more. */
  idempotent: boolean;
}

/** A record of an entity, as the Model Context Protocol names it. */
export interface Resource {
  /** "wm://{workingMemoryId}". */
  uri: string;
  name: string;
  description: string;
  contentType: string;
  sizeBytes: number;
}

export function toolOf(message: pb.Tool): Tool {
  const { inputSchemaJson, outputSchemaJson, ...fields } = fieldsOf(message);
  return { ...fields, inputSchema: parseObject(inputSchemaJson), outputSchema: parseObject(outputSchemaJson) };
}

export function resourceOf(message: pb.Resource): Resource {
  const { sizeBytes, ...fields } = fieldsOf(message);
  return { ...fields, sizeBytes: Number(sizeBytes) };
}
