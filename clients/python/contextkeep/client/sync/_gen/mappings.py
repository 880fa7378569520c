# Generated from aio/_gen/mappings.py by tools/make_sync.py: change that file and run `make sync-client`.
"""The calls of mappings that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import Any, Unpack

from contextkeep.client import _messages as messages
from contextkeep.client._messages import ByExternalId, Id
from contextkeep.client.sync.client import Noun
from contextkeep.context.v1 import chat_history_pb2 as chat_history_pb
from contextkeep.inputs import SampleNode
from contextkeep.values import ChatMapping, NodeTrial


class Mappings(Noun):
    """Mappings: how nodes become messages."""

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
        """Register rules under a name.

        The rules are compiled and checked at once. An error names the field, the line and the column.

        Registering the same rules again succeeds and costs nothing, so an app can register at every start. Different
        rules need `replace` or a higher `rules_version`. A lower `rules_version` succeeds and changes nothing, so that
        a rolling deployment never replaces a mapping with an older one. Every replica uses the change within one
        second.

        The service compiles one call of a key at a time. The expressions of a mapping may have up to 10,000 symbols
        together: names, values, operators and brackets.

        Args:
            mapping_name: Required.
            rules: docs/mappings.md explains the rules by example.
            app_id: The app for which the mapping is registered. Empty means the app of the key if it has exactly one,
                otherwise the shared scope of the tenant.
            rules_version: A number that the author increases with each change of the rules. 0 means none.
            replace: Replace other rules with this name.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: metadata `rule`, `line`, `column`.
            LimitExceeded: of expressions with the same metadata; `limit` is "symbols" if there are too many.
            MappingExists: other rules have the name, or it is built in.
        """
        request = chat_history_pb.RegisterMappingRequest(
            app_id=self._options.app(app_id),
            mapping_name=mapping_name,
            rules=messages.mapping_rules(rules),
            rules_version=rules_version,
            replace=replace,
        )
        answer: chat_history_pb.RegisterMappingResponse = self._call("RegisterMapping", request, timeout_s=timeout_s)
        return ChatMapping.from_proto(answer.mapping)

    def get(self, mapping_name: str = "", *, app_id: str | None = None, timeout_s: float | None = None) -> ChatMapping:
        """Read the mapping that `history.get` would use.

        Args:
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            MappingNotFound: No mapping has this name in the requested app.
        """
        request = chat_history_pb.GetMappingRequest(app_id=self._options.app(app_id), mapping_name=mapping_name)
        answer: chat_history_pb.GetMappingResponse = self._call("GetMapping", request, timeout_s=timeout_s)
        return ChatMapping.from_proto(answer.mapping)

    def list(
        self, *, app_id: str = "", page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[ChatMapping, None, None]:
        """List the mappings that the caller sees, by app and name.

        Mappings from files of the service and built-in mappings come last.

        Args:
            app_id: Empty means all apps that the caller sees, and the shared scope.
            page_size: 0 means 100. More than 1,000 counts as 1,000.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
        """
        request = chat_history_pb.ListMappingsRequest(app_id=app_id, page_size=page_size)
        while True:
            page: chat_history_pb.ListMappingsResponse = self._call("ListMappings", request, timeout_s=timeout_s)
            for item in page.mappings:
                yield ChatMapping.from_proto(item)
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
        """Test rules that are not registered, on the nodes below a node or on nodes of the request.

        Nodes of the request need not exist. For each node, the answer has its messages and the rule that decided, with
        the value, the error and the time of every expression that ran.

        Nothing is stored. The nodes below a node are sorted by `created_at`, even if the rules have another order; the
        values of that order are among the evaluations.

        The rules are compiled as in `mappings.register`, with the same limits. Cancelling the call stops the
        compilation.

        Args:
            rules: Required. The rules need not be registered.
            node_id: Test the rules on the nodes that they reach from this node. Set either this or `nodes`.
            nodes: Up to 1,000 nodes, treated as if the walk reached them. Of the rules of the walk, only `entity_types`
                applies.
            root: The value of `root` in expressions. Only with `nodes`; with a `node_id`, `root` is that node.
            page_size: Number of nodes. 0 means 100. More than 1,000 counts as 1,000.
            timeout_s: Deadline of one page in seconds. None means the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            InvalidArgument: the rules: metadata `rule`, `line`, `column`; a node.
            LimitExceeded: A value exceeds a limit.
            NodeNotFound: No node that the caller may see has this id, external id or name.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
            CostExceeded: The expressions of a mapping cost more to evaluate than one call may spend.
            NodeBudgetExceeded: The walk would visit more nodes than `node_budget` allows.
            AnswerTooLarge: the messages of one node.
        """
        request = chat_history_pb.TestMappingRequest(
            rules=messages.mapping_rules(rules),
            node_id=messages.to_id(node_id),
            nodes=[messages.sample_node(f"nodes[{index}]", item) for index, item in enumerate(nodes)],
            root=None if root is None else messages.sample_node("root", root),
            page_size=page_size,
            **named,
        )
        while True:
            page: chat_history_pb.TestMappingResponse = self._call("TestMapping", request, timeout_s=timeout_s)
            for item in page.nodes:
                yield NodeTrial.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def delete(self, mapping_name: str, *, app_id: str | None = None, timeout_s: float | None = None) -> ChatMapping:
        """Remove a mapping from the scope in which it is registered, and return it.

        Every replica forgets it within one second. After that, its name means the mapping of the next scope, if there
        is one. An app that registers the mapping at its start creates it again.

        Args:
            mapping_name: Required.
            app_id: The scope of the mapping. Empty means the app of the key if it has exactly one, otherwise the shared
                scope of the tenant. The call looks in no other scope.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            MappingNotFound: metadata `apps`: visible apps that have the name; also if an earlier attempt removed it and
                its answer was lost.
            MappingBuiltIn: The mapping comes with the service and cannot be deleted.
            PermissionDenied: the key is bound to other apps.
        """
        request = chat_history_pb.DeleteMappingRequest(app_id=self._options.app(app_id), mapping_name=mapping_name)
        answer: chat_history_pb.DeleteMappingResponse = self._call("DeleteMapping", request, timeout_s=timeout_s)
        return ChatMapping.from_proto(answer.mapping)
