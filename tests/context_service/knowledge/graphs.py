"""A tenant with a graph of its own, for tests of what is compiled of one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson

from contextkeep import AsyncContextClient, AsyncEntityClient
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.postgres import Database
from service_runtime.rpc.principal import Metadata, Principal, credential, refusal
from service_runtime.values.ids import new_id
from tests.clients.stack import running
from tests.conftest import Addresses, Urls, cloned


class AnyKey:
    """Knows every key: what it is bound to is what it says, as JSON of the fields of a principal."""

    async def authenticate(self, metadata: Metadata) -> Principal:
        said = credential(metadata)
        if not said:
            raise refusal()
        fields: dict[str, Any] = orjson.loads(bytes.fromhex(said))
        sets = {name: frozenset(fields.pop(name)) for name in list(fields) if isinstance(fields[name], list)}
        return Principal(tenant_id=UUID(fields.pop("tenant_id")), subject="tests", **sets, **fields)


@dataclass(frozen=True, kw_only=True)
class Stack:
    """Both services, which take every key."""

    addresses: Addresses
    urls: Urls
    database: Database


@asynccontextmanager
async def any_tenant(postgres: EmbeddedPostgres, folder: Path, **settings: Any) -> AsyncIterator[Stack]:
    """Run services for the block."""
    with cloned(postgres) as urls:
        async with (
            running(urls.service, folder, callers=AnyKey(), **settings) as addresses,
            Database.open(urls.service, connections_max=4, name="tests") as database,
        ):
            yield Stack(addresses=addresses, urls=urls, database=database)


class World:
    """A tenant, its clients, and a few words to write its graph with."""

    def __init__(self, stack: Stack, **fields: Any) -> None:
        self.stack = stack
        self.fields = {"tenant_id": str(new_id()), **fields}
        key = orjson.dumps(self.fields).hex()
        self.context = AsyncContextClient(stack.addresses.context, api_key=key, retries=0)
        self.graph = AsyncEntityClient(stack.addresses.entity, api_key=key, retries=0)

    @property
    def principal(self) -> Principal:
        return Principal(tenant_id=UUID(self.fields["tenant_id"]), subject="tests")

    def of(self, **fields: Any) -> World:
        """Return the same tenant by a key that is bound to something, or has other scopes."""
        return World(self.stack, **{**self.fields, **fields})

    async def node(self, node_type: str, name: str = "", *, below: str = "", edge: str = "Has", **fields: Any) -> str:
        """Write a node, and an edge to it if it is below another one; return its id."""
        bundle = fields.pop("agent_bundle_id", "")
        placed = {"graph_name": fields.pop("graph_name", "default"), "agent_bundle_id": bundle}
        made = await self.graph.graph.create_node(node_type, name=name, data=fields, **placed)
        if below:
            await self.graph.graph.create_edge(below, made.id, edge)
        return made.id

    async def approve(self, name: str, rules: dict[str, Any]) -> None:
        put = await self.context.definitions.put(name, rules)
        await self.context.definitions.approve(name, put.version)


def facet(slug: str = "state", **said: Any) -> dict[str, Any]:
    """Return the rules of a facet."""
    return {"slug": slug, "heading": slug.title(), "kind": "operational", "text": "entity.data.text", **said}


def rules(*facets: dict[str, Any], **said: Any) -> dict[str, Any]:
    """Return the rules of a definition of customers."""
    return {"node_type": "Customer", "title": "entity.name", "facets": list(facets) or [facet()], **said}


BELOW = {"edge_types": ["Has"], "depth_max": 2}
