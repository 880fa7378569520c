"""The calls of history that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import Unpack

from contextkeep.client import _messages as messages
from contextkeep.client._messages import ByExternalId, Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import chat_history_pb2 as chat_history_pb
from contextkeep.values import AssembledNode, HistoryEvent


class History(Noun):
    """The calls of `client.history` that are one RPC each."""

    async def assemble(
        self,
        node_id: Id | None = None,
        *,
        app_id: str | None = None,
        mapping_name: str = "",
        max_messages: int = 0,
        data_paths: Iterable[str] = (),
        page_size: int = 0,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> AsyncGenerator[AssembledNode, None]:
        """List the nodes that a mapping reads, in the order of the mapping, each with its messages.

        For each rule without a message, the answer has the reason. Use it to see why `history.get` leaves out a
        message, or which node and rule gave it.

        In the order of `created_at`, every page costs the same. Any other order is sorted again for each page. With
        `max_messages`, nodes after the last message are returned too, because the newest message may be the missing
        one. Nodes that `entity_types` excludes and archived nodes that the mapping excludes are not read, and so are
        not in the answer.

        Args:
            node_id: This and the next three fields are as in GetChatHistoryRequest.
            app_id: The app in which the mapping is looked up.
            mapping_name: The mapping. Empty means "simple_chat".
            max_messages: Only the newest messages, at most this many. 0 means all.
            data_paths: Up to 32 paths as in MappingRules (`turn.index`, `data.turn.index`, `status`). `values_json` has
                their values.
            page_size: Number of nodes. 0 means 100. More than 1,000 counts as 1,000.
            timeout_s: Deadline of one page in seconds. None means the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: No node that the caller may see has this id, external id or name.
            MappingNotFound: No mapping has this name in the requested app.
            MappingBroken: A registered mapping no longer compiles.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
            LimitExceeded: `data_paths`.
            AnswerTooLarge: one node, with its messages or its values.
            CostExceeded: The expressions of a mapping cost more to evaluate than one call may spend.
            NodeBudgetExceeded: The walk would visit more nodes than `node_budget` allows.
        """
        request = chat_history_pb.AssembleContextRequest(
            node_id=messages.given_node_id(node_id, **named),
            app_id=self._options.app(app_id),
            mapping_name=mapping_name,
            max_messages=max_messages,
            data_paths=messages.texts("data_paths", data_paths),
            page_size=page_size,
            **named,
        )
        while True:
            page: chat_history_pb.AssembleContextResponse = await self._call(
                "AssembleContext", request, timeout_s=timeout_s
            )
            for item in page.nodes:
                yield AssembledNode.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def list_events(
        self,
        node_id: Id | None = None,
        *,
        descending: bool = False,
        page_size: int = 0,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> AsyncGenerator[HistoryEvent, None]:
        """List the events of an entity by time.

        These are the changes of its node, its status and the rest of its timeline, its edges in both directions, and
        its working memory records, including purged ones.

        The service stores no separate history for this call. It therefore knows only the last change of a node, no
        edges that were deleted, and no events of a timeline that was cleared. The call also works for a node that does
        not exist, if a record of the node ever existed.

        Args:
            node_id: The node of the entity.
            descending: Sort newest first.
            page_size: 0 means 100. More than 1,000 counts as 1,000.
            timeout_s: Deadline of one page in seconds. None means the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: No node that the caller may see has this id, external id or name.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
        """
        request = chat_history_pb.FetchEntityHistoryRequest(
            node_id=messages.given_node_id(node_id, **named), descending=descending, page_size=page_size, **named
        )
        while True:
            page: chat_history_pb.FetchEntityHistoryResponse = await self._call(
                "FetchEntityHistory", request, timeout_s=timeout_s
            )
            for item in page.events:
                yield HistoryEvent.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token
