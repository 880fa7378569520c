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
        """Registers rules under a name.

        They are compiled and checked now: an error names the field, the line and the column.

        The same rules again are OK and free, so an app registers at every start. Different rules need `replace` or a
        higher `rules_version`; a lower one is OK and changes nothing, so that a rolling deployment never flips a
        mapping back. Every replica sees the change within a second.

        Of the calls of one key, one compiles at a time. All expressions of a mapping have 10,000 symbols at most:
        names, values, operators and brackets.

        Args:
            mapping_name: Required.
            rules: docs/mappings.md explains them by example.
            app_id: Empty: the key's app if it has exactly one, else the tenant's shared scope.
            rules_version: A number that grows with the rules. 0: none.
            replace: Replace other rules of that name.
            timeout_s: Deadline; None: the client's.

        Raises:
            InvalidArgument: metadata `rule`, `line`, `column`.
            LimitExceeded: of expressions with these, too; `limit` is "symbols" where there are too many.
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
        """Reads the mapping that `history.get` would use.

        Args:
            timeout_s: Deadline; None: the client's.

        Raises:
            MappingNotFound: No mapping has this name where it was looked up; `apps` in the metadata names where it is.
        """
        request = chat_history_pb.GetMappingRequest(app_id=self._options.app(app_id), mapping_name=mapping_name)
        answer: chat_history_pb.GetMappingResponse = self._call("GetMapping", request, timeout_s=timeout_s)
        return ChatMapping.from_proto(answer.mapping)

    def list(
        self, *, app_id: str = "", page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[ChatMapping, None, None]:
        """Lists the mappings that the caller sees, by app and name.

        Those of the service's files and the built-in ones come last.

        Args:
            app_id: Empty: every app that the caller sees, and the shared scope.
            page_size: 0: 100. More than 1,000 counts as 1,000.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            InvalidPageToken: The page token is malformed, or belongs to another query.
        """
        request = chat_history_pb.ListMappingsRequest(app_id=app_id, page_size=page_size)
        while True:
            page: chat_history_pb.ListMappingsResponse = self._call("ListMappings", request, timeout_s=timeout_s)
            for one in page.mappings:
                yield ChatMapping.from_proto(one)
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
        """Tries rules that are not registered, on the nodes below a node or on nodes of the request.

        Nodes of the request need not exist. Answers for each node what it gives and which rule decided, with the value,
        the error and the time of every expression that ran.

        Nothing is stored. What is below a node comes in the order of `created_at`, whatever the rules' order is: where
        they have another, its value is among the evaluations.

        The rules are compiled as by `mappings.register`, within its limits; a call that is cancelled stops it.

        Args:
            rules: Required. They need not be registered.
            node_id: Try them on what the rules reach from this node; or on `nodes`.
            nodes: Up to 1,000, taken as reached by the walk: of its rules only `entity_types` is looked at.
            root: What rules see as `root`, beside `nodes`. Of a `node_id` it is that node.
            page_size: Nodes. 0: 100. More than 1,000 counts as 1,000.
            timeout_s: Deadline of one page; None: the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            InvalidArgument: the rules: metadata `rule`, `line`, `column`; a node.
            LimitExceeded: A value is over a limit: `limit` (its name), `limit_max` and `value` in the metadata.
            NodeNotFound: No node has this id, external id or name.
            InvalidPageToken: The page token is malformed, or belongs to another query.
            CostExceeded: The expressions of a mapping cost more than a call may spend.
            NodeBudgetExceeded: The walk would visit more nodes than `node_budget`.
            AnswerTooLarge: what one node gives.
        """
        request = chat_history_pb.TestMappingRequest(
            rules=messages.mapping_rules(rules),
            node_id=messages.to_id(node_id),
            nodes=[messages.sample_node(f"nodes[{index}]", one) for index, one in enumerate(nodes)],
            root=None if root is None else messages.sample_node("root", root),
            page_size=page_size,
            **named,
        )
        while True:
            page: chat_history_pb.TestMappingResponse = self._call("TestMapping", request, timeout_s=timeout_s)
            for one in page.nodes:
                yield NodeTrial.from_proto(one)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def delete(self, mapping_name: str, *, app_id: str | None = None, timeout_s: float | None = None) -> ChatMapping:
        """Removes a mapping from the one scope that it is registered in, and answers it as it was.

        Every replica forgets it within a second; from then on its name means what it would have meant without it. An
        app that registers it at its start brings it back.

        Args:
            mapping_name: Required.
            app_id: Empty: the key's app if it has exactly one, else the tenant's shared scope. No other scope is looked
                in.
            timeout_s: Deadline; None: the client's.

        Raises:
            MappingNotFound: metadata `apps`: visible apps that have the name; also when an attempt whose answer was
                lost has removed it.
            MappingBuiltIn: The mapping is built in: it cannot be removed.
            PermissionDenied: the key is bound to other apps.
        """
        request = chat_history_pb.DeleteMappingRequest(app_id=self._options.app(app_id), mapping_name=mapping_name)
        answer: chat_history_pb.DeleteMappingResponse = self._call("DeleteMapping", request, timeout_s=timeout_s)
        return ChatMapping.from_proto(answer.mapping)
