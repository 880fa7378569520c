"""The calls of query that are one RPC each, made by `make proto`."""

from __future__ import annotations


from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import context_query_pb2 as context_query_pb
from contextkeep.values import ContextProvider, QueryPolicy


class Query(Noun):
    """The calls of `client.query` that are one RPC each."""

    async def list_providers(self, *, agent_id: str = "", timeout_s: float | None = None) -> list[ContextProvider]:
        """Lists all providers by id, with the settings of the tenant and of the agent, if there is one.

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
        return [ContextProvider.from_proto(one) for one in answer.providers]

    async def get_policy(
        self, *, agent_id: str = "", subject_user_id: str = "", timeout_s: float | None = None
    ) -> QueryPolicy:
        """Reads which providers a question may ask now, and where the workspace is searched.

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
