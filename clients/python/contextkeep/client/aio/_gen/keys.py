"""The calls of keys that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import administration_pb2 as administration_pb
from contextkeep.values import ApiKey, Caller, CreatedKey


class Keys(Noun):
    """API keys. All calls but `get_caller` need the scope admin."""

    async def get_caller(self, *, timeout_s: float | None = None) -> Caller:
        """Describe the caller's key or token: its tenant, scopes, user, bounds and expiry.

        Any valid key may call it, even a key of a context.

        Args:
            timeout_s: Deadline in seconds. None means the client's.
        """
        request = administration_pb.GetCallerRequest()
        answer: administration_pb.GetCallerResponse = await self._call("GetCaller", request, timeout_s=timeout_s)
        return Caller.from_proto(answer)

    async def list(
        self, *, context_id: Id | None = None, page_size: int = 0, timeout_s: float | None = None
    ) -> AsyncGenerator[ApiKey, None]:
        """List keys, newest first, including revoked and expired ones.

        It shows only the first 12 characters of a key. With a context, it lists the short-lived keys of
        `contexts.issue_key` instead, which no other list contains.

        Args:
            context_id: Only keys of this context. Empty: all other keys.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
        """
        request = administration_pb.ListKeysRequest(context_id=messages.to_id(context_id), page_size=page_size)
        while True:
            page: administration_pb.ListKeysResponse = await self._call("ListKeys", request, timeout_s=timeout_s)
            for item in page.keys:
                yield ApiKey.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def create(
        self,
        subject: str,
        scopes: Iterable[str],
        *,
        user_id: str = "",
        agent_id: str = "",
        app_ids: Iterable[str] = (),
        agent_bundle_id: str = "",
        graph_names: Iterable[str] = (),
        ttl_s: int = 0,
        timeout_s: float | None = None,
    ) -> CreatedKey:
        """Create a key, and show it once: the service stores only its hash.

        A key cannot grant what it does not have: the new key has only scopes, apps, graphs, agent bundle and user of
        the caller's key, and expires no later. It stays valid if the caller's key is revoked. Only a stored key can
        create keys: a token of an issuer, the key of the environment and an anonymous caller in development get
        `PermissionDenied`. A repeat creates another key, because the service cannot show the first one again. To find a
        key whose answer was lost, use `keys.list`.

        Args:
            subject: The subject that the key stands for, 1 to 512 characters. Rows store it as `created_by`.
            scopes: At least one of "read", "write", "admin", "delegate", "context:read", "compile".
            user_id: The user that the key is for, up to 512 characters. Empty: none.
            agent_id: The agent that the key is for, up to 512 characters. Empty: none.
            app_ids: Apps to bind the key to, up to 100 of up to 200 characters each. Empty: the key is not bound to
                apps.
            agent_bundle_id: The agent bundle to bind the key to, up to 200 characters. Empty: the key is not bound to
                one.
            graph_names: Graphs to bind the key to, up to 100 of up to 200 characters each. Empty: the key is not bound
                to graphs.
            ttl_s: Lifetime in seconds, at most ten years. 0: the key does not expire.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            LimitExceeded: A value exceeds a limit.
        """
        request = administration_pb.CreateKeyRequest(
            key=administration_pb.KeyInput(
                subject=subject,
                scopes=messages.texts("key.scopes", scopes),
                user_id=user_id,
                agent_id=agent_id,
                app_ids=messages.texts("key.app_ids", app_ids),
                agent_bundle_id=agent_bundle_id,
                graph_names=messages.texts("key.graph_names", graph_names),
                ttl_s=ttl_s,
            )
        )
        answer: administration_pb.CreateKeyResponse = await self._call("CreateKey", request, timeout_s=timeout_s)
        return CreatedKey.from_proto(answer)

    async def revoke(self, prefix: str, *, timeout_s: float | None = None) -> None:
        """Revoke a key within the caller's bounds, also a key of a context.

        A repeat is harmless. The services stop accepting the key within seconds. A caller may revoke its own key.

        Args:
            prefix: The first 12 characters of the key, or the whole key.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            KeyNotFound: No key that the caller may manage begins with this prefix.
            PermissionDenied: the scope is missing, or the caller's key is not a stored one.
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
        """
        request = administration_pb.RevokeKeyRequest(prefix=prefix)
        await self._call("RevokeKey", request, timeout_s=timeout_s)
