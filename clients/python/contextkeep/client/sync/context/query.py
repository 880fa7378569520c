# Generated from aio/context/query.py by tools/make_sync.py: change that file and run `make sync-client`.
"""One question to every source."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from contextkeep.client import _messages as messages
from contextkeep.client._messages import QUERY_DEPTHS, QUERY_MODES, QUERY_SCOPES, Id, QueryDepth, QueryMode, QueryScope
from contextkeep.client.sync.client import Client
from contextkeep.context.v1 import context_query_pb2 as query_pb
from contextkeep.values import ContextProvider, QueriedContext


class QueryCalls(Client):
    """The RPCs of context query."""

    def query_context(
        self,
        query: str,
        *,
        mode: QueryMode = "results",
        scope: QueryScope = "auto",
        depth: QueryDepth = "quick",
        limit: int = 20,
        provider_ids: Sequence[str] | None = None,
        families: Sequence[str] | None = None,
        node_ids: Sequence[Id] | None = None,
        context_ids: Sequence[Id] = (),
        tokens_max: int = 0,
        time_from: datetime | None = None,
        time_to: datetime | None = None,
        explain: bool = False,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> QueriedContext:
        """Ask every source a question, and return cited hits, and how each source fared.

        A source that fails says so in its status; the others answer as ever.

        Args:
            query: Not blank, up to 8,000 characters.
            mode: "results", or "answer": also quotations of the best hits.
            scope: "auto", "personal": the user's own; "team": what belongs to nobody in particular.
            depth: "quick", or "deep": more time, more hits, and a second pass.
            limit: Hits, 1 to 50.
            provider_ids: Whom to ask. With `families` those of either; both None: who is asked by default.
            families: Of each, all providers.
            node_ids: For the provider workspace: whose files are searched, up to 20. None: all.
            context_ids: For the provider context: which ones are searched, up to 16.
            tokens_max: Also return `prompt_text` of so many tokens at most. 0: none.
            time_from: Only hits from this time on, with its zone.
            time_to: Only hits before this time.
            explain: Also return what each provider gave.
            subject_user_id: For which user a key without one calls.
            timeout_s: Deadline, before which the answer comes with what there is; None: the client's.

        Raises:
            InvalidArgument: the question is blank, or something in it is unknown; the field is named.
            LimitExceeded: too much is named.
            PermissionDenied: the user is another one's.
        """
        selection = None
        if provider_ids is not None or families is not None:
            selection = query_pb.ProviderSelection(
                ids=messages.texts("provider_ids", provider_ids or ()),
                families=messages.texts("families", families or ()),
            )
        options = None
        if node_ids is not None:
            options = query_pb.ProviderOptions(
                workspace=query_pb.WorkspaceOptions(node_ids=messages.ids("node_ids", node_ids))
            )
        request = query_pb.QueryContextRequest(
            query=query,
            mode=messages.choice("mode", mode, QUERY_MODES),
            scope=messages.choice("scope", scope, QUERY_SCOPES),
            depth=messages.choice("depth", depth, QUERY_DEPTHS),
            limit=limit,
            providers=selection,
            provider_options=options,
            context_ids=messages.ids("context_ids", context_ids),
            tokens_max=tokens_max,
            time_from=messages.to_timestamp("time_from", time_from),
            time_to=messages.to_timestamp("time_to", time_to),
            explain=explain,
            subject_user_id=subject_user_id,
        )
        return QueriedContext.from_proto(self.call("QueryContext", request, timeout_s=timeout_s))

    def list_context_providers(self, *, timeout_s: float | None = None) -> list[ContextProvider]:
        """Return the sources that can be asked, by id."""
        request = query_pb.ListContextProvidersRequest()
        response: query_pb.ListContextProvidersResponse = self.call(
            "ListContextProviders", request, timeout_s=timeout_s
        )
        return [ContextProvider.from_proto(one) for one in response.providers]
