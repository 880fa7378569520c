# Generated from aio/context/mappings.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Mappings: how nodes become messages."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import Any, Unpack

from contextkeep.client import _messages as messages
from contextkeep.client._messages import ByExternalId, Id
from contextkeep.client.sync.client import Noun
from contextkeep.context.v1 import chat_history_pb2 as history_pb
from contextkeep.inputs import SampleNode
from contextkeep.values import ChatMapping, NodeTrial


class Mappings(Noun):
    """Mappings."""

    def register(
        self,
        mapping_name: str,
        rules: Mapping[str, Any],
        *,
        app_id: str | None = None,
        rules_version: int = 0,
        replace: bool = False,
        timeout_s: float | None = None,
    ) -> ChatMapping:
        """Register rules under a name and return the mapping that the name has now.

        The same rules again are free, so an app registers at every start.

        Args:
            mapping_name: The name.
            rules: The fields of `MappingRules` in the proto, as a dict; docs/mappings.md has them by example.
            app_id: The app that the name belongs to. None: the client's.
            rules_version: A number that grows with the rules: a higher one replaces, a lower one changes nothing.
            replace: Replace other rules of that name.
            timeout_s: Deadline; None: the client's.

        Raises:
            InvalidArgument: a rule does not compile: `rule`, `line` and `column` in the metadata.
            MappingExists: other rules have the name, or it is built in.
        """
        request = history_pb.RegisterMappingRequest(
            app_id=self._options.app(app_id),
            mapping_name=mapping_name,
            rules=messages.mapping_rules(rules),
            rules_version=rules_version,
            replace=replace,
        )
        response: history_pb.RegisterMappingResponse = self._call("RegisterMapping", request, timeout_s=timeout_s)
        return ChatMapping.from_proto(response.mapping)

    def get(self, mapping_name: str = "", *, app_id: str | None = None, timeout_s: float | None = None) -> ChatMapping:
        """Return the mapping that `history.stream` would use.

        Raises:
            MappingNotFound: there is none: `apps` in the metadata names where the name is.
        """
        request = history_pb.GetMappingRequest(app_id=self._options.app(app_id), mapping_name=mapping_name)
        response: history_pb.GetMappingResponse = self._call("GetMapping", request, timeout_s=timeout_s)
        return ChatMapping.from_proto(response.mapping)

    def list(
        self, *, app_id: str = "", page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[ChatMapping, None, None]:
        """Yield the mappings that the caller sees, by app and name, then the built-in ones, following the pages.

        Args:
            app_id: Of one app. Empty: of all, and the shared scope.
            page_size: Rows of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
        """
        request = history_pb.ListMappingsRequest(app_id=app_id, page_size=page_size)
        while True:
            page: history_pb.ListMappingsResponse = self._call("ListMappings", request, timeout_s=timeout_s)
            for mapping in page.mappings:
                yield ChatMapping.from_proto(mapping)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def test(
        self,
        rules: Mapping[str, Any],
        *,
        node_id: Id | None = None,
        nodes: Iterable[SampleNode] = (),
        root: SampleNode | None = None,
        page_size: int = 0,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> Generator[NodeTrial, None, None]:
        """Try rules out that are not registered, and yield what they do on each node, following the pages.

        Args:
            rules: As of `register`.
            node_id: Try them on what they reach from this node.
            nodes: Or on these, up to 1,000, which need not exist.
            root: What rules see as `root`, beside `nodes`.
            page_size: Nodes of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            InvalidArgument: a rule does not compile: `rule`, `line` and `column` in the metadata.
            NodeNotFound: there is no such node.
        """
        request = history_pb.TestMappingRequest(
            rules=messages.mapping_rules(rules),
            node_id=messages.to_id(node_id),
            nodes=[messages.sample_node(f"nodes[{index}]", node) for index, node in enumerate(nodes)],
            root=None if root is None else messages.sample_node("root", root),
            page_size=page_size,
            **named,
        )
        while True:
            page: history_pb.TestMappingResponse = self._call("TestMapping", request, timeout_s=timeout_s)
            for node in page.nodes:
                yield NodeTrial.from_proto(node)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def delete(self, mapping_name: str, *, app_id: str | None = None, timeout_s: float | None = None) -> ChatMapping:
        """Remove a mapping from the app that it was registered in, and return it as it was.

        Raises:
            MappingNotFound: there is none; also when the first attempt of this call did it and its answer was lost.
            MappingBuiltIn: it cannot be removed.
        """
        request = history_pb.DeleteMappingRequest(app_id=self._options.app(app_id), mapping_name=mapping_name)
        response: history_pb.DeleteMappingResponse = self._call("DeleteMapping", request, timeout_s=timeout_s)
        return ChatMapping.from_proto(response.mapping)
