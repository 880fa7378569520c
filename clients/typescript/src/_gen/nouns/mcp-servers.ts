// Made from the protos by `make proto`.

import * as mcpServersPb from "../../gen/contextkeep/context/v1/mcp_servers_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { type WriteOptions, requestId } from "../../writes.js";
import { type McpServer, type McpTool, mcpServerOf, mcpToolOf } from "../mcp-servers.js";

/** Options of `mcpServers.put`. */
export interface McpServerFields {
  /** A name for people; up to 200 characters. Empty: the id. */
  displayName?: string;
  /** Disable the server: none of its tools runs. */
  disabled?: boolean;
  /**
   * A secret that the service sends to the server as `Authorization: Bearer …`: up to 4,096 printable ASCII characters
   * without spaces. The service stores it encrypted (SECRETS_KEY), bound to tenant and server. Empty: keep the stored
   * secret. If the origin of the address changes and a secret is stored, give the secret again or clear it, so that
   * another server does not receive it.
   */
  bearerSecret?: string;
  /** Delete the secret: from now on, the service sends none to the server. */
  clearSecret?: boolean;
}

/** Options of `mcpServers.approveTool`. */
export interface McpApproval {
  /**
   * The arguments of the calls, as a JSON object of up to 16 KiB. A value "{question}" is replaced by the question, a
   * value "{limit}" by the number of hits wanted. At least one value must be "{question}". Empty: made from the tool's
   * schema, if it has a text `query`, `question`, `q` or `text` and requires no other argument.
   */
  argumentsJson?: string;
  /** Call the tool if a question selects no provider. */
  isDefault?: boolean;
  /**
   * Record that a search with the tool does no harm, for a tool that does not declare it. The tool itself must declare
   * that it is read-only.
   */
  recordSearchSafe?: boolean;
  /** Approve only the definition with this hash. Empty: the definition of the last discovery. */
  definitionSha256?: string;
}

/** The calls of `mcpServers` that are one method each. */
export class McpServers extends Noun<AppClient> {
  /**
   * Create an MCP server, or replace it. A tenant has up to 50.
   *
   * Throws AddressRefused (FailedPrecondition: the service may not connect to the address; it also checks the
   * addresses of a host name at each connection), SecretsKeyMissing (FailedPrecondition), LimitExceeded,
   * PermissionDenied, RequestIdReused.
   *
   * @param serverId The caller's own id: 1 to 40 lowercase letters, digits and hyphens; it begins with a letter.
   * @param url The address where the server speaks streamable HTTP: https://, or http:// if MCP_SERVERS_ALLOWED lists the address. Up to 1,000 characters, without user, query or fragment, because a key in an address would be readable. A change of the address suspends all approvals of the server's tools.
   */
  async put(serverId: string, url: string, options: McpServerFields & WriteOptions = {}): Promise<McpServer> {
    const request = {
      server: {
        serverId,
        displayName: options.displayName,
        url,
        disabled: options.disabled,
      },
      bearerSecret: options.bearerSecret,
      clearSecret: options.clearSecret,
      requestId: requestId(options),
    };
    const answer = await this.client.call(mcpServersPb.McpServers.method.putMcpServer, request, options);
    return mcpServerOf(answer.server!);
  }

  /** List the MCP servers by id. Throws InvalidPageToken. */
  list(options: { pageSize?: number } & CallOptions = {}): Rows<McpServer> {
    const request = {
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(mcpServersPb.McpServers.method.listMcpServers, { ...request, pageToken }, options);
        return [page.servers.map(mcpServerOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Delete an MCP server, its secret and its stored tools. Throws McpServerNotFound, PermissionDenied,
   * RequestIdReused.
   *
   * @param serverId The server to delete.
   */
  async delete(serverId: string, options: WriteOptions = {}): Promise<void> {
    const request = {
      serverId,
      requestId: requestId(options),
    };
    await this.client.call(mcpServersPb.McpServers.method.deleteMcpServer, request, options);
  }

  /**
   * Fetch the tools of a server, and store up to 200 definitions of up to 64 KiB. It approves none of them. An
   * approved tool whose definition changed or that is gone does not run until an administrator approves it again. If
   * the call fails, nothing changes.
   *
   * Throws McpServerNotFound, McpServerFailed (FailedPrecondition: the server redirects, demands
   * authentication, answers too much, speaks another protocol or misses the deadline), AddressRefused,
   * SecretUnreadable (FailedPrecondition), LimitExceeded, PermissionDenied.
   *
   * @param serverId The server whose tools to fetch.
   */
  async discoverTools(serverId: string, options: CallOptions = {}): Promise<McpTool[]> {
    const request = {
      serverId,
    };
    const answer = await this.client.call(mcpServersPb.McpServers.method.discoverMcpTools, request, options);
    return answer.tools.map(mcpToolOf);
  }

  /**
   * List the tools as the last discovery found them. Throws InvalidPageToken.
   *
   * @param options.serverId Only tools of this server. Empty: of all servers.
   */
  listTools(options: { serverId?: string; pageSize?: number } & CallOptions = {}): Rows<McpTool> {
    const request = {
      serverId: options.serverId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(mcpServersPb.McpServers.method.listMcpTools, { ...request, pageToken }, options);
        return [page.tools.map(mcpToolOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Allow context query to call a tool, in the definition of the last discovery. A tenant has up to 100 approved
   * tools.
   *
   * Throws McpToolNotFound, McpToolNotDeclared (FailedPrecondition: the tool does not declare that it is
   * read-only, or neither the tool nor an administrator declares that it is search-safe), McpToolChanged
   * (FailedPrecondition: the definition differs from the one of `definition_sha256`), LimitExceeded,
   * PermissionDenied, RequestIdReused.
   *
   * @param serverId The server of the tool.
   * @param toolName The tool to approve.
   */
  async approveTool(serverId: string, toolName: string, options: McpApproval & WriteOptions = {}): Promise<McpTool> {
    const request = {
      serverId,
      toolName,
      argumentsJson: options.argumentsJson,
      isDefault: options.isDefault,
      recordSearchSafe: options.recordSearchSafe,
      definitionSha256: options.definitionSha256,
      requestId: requestId(options),
    };
    const answer = await this.client.call(mcpServersPb.McpServers.method.approveMcpTool, request, options);
    return mcpToolOf(answer.tool!);
  }

  /**
   * Remove the approval of a tool, and all options of the approval. The tool is a default again only if a new approval
   * says so.
   *
   * Throws McpToolNotFound, PermissionDenied, RequestIdReused.
   *
   * @param serverId The server of the tool.
   * @param toolName The tool whose approval to remove.
   */
  async unapproveTool(serverId: string, toolName: string, options: WriteOptions = {}): Promise<McpTool> {
    const request = {
      serverId,
      toolName,
      requestId: requestId(options),
    };
    const answer = await this.client.call(mcpServersPb.McpServers.method.unapproveMcpTool, request, options);
    return mcpToolOf(answer.tool!);
  }
}
