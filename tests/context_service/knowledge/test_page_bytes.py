"""Lists end a page before the answer is larger than a message of gRPC: 4 MiB by default."""

from __future__ import annotations

import importlib
import pkgutil

import contextkeep.context.v1
import contextkeep.entity.v1
from contextkeep.context.v1 import agents_pb2 as agents_pb
from contextkeep.context.v1.agents_pb2_grpc import AgentsStub
from service_runtime.inputs.pages import PAGE_BYTES_MAX
from tests.context_service.contexts.callers import Opened, an_id

# The rows go through `pages.cut`.
_CUT_BY_THE_HELPER = {
    *("GetContextsByExternalId", "GetLineage", "ListAdministrativeCalls", "ListAgents", "ListAgentTemplates"),
    *("ListCheckpoints", "ListCompiledPages", "ListContexts", "ListDefinitions", "ListDocuments", "ListHolds"),
    *("ListJobs", "ListKeys", "ListKnowledgeBases", "ListMcpServers", "ListMcpTools", "ListPages"),
    *("ListPageVersions", "ListProfiles", "ListSourceTests", "ListSpecialists", "ListTenants", "ListWindows"),
    *("ListMemoryRevisions", "ListWMRecordActions"),
}
# The statement, or the loop that makes the rows, ends at `PAGE_BYTES_MAX`, and has a test of its own.
_CUT_WHERE_ROWS_ARE_MADE = {
    *("AssembleContext", "FetchEntityHistory", "FetchWMManifest", "FetchWMRecordsByEntity", "GetState", "ListBlobs"),
    *("ListEdges", "ListEmbeddings", "ListMappings", "ListMemories", "ListMessages", "ListProgress", "ListTasks"),
    *("SearchNodes", "TestMapping", "Traverse"),
}
# A thousand of the largest rows have less than 2 MiB, or, of resources, are a page of records with less of each.
_SMALL = {"ListEdgeTypes", "ListGraphs", "ListResources"}


def test_each_list_ends_a_page_by_its_bytes():
    """Whoever adds a list says here how its pages end."""
    lists = set()
    for package in (contextkeep.context.v1, contextkeep.entity.v1):
        for module in pkgutil.iter_modules(package.__path__):
            if module.name.endswith("_pb2"):
                described = importlib.import_module(f"{package.__name__}.{module.name}").DESCRIPTOR
                for service in described.services_by_name.values():
                    lists |= {
                        one.name for one in service.methods if "next_page_token" in one.output_type.fields_by_name
                    }

    assert lists == _CUT_BY_THE_HELPER | _CUT_WHERE_ROWS_ARE_MADE | _SMALL


async def test_agents_with_all_the_callers_that_they_may_have_come_in_pages(stack: Opened):
    """Five of them have 7 MB: a client could not read the answer."""
    stub = AgentsStub(stack.caller.channel)
    metadata = (("authorization", "Bearer admin"),)
    callers = [f"{number:0512}" for number in range(1000)]
    prefix = an_id()
    put = [f"{prefix}-{number}" for number in range(5)]
    for agent_id in put:
        agent = {"agent_id": agent_id, "callers": dict.fromkeys(("agent_ids", "subjects", "user_ids"), callers)}
        await stub.PutAgent(agents_pb.PutAgentRequest(agent=agent), metadata=metadata, timeout=60)

    listed, token, sizes = [], "", []
    while True:
        request = agents_pb.ListAgentsRequest(page_token=token)
        page = await stub.ListAgents(request, metadata=metadata, timeout=60)
        listed += [agent.agent_id for agent in page.agents]
        sizes.append(page.ByteSize())
        token = page.next_page_token
        if not token:
            break

    assert [agent_id for agent_id in listed if agent_id in put] == put
    assert len(set(listed)) == len(listed)
    assert max(sizes) <= PAGE_BYTES_MAX
