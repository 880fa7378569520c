/** Tools, as models are offered them. */

import { GeneratedTools } from "../_gen/nouns/tools.js";
import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/context/v1/tools_pb.js";
import { type JsonObject, parseObject, toObject } from "../json.js";
import { type NodeName, nameFields } from "../names.js";

const tools = pb.Tools.method;

/** An RPC is one method. */
export class Tools extends GeneratedTools {
  /**
   * Call a tool and return its result. Only a call with `readOnly` is tried again when the service does not answer.
   *
   * @param toolArguments What the tool's schema says.
   * @param options `entityNodeId` is what it works on if the arguments name no entity; `readOnly` refuses a tool that writes;
   * `subjectUserId` is for which user a key without one calls.
   * @throws ToolNotFound There is none of this name.
   * @throws PermissionDenied The key may not call it, or it writes and may not.
   */
  async execute(
    toolName: string,
    toolArguments: object = {},
    options: { entityNodeId?: NodeName; readOnly?: boolean; subjectUserId?: string } & CallOptions = {},
  ): Promise<JsonObject> {
    const { entityNodeId, readOnly = false, subjectUserId } = options;
    const entity = entityNodeId !== undefined && nameFields("entityNodeId", entityNodeId);
    const request = { toolName, argumentsJson: toObject(toolArguments, "arguments_json"), ...entity, readOnly, subjectUserId };
    return parseObject((await this.client.call(tools.executeTool, request, options, readOnly)).resultJson);
  }
}
