/** MCP servers of others, and which of their tools context query may ask. */

import { type McpServer, type McpTool, mcpServerOf, mcpToolOf } from "../_gen/mcp-servers.js";
import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/context/v1/knowledge_pb.js";
import { Rows, pages } from "../rows.js";
import { type WriteOptions, requestId } from "../writes.js";
import { KnowledgeBaseCalls } from "./knowledge-bases.js";

const method = pb.Knowledge.method;

/** What is said of a server besides where it is. */
export interface McpServerFields {
  /** Up to 200 characters; else the id. */
  displayName?: string;
  /** Then none of its tools runs. */
  disabled?: boolean;
  /** What it is shown from now on; else what it was, but not if the origin of its URL changes. */
  bearerSecret?: string;
  /** Show it none from now on. */
  clearSecret?: boolean;
}

/** What is said of a tool that is approved. */
export interface McpApproval {
  /** With what it is called: a value "{question}" becomes the question, "{limit}" the number of hits; else made of its schema. */
  argumentsJson?: string;
  /** Asked where a question selects nobody. */
  isDefault?: boolean;
  /** Record that searching with it does no harm, where it does not say so. */
  recordSearchSafe?: boolean;
  /** Approve this definition and no other; else the last that was discovered. */
  definitionSha256?: string;
}

/** An RPC is one method. All of them need the scope admin; a bound key cannot write. */
export abstract class McpServerCalls extends KnowledgeBaseCalls {
  /**
   * Write a server as it is said, whether there was one or not, and return it.
   *
   * @param serverId Your own id: 1 to 40 small letters, digits and hyphens.
   * @param url Where it speaks streamable HTTP, without a user, a query or a fragment.
   * @throws AddressRefused It is an address that nothing is sent to.
   * @throws SecretsKeyMissing The service can store no secret.
   */
  async putMcpServer(serverId: string, url: string, options: McpServerFields & WriteOptions = {}): Promise<McpServer> {
    const { displayName, disabled, bearerSecret, clearSecret } = options;
    const request = { server: { serverId, url, displayName, disabled }, bearerSecret, clearSecret, requestId: requestId(options) };
    return mcpServerOf((await this.call(method.putMcpServer, request, options)).server!);
  }

  /** The servers, by id. */
  listMcpServers(options: { pageSize?: number } & CallOptions = {}): Rows<McpServer> {
    const { pageSize } = options;
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(method.listMcpServers, { pageSize, pageToken }, options);
        return [page.servers.map(mcpServerOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Remove a server, its secret, and what is known of its tools.
   *
   * @throws McpServerNotFound There is none.
   */
  async deleteMcpServer(serverId: string, options: WriteOptions = {}): Promise<void> {
    await this.call(method.deleteMcpServer, { serverId, requestId: requestId(options) }, options);
  }

  /**
   * Have a server asked for its tools, and return all that are known of it. None is approved by that.
   *
   * @throws McpServerNotFound There is none.
   * @throws McpServerFailed It cannot be asked; nothing changed.
   */
  async discoverMcpTools(serverId: string, options: CallOptions = {}): Promise<McpTool[]> {
    return (await this.call(method.discoverMcpTools, { serverId }, options)).tools.map(mcpToolOf);
  }

  /** Tools by server and name, as they were discovered. */
  listMcpTools(options: { serverId?: string; pageSize?: number } & CallOptions = {}): Rows<McpTool> {
    const { serverId, pageSize } = options;
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(method.listMcpTools, { serverId, pageSize, pageToken }, options);
        return [page.tools.map(mcpToolOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Let context query ask a tool, as it was discovered last, and return it.
   *
   * @throws McpToolNotFound There is none, or it is gone.
   * @throws McpToolNotDeclared It does not say that it is read-only, or nobody that it is search-safe.
   * @throws McpToolChanged It is another definition than was read.
   */
  async approveMcpTool(serverId: string, toolName: string, options: McpApproval & WriteOptions = {}): Promise<McpTool> {
    const { argumentsJson, isDefault, recordSearchSafe, definitionSha256 } = options;
    const approval = { serverId, toolName, argumentsJson, isDefault, recordSearchSafe, definitionSha256 };
    const request = { ...approval, requestId: requestId(options) };
    return mcpToolOf((await this.call(method.approveMcpTool, request, options)).tool!);
  }

  /**
   * Take the approval of a tool away, and all that was said with it.
   *
   * @throws McpToolNotFound There is none.
   */
  async unapproveMcpTool(serverId: string, toolName: string, options: WriteOptions = {}): Promise<McpTool> {
    return mcpToolOf((await this.call(method.unapproveMcpTool, { serverId, toolName, requestId: requestId(options) }, options)).tool!);
  }
}
