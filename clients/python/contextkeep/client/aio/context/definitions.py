"""Definitions of compiled pages."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Unpack

from contextkeep.client import _messages as messages
from contextkeep.client._messages import ByExternalId, DefinitionState, Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import definitions_pb2 as pb
from contextkeep.values import Definition, TriedDefinition

_STATES = {
    "draft": pb.DEFINITION_STATE_DRAFT,
    "approved": pb.DEFINITION_STATE_APPROVED,
    "retired": pb.DEFINITION_STATE_RETIRED,
}


class Definitions(Noun):
    """Definitions of compiled pages."""

    async def put(
        self,
        name: str,
        rules: Mapping[str, Any],
        *,
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Definition:
        """Write the next version of a definition, a draft, and return it. The rules of the newest one again write none.

        Args:
            name: Up to 128 characters.
            rules: The fields of `DefinitionRules` in the proto, as a dict, kinds of facets as words ("operational");
                docs/knowledge.md has them by example.
            request_id: A UUID. The same one again changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            InvalidArgument: a rule does not compile: `rule`, `line` and `column` in the metadata.
            PermissionDenied: the key is bound.
        """
        request = pb.PutDefinitionRequest(
            name=name, rules=messages.definition_rules(rules), request_id=messages.new_request_id(request_id)
        )
        response: pb.PutDefinitionResponse = await self._call("PutDefinition", request, timeout_s=timeout_s)
        return Definition.from_proto(response.definition)

    async def approve(
        self, name: str, version: int, *, request_id: Id | None = None, timeout_s: float | None = None
    ) -> Definition:
        """Have pages compiled by a version from the next compile on; the one before is retired.

        Raises:
            DefinitionNotFound: there is no such version.
            PermissionDenied: the key lacks the scope admin, or is bound.
        """
        request = pb.ApproveDefinitionRequest(
            name=name, version=version, request_id=messages.new_request_id(request_id)
        )
        response: pb.ApproveDefinitionResponse = await self._call("ApproveDefinition", request, timeout_s=timeout_s)
        return Definition.from_proto(response.definition)

    async def retire(
        self, name: str, version: int = 0, *, request_id: Id | None = None, timeout_s: float | None = None
    ) -> Definition:
        """End a version; 0: the one that is approved, and no page of it is found any more.

        Raises:
            DefinitionNotFound: there is no such version, or none is approved.
            PermissionDenied: the key lacks the scope admin, or is bound.
        """
        request = pb.RetireDefinitionRequest(name=name, version=version, request_id=messages.new_request_id(request_id))
        response: pb.RetireDefinitionResponse = await self._call("RetireDefinition", request, timeout_s=timeout_s)
        return Definition.from_proto(response.definition)

    async def get(self, name: str, version: int = 0, *, timeout_s: float | None = None) -> Definition:
        """Return a version; 0: the one that is approved, else the newest.

        Raises:
            DefinitionNotFound: there is none that you may see.
        """
        request = pb.GetDefinitionRequest(name=name, version=version)
        response: pb.GetDefinitionResponse = await self._call("GetDefinition", request, timeout_s=timeout_s)
        return Definition.from_proto(response.definition)

    async def list(
        self, *, states: Sequence[DefinitionState] = (), page_size: int = 0, timeout_s: float | None = None
    ) -> AsyncGenerator[Definition, None]:
        """Yield versions of definitions by name, the newest of each first, following the pages.

        Args:
            states: Only those that are "draft", "approved" or "retired". Empty: all.
            page_size: Versions of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
        """
        wanted = [messages.choice("states", one, _STATES) for one in messages.texts("states", states)]
        request = pb.ListDefinitionsRequest(states=wanted, page_size=page_size)
        while True:
            page: pb.ListDefinitionsResponse = await self._call("ListDefinitions", request, timeout_s=timeout_s)
            for definition in page.definitions:
                yield Definition.from_proto(definition)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def test(
        self,
        rules: Mapping[str, Any],
        node_id: Id | None = None,
        *,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> TriedDefinition:
        """Return the page that rules make of a node. Nothing is kept.

        Args:
            rules: As of `put`.
            node_id: The node.
            timeout_s: Deadline; None: the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            InvalidArgument: a rule does not compile: `rule`, `line` and `column` in the metadata.
            NodeNotFound: there is no such node.
        """
        request = pb.TestDefinitionRequest(
            rules=messages.definition_rules(rules), node_id=messages.to_id(node_id), **named
        )
        response: pb.TestDefinitionResponse = await self._call("TestDefinition", request, timeout_s=timeout_s)
        return TriedDefinition.from_proto(response)
