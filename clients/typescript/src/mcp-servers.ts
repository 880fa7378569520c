/** MCP servers of others, and their tools that context query may ask. */

import * as pb from "./gen/contextkeep/context/v1/mcp_servers_pb.js";
import { enumText } from "./messages.js";
import { timeText } from "./times.js";

/** A server. */
export interface McpServer {
  serverId: string;
  displayName: string;
  url: string;
  /** None of its tools runs. */
  disabled: boolean;
  /** Nothing gives it out. */
  hasSecret: boolean;
  version: number;
  createdAt: string;
  updatedAt: string;
  updatedBy: string;
  /** When its tools were discovered last; empty: never. */
  discoveredAt: string;
}

/** A tool of a server, as it was discovered last. Title, description and schema are the server's own words. */
export interface McpTool {
  serverId: string;
  toolName: string;
  /** Of context query. */
  providerId: string;
  title: string;
  description: string;
  inputSchemaJson: string;
  declaresReadOnly: boolean;
  declaresSearchSafe: boolean;
  /** By which administrator, where it does not say so itself. */
  searchSafeRecordedBy: string;
  /** "found", "approved", "changed" or "gone". */
  state: string;
  /** Why it does not run; empty: it does. */
  reason: string;
  /** Asked where a question selects nobody. */
  isDefault: boolean;
  /** With which it is called. */
  argumentsJson: string;
  definitionSha256: string;
  approvedBy: string;
  /** Empty: it is not approved. */
  approvedAt: string;
  discoveredAt: string;
}

export function serverOf(message: pb.McpServer): McpServer {
  const { serverId, displayName, url, disabled, hasSecret, version, updatedBy } = message;
  return {
    ...{ serverId, displayName, url, disabled, hasSecret, version, updatedBy },
    createdAt: timeText(message.createdAt),
    updatedAt: timeText(message.updatedAt),
    discoveredAt: timeText(message.discoveredAt),
  };
}

export function toolOf(message: pb.McpTool): McpTool {
  const { serverId, toolName, providerId, title, description, inputSchemaJson, declaresReadOnly, declaresSearchSafe } = message;
  const { searchSafeRecordedBy, reason, isDefault, argumentsJson, definitionSha256, approvedBy } = message;
  return {
    ...{ serverId, toolName, providerId, title, description, inputSchemaJson, declaresReadOnly, declaresSearchSafe },
    ...{ searchSafeRecordedBy, reason, isDefault, argumentsJson, definitionSha256, approvedBy },
    state: enumText(pb.McpToolState, message.state),
    approvedAt: timeText(message.approvedAt),
    discoveredAt: timeText(message.discoveredAt),
  };
}
