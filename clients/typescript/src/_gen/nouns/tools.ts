// Made from the protos by `make proto`.

import * as toolsPb from "../../gen/contextkeep/context/v1/tools_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient, ContextOptions } from "../../context/app.js";
import { type JsonObject, parseObject, toObject } from "../../json.js";
import { type NodeName, nameFields } from "../../names.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { type Resource, type Tool, resourceOf, toolOf } from "../tools.js";

/** The calls of `tools` that are one method each. */
export class Tools extends Noun<AppClient> {
  /**
   * List the tools that the caller's key may call, by name.
   *
   * @param options.readOnly Leave out tools that write.
   */
  async list(options: { readOnly?: boolean } & CallOptions = {}): Promise<Tool[]> {
    const request = {
      readOnly: options.readOnly,
    };
    const answer = await this.client.call(toolsPb.Tools.method.listTools, request, options);
    return answer.tools.map(toolOf);
  }

  /**
   * List the working memory records of an entity as resources, newest first. The tool `wm_read` reads their text.
   *
   * Throws InvalidPageToken; of an `externalId` NodeNotFound and Unavailable.
   *
   * @param entityNodeId Required, unless `externalId` is set.
   * @param options.pageSize 0 means 100. More than 1,000 counts as 1,000.
   */
  listResources(entityNodeId: NodeName, options: { pageSize?: number } & CallOptions = {}): Rows<Resource> {
    const request = {
      ...nameFields("entityNodeId", entityNodeId),
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(toolsPb.Tools.method.listResources, { ...request, pageToken }, options);
        return [page.resources.map(resourceOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Call a tool. Every tool needs the scope `read`; a tool that writes also needs the scope `write`.
   *
   * Throws ToolNotFound, InvalidArgument (the arguments do not match the tool's schema; `violations` has the
   * fields), NodeNotFound (of an `externalId`), PermissionDenied (the key lacks the tool's scope, or tools that
   * write are switched off), AnswerTooLarge, and the reasons of the RPC that the tool calls.
   *
   * @param toolName Name of the tool, as in tools.list.
   * @param toolArguments A JSON object of up to 3 MiB. Empty means no arguments.
   * @param options.entityNodeId The current entity: the tool works on it if its arguments name no other.
   * @param options.readOnly Refuse the call if the tool writes.
   */
  async execute(
    toolName: string,
    toolArguments: object = {},
    options: { entityNodeId?: NodeName; readOnly?: boolean } & ContextOptions = {},
  ): Promise<JsonObject> {
    const request = {
      toolName,
      argumentsJson: toObject(toolArguments, "arguments_json"),
      ...(options.entityNodeId !== undefined && nameFields("entityNodeId", options.entityNodeId)),
      readOnly: options.readOnly,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.client.call(toolsPb.Tools.method.executeTool, request, options, options.readOnly === true);
    return parseObject(answer.resultJson);
  }
}
