/** Archives: a tenant, a context, a user or a graph, taken out and put in elsewhere. */

import { create } from "@bufbuild/protobuf";

import * as pb from "./gen/contextkeep/context/v1/transfer_pb.js";

/** What an archive is of: one of these. */
export type ArchiveScope = { tenant: true } | { contextId: string } | { userId: string } | { graphName: string };

export function scopeInput(scope: ArchiveScope, _path: string): pb.ArchiveScope {
  if ("tenant" in scope) return create(pb.ArchiveScopeSchema, { of: { case: "tenant", value: scope.tenant } });
  if ("contextId" in scope) return create(pb.ArchiveScopeSchema, { of: { case: "contextId", value: scope.contextId } });
  if ("userId" in scope) return create(pb.ArchiveScopeSchema, { of: { case: "userId", value: scope.userId } });
  return create(pb.ArchiveScopeSchema, { of: { case: "graphName", value: scope.graphName } });
}
