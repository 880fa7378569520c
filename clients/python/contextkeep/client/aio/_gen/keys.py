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
        """Answers whom the caller's key or token stands for: its tenant, scopes, user, bounds and end.

        Every valid key may call it, also one of a context.

        Args:
            timeout_s: Deadline; None: the client's.
        """
        request = administration_pb.GetCallerRequest()
        answer: administration_pb.GetCallerResponse = await self._call("GetCaller", request, timeout_s=timeout_s)
        return Caller.from_proto(answer)

    async def list(
        self, *, context_id: Id | None = None, page_size: int = 0, timeout_s: float | None = None
    ) -> AsyncGenerator[ApiKey, None]:
        """Lists keys, the newest first, revoked and expired ones too; never what a key is, but how it begins.

        Of a context: the short-lived ones of `contexts.issue_key`, which no other list has.

        Args:
            context_id: Only those of this context. Empty: all others.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            InvalidArgument: A field is malformed; `violations` name it.
            InvalidPageToken: The page token is malformed, or belongs to another query.
        """
        request = administration_pb.ListKeysRequest(context_id=messages.to_id(context_id), page_size=page_size)
        while True:
            page: administration_pb.ListKeysResponse = await self._call("ListKeys", request, timeout_s=timeout_s)
            for one in page.keys:
                yield ApiKey.from_proto(one)
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
        """Makes a key, and shows it once: only its hash is kept.

        A key cannot give what it does not have: the new one has no scope, app, graph, agent bundle or user that the
        caller's lacks, and ends no later; it lives on if that one is revoked. Only a key that is stored makes others: a
        token of an issuer, the key of the environment and an anonymous caller in development are `PermissionDenied`.
        Repeated, it makes another one, since nobody can be shown the first again; `keys.list` says if there is one that
        nobody has seen.

        Args:
            subject: 1 to 512 characters; rows keep it as `created_by`.
            scopes: At least one of "read", "write", "admin", "delegate", "context:read", "compile".
            user_id: Up to 512 characters, as the next one.
            agent_id: The agent that the key is for. Empty: none.
            app_ids: Up to 100 of up to 200 characters each, as `graph_names`.
            agent_bundle_id: Up to 200 characters.
            graph_names: Graphs that the key is bound to. Empty: it is not bound.
            ttl_s: Seconds until it ends, ten years at most. 0: it does not end.
            timeout_s: Deadline; None: the client's.

        Raises:
            PermissionDenied: The key lacks the scope (`scope` in the metadata), is bound to something else, or is
                another user's.
            InvalidArgument: A field is malformed; `violations` name it.
            LimitExceeded: A value is over a limit: `limit` (its name), `limit_max` and `value` in the metadata.
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
        """Takes a key back, of a context too, if it is a part of the caller's; again is harmless.

        The services follow within seconds. The caller's own can be taken back as well.

        Args:
            prefix: How it begins: its first 12 characters. It may be said whole.
            timeout_s: Deadline; None: the client's.

        Raises:
            KeyNotFound: `NotFound`.
            PermissionDenied: as of `keys.create`.
            InvalidArgument: A field is malformed; `violations` name it.
        """
        request = administration_pb.RevokeKeyRequest(prefix=prefix)
        await self._call("RevokeKey", request, timeout_s=timeout_s)
