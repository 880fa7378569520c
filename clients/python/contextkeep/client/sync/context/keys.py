# Generated from aio/context/keys.py by tools/make_sync.py: change that file and run `make sync-client`.
"""API keys."""

from __future__ import annotations

from collections.abc import Generator, Iterable

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.sync.client import Noun
from contextkeep.context.v1 import administration_pb2 as pb
from contextkeep.values import ApiKey, Caller, CreatedKey


class Keys(Noun):
    """API keys. All calls but `get_caller` need the scope admin."""

    def get_caller(self, *, timeout_s: float | None = None) -> Caller:
        """Return whom your key or token stands for. Every valid key may ask.

        Args:
            timeout_s: Deadline; None: the client's.
        """
        return Caller.from_proto(self._call("GetCaller", pb.GetCallerRequest(), timeout_s=timeout_s))

    def list(
        self, *, context_id: Id | None = None, page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[ApiKey, None, None]:
        """Yield the keys of the tenant, within the bounds of yours, the newest first, following the pages.

        Args:
            context_id: Only the short-lived ones of this context. None: all others.
            page_size: Keys of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
        """
        request = pb.ListKeysRequest(context_id=messages.to_id(context_id), page_size=page_size)
        while True:
            page: pb.ListKeysResponse = self._call("ListKeys", request, timeout_s=timeout_s)
            for key in page.keys:
                yield ApiKey.from_proto(key)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def create(
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
        """Make a key, a part of yours, and return it: nobody can be shown it again.

        A call that is tried again may leave a key that nobody has seen: `list` says so.

        Args:
            subject: Whom it stands for.
            scopes: At least one of "read", "write", "admin", "delegate", "context:read", "compile".
            user_id: Whose own it sees, of what belongs to users.
            agent_id: Of an agent.
            app_ids: It is bound to, as the next two; none: to none of these.
            agent_bundle_id: Of a bundle.
            graph_names: Of graphs.
            ttl_s: Seconds until it ends. 0: it does not.
            timeout_s: Deadline; None: the client's.

        Raises:
            PermissionDenied: it would have what yours has not; or yours is none that is stored.
        """
        key = pb.KeyInput(
            subject=subject,
            scopes=messages.texts("scopes", scopes),
            user_id=user_id,
            agent_id=agent_id,
            app_ids=messages.texts("app_ids", app_ids),
            agent_bundle_id=agent_bundle_id,
            graph_names=messages.texts("graph_names", graph_names),
            ttl_s=ttl_s,
        )
        return CreatedKey.from_proto(self._call("CreateKey", pb.CreateKeyRequest(key=key), timeout_s=timeout_s))

    def revoke(self, prefix: str, *, timeout_s: float | None = None) -> None:
        """Take a key back that is a part of yours; again is harmless. The services follow within seconds.

        Args:
            prefix: How it begins: its first 12 characters.
            timeout_s: Deadline; None: the client's.

        Raises:
            KeyNotFound: none begins like this.
            PermissionDenied: yours is none that is stored.
        """
        self._call("RevokeKey", pb.RevokeKeyRequest(prefix=prefix), timeout_s=timeout_s)
