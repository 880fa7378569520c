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
        """Lists the nodes that a mapping reads, in its order, each with the messages that it gives.

        For each other rule it says why the rule gives none: what `history.get` leaves out, and where the rest is from.

        In the order of `created_at` a page costs the same wherever it begins; any other order is made anew for each
        page. Nodes behind the last message of the newest N are answered too: the newest may be what is missing. A node
        that an entity type or its archive excludes is not read, and so not answered.

        Args:
            node_id: As in GetChatHistoryRequest, the next three too.
            app_id: Where the mapping is looked up.
            mapping_name: How nodes become messages. Empty: "simple_chat".
            max_messages: The newest messages. 0: all.
            data_paths: Up to 32 paths as in MappingRules (`turn.index`, `data.turn.index`, `status`): their values come
                in `values_json`.
            page_size: Nodes. 0: 100. More than 1,000 counts as 1,000.
            timeout_s: Deadline of one page; None: the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: No node has this id, external id or name.
            MappingNotFound: No mapping has this name where it was looked up; `apps` in the metadata names where it is.
            MappingBroken: A registered mapping no longer compiles; register it again.
            InvalidPageToken: The page token is malformed, or belongs to another query.
            LimitExceeded: `data_paths`.
            AnswerTooLarge: one node, with its messages or its values.
            CostExceeded: The expressions of a mapping cost more than a call may spend.
            NodeBudgetExceeded: The walk would visit more nodes than `node_budget`.
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
            for one in page.nodes:
                yield AssembledNode.from_proto(one)
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
        """Lists all that happened to an entity, by time.

        This is the history of its node, its status and the rest of its timeline, its edges in both directions, and its
        working memory records, purged ones too.

        Nothing is kept for it but what is kept anyway. So of the changes of a node only the last is known, an edge that
        was deleted is gone from it, and so is a timeline that was cleared. It may be asked for a node that is not
        there, or no longer, if there ever was a record of it.

        Args:
            node_id: Of the entity.
            descending: The newest first.
            page_size: 0: 100. More than 1,000 counts as 1,000.
            timeout_s: Deadline of one page; None: the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: No node has this id, external id or name.
            InvalidPageToken: The page token is malformed, or belongs to another query.
        """
        request = chat_history_pb.FetchEntityHistoryRequest(
            node_id=messages.given_node_id(node_id, **named), descending=descending, page_size=page_size, **named
        )
        while True:
            page: chat_history_pb.FetchEntityHistoryResponse = await self._call(
                "FetchEntityHistory", request, timeout_s=timeout_s
            )
            for one in page.events:
                yield HistoryEvent.from_proto(one)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token
