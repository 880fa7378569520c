"""Writes a company into the sources that we have ourselves."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from bench.company.generated import (
    DOCUMENTS,
    FILES,
    GRAPH,
    MEMORY,
    SERVER,
    TALK,
    TOOL,
    WIKI,
    Company,
    by_document,
)
from contextkeep import ContextClient, EdgeInput, EntityClient, NodeInput, new_id

_TOGETHER = 100  # messages
_KINDS = ("Opportunity", "Commitment", "Note")  # of nodes below a customer
_PAGES = {
    "node_type": "Customer",
    "title": "entity.name",
    "facets": [
        {
            "slug": kind.lower(),
            "heading": f"{kind}s",
            "kind": "relationship",
            "walk": {"edge_types": ["Has"], "depth_max": 1, "entity_types": [kind]},
            "text": "entity.data.said",
        }
        for kind in _KINDS
    ],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """The ids under which the services have a company."""

    user_id: str
    context_ids: Sequence[str]


def filled(client: ContextClient, graph: EntityClient, company: Company, catalogue_url: str) -> Filled:
    """Write a company, and return when all of it is indexed."""
    user_id = str(new_id())
    for about, facts in by_document(company.facts, WIKI).items():
        sections = "\n\n".join(fact.text for fact in facts)
        client.pages.put(about, f"# {about}\n\n{sections}\n", subject_user_id=user_id)
    for one in company.facts:
        if one.source == MEMORY:
            client.memories.retain(one.text, happened_at=one.said_at, subject_user_id=user_id)
    for about, facts in by_document(company.facts, FILES).items():
        for number, one in enumerate(facts, 1):
            client.records.insert("text/markdown", f"{about} {number}.md", content_text=one.text)
    talk = [fact.text for fact in company.facts if fact.source == TALK]
    context_id = client.contexts.send("Notes of the sales team.", recall=False).context_id
    for start in range(0, len(talk), _TOGETHER):
        client.contexts.append(talk[start : start + _TOGETHER], context_id)
    while not client.contexts.wait_for_index(context_id).is_complete:
        continue
    _compiled(client, graph, company)
    _documents(client, company)
    client.mcp_servers.put(SERVER, catalogue_url)
    client.mcp_servers.discover_tools(SERVER)
    client.mcp_servers.approve_tool(SERVER, TOOL)
    return Filled(user_id=user_id, context_ids=[context_id])


def _compiled(client: ContextClient, graph: EntityClient, company: Company) -> None:
    """Write nodes of customers and the nodes below them, and compile pages of them."""
    for about, facts in by_document(company.facts, GRAPH).items():
        customer = NodeInput("Customer", id=str(new_id()), name=about)
        below = [
            NodeInput(
                next((kind for kind in _KINDS if kind.lower() in fact.text), _KINDS[-1]),
                id=str(new_id()),
                data={"said": fact.text},
            )
            for fact in facts
        ]
        graph.graph.write([customer, *below], [EdgeInput(customer.id, item.id, "Has") for item in below])
    put = client.definitions.put("customers", _PAGES)
    client.definitions.approve("customers", put.version)
    for _ in client.compiled_pages.compile():
        continue


def _documents(client: ContextClient, company: Company) -> None:
    """Add a document of each customer to a knowledge base, and wait until they are read."""
    client.knowledge_bases.put("manuals", is_of_tenant=True)
    for about, facts in by_document(company.facts, DOCUMENTS).items():
        text = "\n\n".join(fact.text for fact in facts)
        client.knowledge_bases.add_document("manuals", f"# {about}\n\n{text}\n".encode(), name=f"{about}.md")
    while any(document.state in ("queued", "parsing") for document in client.knowledge_bases.list_documents("manuals")):
        time.sleep(0.1)
