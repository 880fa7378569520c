"""Who may call what: the scope that a call needs is read off the proto, so that a new RPC cannot be forgotten.

An RPC that the proto marks `NO_SIDE_EFFECTS` needs `read`; what destroys more than it can bring back, says what holds
for all that a tenant asks, or lets every write of a tenant cost more, needs `admin`; any other needs `write`. What an
RPC does may depend on its request: then it needs `read`, and asks for more itself.
Context query needs `context:read`, which `read` includes: it may be all that an agent's runtime has.
Compiling pages needs `compile`, which no other one includes, and reads the graph with the same key.
What is about all tenants needs `operator`, which nobody has but keys that the command line made for it.
`GetCaller` needs no scope: it answers what the key itself is.
`delegate` is no RPC's: who has it may name the user for whom a call is (`Principal.acting_for`).

A key that is bound to a context may call the RPCs that know this bound, and no others.
"""

from __future__ import annotations

import functools

from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import MethodOptions

from contextkeep.errors import PermissionDenied
from service_runtime.auth import COMPILE, CONTEXT_READ, NO_SCOPE, OPERATOR, Principal

_ASKS = frozenset({"QueryContext", "StreamQueryContext", "ListContextProviders", "GetQueryPolicy"})
_ADMIN = frozenset(
    {
        *("DeleteNode", "StartChanges", "UpdateProviderSetting", "SetLearning"),
        *("PutAgent", "DeleteAgent", "PutAgentTemplate", "DeleteAgentTemplate"),
        *("PutKnowledgeBase", "DeleteKnowledgeBase", "ApproveDefinition", "RetireDefinition"),
        *("PutMcpServer", "ListMcpServers", "DeleteMcpServer", "DiscoverMcpTools", "ListMcpTools", "ApproveMcpTool"),
        *("UnapproveMcpTool", "PutSpecialist", "ListSpecialists", "DeleteSpecialist"),
        *("RunSourceTest", "ListSourceTests", "GetSourceTest", "CompareSourceTests", "DeleteSourceTest"),
        *("PlanErasure", "Erase", "GetSubjectErasure", "PutHold", "ReleaseHold", "ListHolds", "EraseOwned", "GetOwned"),
        *("ListKeys", "CreateKey", "RevokeKey", "ListAdministrativeCalls", "GetUsage"),
        *("ExportArchive", "ImportArchive", "GetImport"),
    }
)
_OPERATES = frozenset(
    {
        *("ListTenants", "SetTenantLimits", "ListBackgroundWork", "RetryBackgroundWork"),
        *("StartJob", "GetJob", "ListJobs"),
    }
)
_TAKES_OUT = frozenset({"ExportArchive"})  # changes nothing, and is as good to know of
_COMPILES = frozenset({"CompilePages"})
_OF_EVERYBODY = frozenset({"GetCaller"})
_BY_REQUEST = frozenset({"ExecuteTool"})  # see `calls.require`
# The methods whose every statement knows what a key that is bound to a context may see, and the tools that come down to
# them. All others refuse it.
OF_CONTEXTS = frozenset(
    f"/contextkeep.context.v1.Contexts/{name}"
    for name in (
        *("SendMessage", "AppendMessages", "GetContext", "GetContextsByExternalId", "ListContexts", "UpdateContext"),
        *("CloseContext", "ListMessages", "GetMessage", "RetractMessages", "Recall", "SearchContext"),
        *(
            "CreateTask",
            "UpdateTask",
            "GetTask",
            "ListTasks",
            "CancelTask",
            "PutArtifact",
            "GetArtifact",
            "WatchContext",
        ),
        "WaitForIndex",
    )
) | frozenset(
    (
        *(
            f"/contextkeep.context.v1.ContextWindows/{name}"
            for name in (
                "OpenWindow",
                "GetWindow",
                "ListWindows",
                "CloseWindow",
                "UpdateWindow",
                "Pin",
                "Unpin",
                "PatchState",
                "Pack",
                "Fold",
                "PrepareFold",
                "CommitFold",
                "CreateCheckpoint",
                "ListCheckpoints",
                "Rollback",
                "ReportResponse",
                "Expand",
                "SearchWindow",
                "ExplainPack",
                "GetLineage",
                "GetState",
                "RecordUsage",
                "RecordOutcome",
                "EstimateCost",
                "WindowStats",
                "WatchWindow",
                "ForkWindow",
                "MergeWindow",
            )
        ),
        *(f"/contextkeep.context.v1.ContextQuery/{name}" for name in _ASKS),  # of its contexts; it asks nobody else
        "/contextkeep.context.v1.Administration/GetCaller",
        "/contextkeep.context.v1.Tools/ListTools",
        "/contextkeep.context.v1.Tools/ExecuteTool",
    )
)


def scope_of(method: str) -> str:
    """Return the scope that a call needs.

    Args:
        method: "/contextkeep.entity.v1.EntityGraph/GetNode", of a proto that is loaded.

    Raises:
        KeyError: no proto has it.
    """
    name = method.rpartition("/")[2]
    reads = _reads(method)
    if name in _ADMIN:
        return "admin"
    if name in _OPERATES:
        return OPERATOR
    if name in _OF_EVERYBODY:
        return NO_SCOPE
    if name in _BY_REQUEST:
        return "read"
    if name in _ASKS:
        return CONTEXT_READ
    if name in _COMPILES:
        return COMPILE
    return "read" if reads else "write"


@functools.cache
def is_administrative(method: str) -> bool:
    """Say whether calls of a method, as of `scope_of`, need `admin` or `operator`, and change or take out something."""
    name = method.rpartition("/")[2]
    return name in _ADMIN | _OPERATES and (name in _TAKES_OUT or not _reads(method))


def _reads(method: str) -> bool:
    service, _, name = method.removeprefix("/").partition("/")
    rpc = descriptor_pool.Default().FindServiceByName(service).methods_by_name[name]
    reads: bool = rpc.GetOptions().idempotency_level == MethodOptions.NO_SIDE_EFFECTS
    return reads


def admit(principal: Principal, method: str, scope: str) -> None:
    """Refuse a call that a principal may not make, whatever it asks for.

    Args:
        principal: Whose call it is.
        method: As of `scope_of`.
        scope: What `scope_of` says of it.

    Raises:
        PermissionDenied: the principal lacks the scope, or is bound to what the RPC does not know.
    """
    if not principal.may(scope):
        raise PermissionDenied(f"the key lacks the scope {scope}", scope=scope)
    if principal.context_id and method not in OF_CONTEXTS:
        raise PermissionDenied("the key is bound to a context")
