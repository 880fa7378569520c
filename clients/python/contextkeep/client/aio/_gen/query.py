"""The calls of query that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import Iterable

from contextkeep.client import _messages as messages, _query_messages as query_messages
from contextkeep.client._messages import Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import context_query_pb2 as context_query_pb
from contextkeep.values import ContextProvider, MemoryQueryMode, QueryPolicy
from contextkeep.values.query import ProviderSetting


class Query(Noun):
    """The calls of `client.query` that are one RPC each."""

    async def list_providers(self, *, agent_id: str = "", timeout_s: float | None = None) -> list[ContextProvider]:
        """List all providers by id, with the settings of the tenant and of the agent, if there is one.

        It asks no provider.

        Args:
            agent_id: As in `query.ask`.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            AgentNotFound: No agent that the caller may ask for has this id.
        """
        request = context_query_pb.ListContextProvidersRequest(agent_id=agent_id)
        answer: context_query_pb.ListContextProvidersResponse = await self._call(
            "ListContextProviders", request, timeout_s=timeout_s
        )
        return [ContextProvider.from_proto(item) for item in answer.providers]

    async def get_policy(
        self, *, agent_id: str = "", subject_user_id: str = "", timeout_s: float | None = None
    ) -> QueryPolicy:
        """Read which providers a question may ask now, and where the workspace is searched.

        For each provider, the answer says whether it may be asked, whether it is asked by default, and its deadline.
        `query.ask` applies the same policy to every caller.

        Args:
            agent_id: As in `query.ask`.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            AgentNotFound: No agent that the caller may ask for has this id.
            PermissionDenied: `subject_user_id`.
        """
        request = context_query_pb.GetQueryPolicyRequest(subject_user_id=subject_user_id, agent_id=agent_id)
        answer: context_query_pb.GetQueryPolicyResponse = await self._call(
            "GetQueryPolicy", request, timeout_s=timeout_s
        )
        return QueryPolicy.from_proto(answer)

    async def update_provider(
        self,
        provider_id: str,
        *,
        enabled: bool | None = None,
        is_default: bool | None = None,
        deadline_ms: int | None = None,
        node_ids: Iterable[Id] | None = None,
        memory_mode: MemoryQueryMode | None = None,
        reset: Iterable[str] = (),
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> ProviderSetting:
        """Set for the whole tenant whether a provider may be asked, is asked by default, and its deadline.

        The setting applies to later questions at every replica, until it is changed. Needs the scope `admin`.

        Args:
            enabled: False means that the provider is not asked. It is SKIPPED if a question names it.
            is_default: Whether it is asked if a question selects no providers.
            deadline_ms: Its deadline in milliseconds at both depths, 1 to 60,000. The deadline of the call applies too.
            node_ids: Search all contents of the records of these nodes, up to 20 nodes. For an agent, only nodes of its
                target count. Empty means the records below the nodes of the agent, otherwise of its template, otherwise
                of the tenant's setting. If none of these is set, it means all records that the caller sees, by the
                words in the search index (the first 50,000 characters of each record). If an agent has none of those
                nodes, the provider is SKIPPED.
            reset: Fields to reset to the value of the provider: `enabled`, `is_default`, `deadline_ms`, `workspace`,
                `memory`.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: an unknown provider; a field that this provider does not have.
            LimitExceeded: A value exceeds a limit.
            PermissionDenied: the scope; the key is bound.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = context_query_pb.UpdateProviderSettingRequest(
            setting=context_query_pb.ProviderSetting(
                provider_id=provider_id,
                enabled=enabled,
                is_default=is_default,
                deadline_ms=deadline_ms,
                workspace=query_messages.workspace_options(node_ids),
                memory=query_messages.memory_options(memory_mode),
            ),
            reset=messages.texts("reset", reset),
            request_id=messages.new_request_id(request_id),
        )
        answer: context_query_pb.UpdateProviderSettingResponse = await self._call(
            "UpdateProviderSetting", request, timeout_s=timeout_s
        )
        return ProviderSetting.from_proto(answer.setting)
