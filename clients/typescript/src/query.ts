/** What a question to every source is answered. */

import * as pb from "./gen/contextkeep/context/v1/context_query_pb.js";
import type { SourceTest } from "./gen/contextkeep/context/v1/source_tests_pb.js";
import { enumText } from "./messages.js";

/** What a tenant says of a provider; undefined: nothing, and it is as the provider has it. */
export interface ProviderSetting {
  providerId: string;
  enabled: boolean | undefined;
  isDefault: boolean | undefined;
  deadlineMs: number | undefined;
  /** Of the workspace; empty: all records. */
  nodeIds: string[] | undefined;
  /** Of memories: "recall" or "reflect" where a question does not say it. */
  memoryMode: string | undefined;
}

export function settingOf({ providerId, enabled, isDefault, deadlineMs, workspace, memory }: pb.ProviderSetting): ProviderSetting {
  const memoryMode = memory && enumText(pb.MemoryQueryMode, memory.queryMode);
  return { providerId, enabled, isDefault, deadlineMs, nodeIds: workspace?.nodeIds, memoryMode };
}

/** Return the scope of a ref; empty if the ref is not found. */
export function expandedScopeOf({ isFound, scope }: pb.ExpandedRef): string {
  return isFound ? enumText(pb.QueryScope, scope) : "";
}

/** Return the question that a test asked. */
export function testQueryOf({ question }: SourceTest): string {
  return question?.query ?? "";
}
