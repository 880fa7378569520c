// Made from contextkeep/context/v1/mcp_servers.proto by `make proto`.

import * as pb from "../gen/contextkeep/context/v1/mcp_servers_pb.js";
import { enumText } from "../messages.js";
import { timeText } from "../times.js";
import { type Imported, importedOf } from "./message.js";

/** An MCP server. */
export interface McpServer {
  serverId: string;
  displayName: string;
  url: string;
  /** None of its tools runs. */
  disabled: boolean;
  /** Whether the service stores a bearer secret for the server. No call returns the secret. */
  hasSecret: boolean;
  /** Counts the puts of the server, from 1. */
  version: number;
  createdAt: string;
  updatedAt: string;
  /** The subject of the credential that put it last. */
  updatedBy: string;
  /** When its tools were last discovered. Empty: never. */
  discoveredAt: string;
  /** Where an import took it from. Unset: no import wrote it, or it was put since. */
  imported?: Imported;
}

export function mcpServerOf(message: pb.McpServer): McpServer {
  const value: McpServer = {
    serverId: message.serverId,
    displayName: message.displayName,
    url: message.url,
    disabled: message.disabled,
    hasSecret: message.hasSecret,
    version: message.version,
    createdAt: timeText(message.createdAt),
    updatedAt: timeText(message.updatedAt),
    updatedBy: message.updatedBy,
    discoveredAt: timeText(message.discoveredAt),
  };
  if (message.imported !== undefined) value.imported = importedOf(message.imported);
  return value;
}

/**
 * A tool of a server, as the last discovery found it. Title, description and schema come from the server: do not trust
 * them.
 */
export interface McpTool {
  serverId: string;
  toolName: string;
  /** Its provider id in context query, of the family `mcp`. */
  providerId: string;
  title: string;
  description: string;
  inputSchemaJson: string;
  /** Whether the tool declares by MCP's read-only hint that it changes nothing. */
  declaresReadOnly: boolean;
  /**
   * Whether the tool declares in its `_meta` that a search with it does no harm: {"contextkeep/searchSafe": true}, or
   * {"contextEngine": {"searchSafe": true}}.
   */
  declaresSearchSafe: boolean;
  /** The administrator who recorded that the tool is search-safe, if the tool does not declare it. */
  searchSafeRecordedBy: string;
  state: "found" | "approved" | "changed" | "gone" | "unknown";
  /** Why the tool does not run. Empty: it runs when it is called. */
  reason: string;
  /** Context query calls it if a question selects no provider. */
  isDefault: boolean;
  /** The arguments of its calls, as mcpServers.approveTool has them. */
  argumentsJson: string;
  /** Hash of the definition: name, texts, schemas and declarations. It changes with the definition. */
  definitionSha256: string;
  approvedBy: string;
  /** Empty: the tool is not approved. */
  approvedAt: string;
  discoveredAt: string;
  /** Where an import took it from. Unset: no import wrote it. */
  imported?: Imported;
}

export function mcpToolOf(message: pb.McpTool): McpTool {
  const value: McpTool = {
    serverId: message.serverId,
    toolName: message.toolName,
    providerId: message.providerId,
    title: message.title,
    description: message.description,
    inputSchemaJson: message.inputSchemaJson,
    declaresReadOnly: message.declaresReadOnly,
    declaresSearchSafe: message.declaresSearchSafe,
    searchSafeRecordedBy: message.searchSafeRecordedBy,
    state: enumText(pb.McpToolState, message.state),
    reason: message.reason,
    isDefault: message.isDefault,
    argumentsJson: message.argumentsJson,
    definitionSha256: message.definitionSha256,
    approvedBy: message.approvedBy,
    approvedAt: timeText(message.approvedAt),
    discoveredAt: timeText(message.discoveredAt),
  };
  if (message.imported !== undefined) value.imported = importedOf(message.imported);
  return value;
}
