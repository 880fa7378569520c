"""Every RPC that the services promise is there and answers."""

from __future__ import annotations

import uuid

import grpc
import pytest

from tests.hostile.calling import Client
from tests.hostile.things import RPCS
from tests.rpcs import Rpc, all_rpcs

# What was promised, by the names that callers have in their code: written down once more, so that none gets lost.
PROMISED = {
    "contextkeep.entity.v1.EntityGraph": """
        CreateNode CreateEdge WriteGraph
        GetNode BatchGetNodes GetNodeByExternalId GetNodeByName
        GetEdge BatchGetEdges UpdateEdgeData DeleteEdge
        UpdateNodeData UpdateNodeStatus ArchiveNode DeleteNode EraseOwned GetOwned
        ListEdges Traverse SearchNodes CountNodes ListEdgeTypes ListGraphs
        SetNodeIO GetNodeIO AppendProgress ListProgress ClearProgress ResetNode
        UpsertEmbedding DeleteEmbedding ListEmbeddings SearchSimilar
        ImportGraph ExportGraph StartChanges ListChanges
    """,
    "contextkeep.context.v1.WorkingMemory": """
        InsertWMRecord FetchWMRecord UpdateWMRecord FetchWMRecordsByEntity DeleteWMRecord RestoreWMRecord
        FetchWMManifest SearchWMRecords QueryWMRecords ListWMRecordActions
        UploadBlob StartUpload AppendUpload GetUpload FinishUpload
        GetBlob GetContent DeleteBlob ListBlobs CreateDownloadUrl
    """,
    "contextkeep.context.v1.ChatHistory": """
        GetChatHistory StreamChatHistory AssembleContext
        RegisterMapping GetMapping ListMappings DeleteMapping TestMapping
        FetchEntityHistory
    """,
    "contextkeep.context.v1.Contexts": """
        SendMessage AppendMessages GetContext GetContextsByExternalId ListContexts UpdateContext CloseContext
        ListMessages GetMessage RetractMessages IssueContextKey Recall SearchContext
        DeleteContext GetErasure WaitForIndex
        CreateTask UpdateTask GetTask ListTasks CancelTask PutArtifact GetArtifact WatchContext
        SyncHistory
    """,
    "contextkeep.context.v1.ContextWindows": """
        OpenWindow GetWindow ListWindows CloseWindow Pack Fold Expand SearchWindow ExplainPack GetLineage GetState
        UpdateWindow Pin Unpin RecordUsage PatchState EstimateCost WindowStats PutProfile ListProfiles
        SetLearning
        WatchWindow PrepareFold CommitFold CreateCheckpoint ListCheckpoints Rollback
        ReportResponse ForkWindow MergeWindow RecordOutcome
    """,
    "contextkeep.context.v1.Knowledge": """
        RetainMemory RecallMemories ReflectMemories ListMemories UpdateMemory ForgetMemory ConsolidateMemories
        PutPage GetPage ListPages ListPageVersions DeletePage
        PutAgent GetAgent ListAgents DeleteAgent
        PutAgentTemplate GetAgentTemplate ListAgentTemplates DeleteAgentTemplate
        PutKnowledgeBase GetKnowledgeBase ListKnowledgeBases DeleteKnowledgeBase
        AddDocument ListDocuments RemoveDocument
        PutMcpServer ListMcpServers DeleteMcpServer DiscoverMcpTools ListMcpTools ApproveMcpTool UnapproveMcpTool
        PutSpecialist ListSpecialists DeleteSpecialist
        PutDefinition ApproveDefinition RetireDefinition GetDefinition ListDefinitions TestDefinition
        CompilePages GetCompiledPage ListCompiledPages PutFacet
    """,
    "contextkeep.context.v1.ContextQuery": """
        QueryContext StreamQueryContext ListContextProviders GetQueryPolicy UpdateProviderSetting
        RunSourceTest ListSourceTests GetSourceTest CompareSourceTests DeleteSourceTest
    """,
    "contextkeep.context.v1.Administration": """
        GetCaller ListKeys CreateKey RevokeKey ListAdministrativeCalls GetUsage
        ListTenants SetTenantLimits ListBackgroundWork RetryBackgroundWork StartJob GetJob ListJobs
    """,
    "contextkeep.context.v1.Transfer": "ExportArchive ImportArchive GetImport",
    "contextkeep.context.v1.Erasures": "PlanErasure Erase GetSubjectErasure PutHold ReleaseHold ListHolds",
    "contextkeep.context.v1.Observing": "GetRecentCalls",
    "contextkeep.context.v1.Tools": "ListTools ListResources ExecuteTool",
}


@pytest.mark.parametrize("service", PROMISED)
def test_every_promised_rpc_is_in_the_proto_of_its_service(service: str):
    there = {rpc.name for rpc in all_rpcs() if rpc.service == service}
    assert set(PROMISED[service].split()) - there == set()


@pytest.mark.parametrize("rpc", RPCS.values(), ids=str)
def test_every_rpc_of_the_protos_answers(rpc: Rpc, client: Client):
    """To an empty request, with an answer or with what is wrong about it; a method that is missing says neither."""
    request = rpc.request()
    outcome = client.call(rpc, [request] if rpc.client_streaming else request, key=uuid.uuid4())
    assert outcome.code not in (
        grpc.StatusCode.UNIMPLEMENTED,
        grpc.StatusCode.UNKNOWN,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
    )
