"""Definitions through the generated stub on a sync channel, as a bundle calls it: a claim for each RPC."""

from __future__ import annotations

import uuid

import grpc
import pytest

from contextkeep import EntityClient
from contextkeep.context.v1 import definitions_pb2 as pb
from contextkeep.context.v1.knowledge_pb2_grpc import KnowledgeStub
from tests.conftest import KEY, METADATA, Addresses
from tests.errors import raised

STUB = KnowledgeStub


def rules(node_type: str = "Customer", heading: str = "State") -> pb.DefinitionRules:
    facet = pb.FacetRules(slug="state", heading=heading, kind=pb.FACET_KIND_OPERATIONAL, text="entity.status")
    return pb.DefinitionRules(node_type=node_type, title="entity.name", facets=[facet])


@pytest.fixture
def draft(grpc_stub) -> pb.Definition:
    request = pb.PutDefinitionRequest(name=f"d{uuid.uuid4().hex}", rules=rules())
    return grpc_stub.PutDefinition(request, metadata=METADATA).definition


@pytest.fixture
def approved(grpc_stub, draft) -> pb.Definition:
    request = pb.ApproveDefinitionRequest(name=draft.name, version=1)
    return grpc_stub.ApproveDefinition(request, metadata=METADATA).definition


def refusal(call, request) -> str:
    with pytest.raises(grpc.RpcError) as refused:
        call(request, metadata=METADATA)
    return raised(refused.value).reason


def test_PutDefinition_writes_a_draft_once(grpc_stub, draft):
    again = pb.PutDefinitionRequest(name=draft.name, rules=rules())
    assert grpc_stub.PutDefinition(again, metadata=METADATA).definition == draft
    other = pb.PutDefinitionRequest(name=draft.name, rules=rules(heading="Status"))
    assert grpc_stub.PutDefinition(other, metadata=METADATA).definition.version == 2


def test_ApproveDefinition_says_who_did_it(grpc_stub, approved):
    assert (approved.state, approved.version) == (pb.DEFINITION_STATE_APPROVED, 1)
    assert approved.approved_by and approved.HasField("approved_at")


def test_RetireDefinition_ends_it(grpc_stub, approved):
    request = pb.RetireDefinitionRequest(name=approved.name)
    assert grpc_stub.RetireDefinition(request, metadata=METADATA).definition.state == pb.DEFINITION_STATE_RETIRED
    assert refusal(grpc_stub.RetireDefinition, request) == "DEFINITION_NOT_FOUND"


def test_GetDefinition_answers_the_rules_as_they_were_put(grpc_stub, draft):
    found = grpc_stub.GetDefinition(pb.GetDefinitionRequest(name=draft.name), metadata=METADATA).definition
    assert (found.rules.title, found.rules.graph_name, list(found.rules.facets)) == (
        "entity.name",
        "default",
        list(rules().facets),
    )
    assert refusal(grpc_stub.GetDefinition, pb.GetDefinitionRequest(name="none")) == "DEFINITION_NOT_FOUND"


def test_ListDefinitions_answers_them_in_pages(grpc_stub, draft):
    listing, found = pb.ListDefinitionsRequest(page_size=1, states=[pb.DEFINITION_STATE_DRAFT]), []
    while True:
        page = grpc_stub.ListDefinitions(listing, metadata=METADATA)
        found += list(page.definitions)
        if not page.next_page_token:
            break
        listing.page_token = page.next_page_token
    assert draft in found


def test_TestDefinition_answers_the_page_of_a_node(grpc_stub, stack: Addresses):
    with EntityClient(stack.entity, api_key=KEY) as graph:
        node = graph.create_node("Customer", name="Orrery", status="Renewing")
    request = pb.TestDefinitionRequest(rules=rules(), node_id=node.id)
    tried = grpc_stub.TestDefinition(request, metadata=METADATA)
    assert (tried.page.title, tried.page.page_id, [one.text for one in tried.page.facets]) == (
        "Orrery",
        "",
        ["Renewing"],
    )
    request = pb.TestDefinitionRequest(rules=rules("Ticket"), node_id=node.id)
    assert not grpc_stub.TestDefinition(request, metadata=METADATA).HasField("page")


@pytest.fixture
def page(grpc_stub, stack: Addresses, draft) -> pb.CompiledPage:
    """Return a page of a type of its own, so that no other test has nodes of it."""
    node_type = f"T{uuid.uuid4().hex}"
    put = grpc_stub.PutDefinition(pb.PutDefinitionRequest(name=draft.name, rules=rules(node_type)), metadata=METADATA)
    approval = pb.ApproveDefinitionRequest(name=draft.name, version=put.definition.version)
    grpc_stub.ApproveDefinition(approval, metadata=METADATA)
    with EntityClient(stack.entity, api_key=KEY) as graph:
        node = graph.create_node(node_type, name="Orrery", status="Renewing")
    told = list(grpc_stub.CompilePages(pb.CompilePagesRequest(definition_name=draft.name), metadata=METADATA))
    assert told[-1].is_done and told[-1].pages_written == 1
    listing = pb.ListCompiledPagesRequest(node_id=node.id)
    return grpc_stub.ListCompiledPages(listing, metadata=METADATA).pages[0]


def test_CompilePages_tells_how_far_it_is(grpc_stub, page):
    told = list(grpc_stub.CompilePages(pb.CompilePagesRequest(node_ids=[page.node_id]), metadata=METADATA))
    assert [one.is_done for one in told] == [False, True]
    assert (told[-1].nodes_read, told[-1].pages_unchanged, told[-1].pages_written) == (1, 1, 0)
    refused = pb.CompilePagesRequest(definition_name="none")
    with pytest.raises(grpc.RpcError) as error:
        list(grpc_stub.CompilePages(refused, metadata=METADATA))
    assert raised(error.value).reason == "DEFINITION_NOT_FOUND"


def test_GetCompiledPage_answers_its_facets_with_their_sources(grpc_stub, page):
    found = grpc_stub.GetCompiledPage(pb.GetCompiledPageRequest(page_id=page.page_id), metadata=METADATA).page
    (facet,) = found.facets
    assert (facet.text, facet.trust, facet.sources[0].node_id) == ("Renewing", 5, page.node_id)
    unknown = pb.GetCompiledPageRequest(page_id=str(uuid.uuid4()))
    assert refusal(grpc_stub.GetCompiledPage, unknown) == "COMPILED_PAGE_NOT_FOUND"


def test_ListCompiledPages_answers_them_in_pages(grpc_stub, page):
    listing, found = pb.ListCompiledPagesRequest(page_size=1), []
    while True:
        answer = grpc_stub.ListCompiledPages(listing, metadata=METADATA)
        found += list(answer.pages)
        if not answer.next_page_token:
            break
        listing.page_token = answer.next_page_token
    assert page.page_id in {one.page_id for one in found}
    assert not any(one.facets for one in found)


def test_PutFacet_puts_one_and_takes_it_away(grpc_stub, page):
    facet = pb.FacetInput(slug="note", heading="Note", kind=pb.FACET_KIND_EXTERNAL, text="Call", source_label="Ada")
    request = pb.PutFacetRequest(page_id=page.page_id, facet=facet)
    put = grpc_stub.PutFacet(request, metadata=METADATA).facet
    assert (put.text, put.trust, put.confidence, put.sources[0].label) == ("Call", 1, 1.0, "Ada")
    request = pb.PutFacetRequest(page_id=page.page_id, facet=pb.FacetInput(slug="note"))
    assert not grpc_stub.PutFacet(request, metadata=METADATA).HasField("facet")
