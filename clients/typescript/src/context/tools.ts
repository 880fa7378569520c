/** Tools, as models are offered them. */

import { type Resource, type Tool, resourceOf, toolOf } from "../_gen/tools.js";
import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/context/v1/tools_pb.js";
import { type JsonObject, parseObject, toObject } from "../json.js";
import { type NodeName, nameFields } from "../names.js";
import { Rows, pages } from "../rows.js";
import { MappingCalls } from "./mappings.js";

const tools = pb.Tools.method;

/** An RPC is one method. */
export abstract class ToolCalls extends MappingCalls {
  /** The tools that the caller's key may call: what a model can be offered. With `readOnly` without those that write. */
  async listTools(options: { readOnly?: boolean } & CallOptions = {}): Promise<Tool[]> {
    return (await this.call(tools.listTools, { readOnly: options.readOnly }, options)).tools.map(toolOf);
  }

  /** The records of an entity as resources, newest first. Their text is read by the tool `wm_read`. */
  listResources(entity: NodeName, options: { pageSize?: number } & CallOptions = {}): Rows<Resource> {
    const { pageSize } = options;
    return new Rows(() =>
      pages(async (pageToken) => {
        const request = { ...nameFields("entityNodeId", entity), pageSize, pageToken };
        const page = await this.call(tools.listResources, request, options);
        return [page.resources.map(resourceOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Call a tool and return its result. Only a call with `readOnly` is tried again when the service does not answer.
   *
   * @param toolArguments What the tool's schema says.
   * @param options `entityNodeId` is what it works on if the arguments name no entity; `readOnly` refuses a tool that writes;
   * `subjectUserId` is for which user a key without one calls.
   * @throws ToolNotFound There is none of this name.
   * @throws PermissionDenied The key may not call it, or it writes and may not.
   */
  async executeTool(
    toolName: string,
    toolArguments: object = {},
    options: { entityNodeId?: NodeName; readOnly?: boolean; subjectUserId?: string } & CallOptions = {},
  ): Promise<JsonObject> {
    const { entityNodeId, readOnly = false, subjectUserId } = options;
    const entity = entityNodeId !== undefined && nameFields("entityNodeId", entityNodeId);
    const request = { toolName, argumentsJson: toObject(toolArguments, "arguments_json"), ...entity, readOnly, subjectUserId };
    return parseObject((await this.call(tools.executeTool, request, options, readOnly)).resultJson);
  }
}
