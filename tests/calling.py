"""Calls of any RPC of both services with one key: `await caller.GetNode(node_id=node_id)`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

import grpc
import orjson

from contextkeep import new_id
from tests.conftest import KEY
from tests.errors import raised
from tests.rpcs import Rpc, all_rpcs, all_stubs


@cache
def _rpc(name: str) -> Rpc:
    return next(rpc for rpc in all_rpcs() if rpc.name == name)


class AnyRpc:
    """Each RPC is a method that takes the fields of its request. One that streams returns the list of its answers.

    Args:
        context: Channel of the Context Service.
        entity: Channel of the Entity Service.
        key: Key of the caller.
    """

    def __init__(self, context: grpc.aio.Channel, entity: grpc.aio.Channel | None = None, key: str = KEY) -> None:
        self.channel = context
        self.entity = entity
        self.metadata = (("authorization", f"Bearer {key}"),)

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        if not name[0].isupper():
            raise AttributeError(name)
        rpc = _rpc(name)
        stub = all_stubs()[rpc.service](self.entity if rpc.process == "entity" else self.channel)

        async def call(*, deadline_s: float = 30, **fields: Any) -> Any:
            answer = getattr(stub, name)(rpc.request(**fields), metadata=self.metadata, timeout=deadline_s)
            try:
                return [message async for message in answer] if rpc.server_streaming else await answer
            except grpc.aio.AioRpcError as error:
                raise raised(error) from None

        return call

    async def session(self, *turns: dict[str, object]) -> tuple[str, list[str]]:
        """Write a session of nodes with these data, and return its id and theirs."""
        (session,) = (await self.WriteGraph(nodes=[{"general_type_name": "Session"}])).nodes
        ids: list[str] = []
        for start in range(0, len(turns), 900):
            nodes = [
                {"id": new_id(), "general_type_name": "Turn", "data_json": orjson.dumps(turn)}
                for turn in turns[start : start + 900]
            ]
            edges = [{"from_node_id": session.id, "to_node_id": node["id"], "edge_type": "Contains"} for node in nodes]
            await self.WriteGraph(nodes=nodes, edges=edges)
            ids += [str(node["id"]) for node in nodes]
        return session.id, ids
