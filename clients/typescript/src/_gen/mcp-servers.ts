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
  /** Whether a bearer secret is kept. Nothing gives it out. */
  hasSecret: boolean;
  /** Counts how often it was put, from 1. */
  version: number;
  createdAt: string;
  updatedAt: string;
  /** Who put it last. */
  updatedBy: string;
  /** When its tools were discovered last. Empty: never. */
  discoveredAt: string;
  /** Unset: no import wrote it, or it was put since. */
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

/** A tool of a server, as it was discovered last. Title, description and schema are the server's own words: not to be trusted. */
export interface McpTool {
  serverId: string;
  toolName: string;
  /** Of context query, family `mcp`. */
  providerId: string;
  title: string;
  description: string;
  inputSchemaJson: string;
  /** Whether it says by the standard hint that it changes nothing. */
  declaresReadOnly: boolean;
  /**
   * Whether it says in its `_meta` that searching with it does no harm: {"contextkeep/searchSafe": true}, or
   * {"contextEngine": {"searchSafe": true}}.
   */
  declaresSearchSafe: boolean;
  /** The administrator who recorded that it is search-safe, where it does not say so. */
  searchSafeRecordedBy: string;
  state: "found" | "approved" | "changed" | "gone" | "unknown";
  /** Why it does not run. Empty: it does, when it is asked. */
  reason: string;
  /** Whether it is asked where a question selects no provider. */
  isDefault: boolean;
  /** With which arguments it is called. */
  argumentsJson: string;
  /** What was discovered: name, texts, schemas and declarations. Another definition has another hash. */
  definitionSha256: string;
  approvedBy: string;
  /** Empty: it is not approved. */
  approvedAt: string;
  discoveredAt: string;
  /** Unset: no import wrote it. */
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
