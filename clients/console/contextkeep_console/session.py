"""Sessions of visitors. They are only in this process's memory, and so are the keys.

A browser has a random cookie; this process stores its hash, so that a reader of its memory cannot make a cookie.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from contextkeep import AsyncContextClient, AsyncEntityClient, Caller

IDLE_S = 30 * 60.0  # seconds without a request, after which a session ends
LIFE_S = 12 * 3600.0  # seconds after which any session ends
# If a new session exceeds one of these limits, the session that was idle longest ends: for the first limit, a session
# of the same key; for the second, of the tenant's key with the most sessions; for the third, of such a key in the
# tenant with the most sessions.
SESSIONS_OF_KEY_MAX = 20
SESSIONS_OF_TENANT_MAX = 1_000
SESSIONS_MAX = 5_000  # of this process
PEERS_MAX = 10_000  # addresses whose wrong keys are counted
DRAWN_AT_ONCE = 2  # files of a session, so that a page of pictures leaves turns to the pages of others
SLOWED_FROM = 3  # wrong keys of an address that are answered at once; each later one doubles the wait for its answer
SLOWED_S_MAX = 8.0  # longest time until the answer
FORGOTTEN_S = 600.0  # seconds after the last wrong key, after which the count begins again

Clock = Callable[[], float]


@dataclass(slots=True, kw_only=True)
class Session:
    """A visitor who has signed in."""

    context: AsyncContextClient = field(repr=False)  # each calls with the key
    graph: AsyncEntityClient = field(repr=False)
    subject_user_id: str = ""  # for whom calls are made, if the key has no user
    has_key: bool = True
    key_hash: bytes = field(default=b"", repr=False)  # sha256 of the key, to count its sessions
    caller: Caller | None = None  # the identity of the key; None if the Context Service did not answer
    form_token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    began: float = 0.0
    seen: float = 0.0
    drawing: asyncio.Semaphore = field(
        default_factory=lambda: asyncio.Semaphore(DRAWN_AT_ONCE), repr=False, compare=False
    )
    note: str = ""  # what the next page says of the last form

    @property
    def tenant_id(self) -> str:
        """The tenant of the key; empty if it is not known."""
        return self.caller.tenant_id if self.caller else ""

    @property
    def whose(self) -> Any:
        """The keyword that tells a method of the client for whom it calls."""
        return {"subject_user_id": self.subject_user_id} if self.subject_user_id else {}


class Sessions:
    """All of them, by the hash of their cookie.

    Args:
        idle_s: Seconds after which a session ends if it has no request.
        clock: Seconds.
    """

    def __init__(self, *, idle_s: float = IDLE_S, clock: Clock = time.monotonic) -> None:
        self._idle_s = idle_s
        self._clock = clock
        self._sessions: OrderedDict[bytes, Session] = OrderedDict()  # the one that was idle longest first

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(self, session: Session) -> str:
        """Keep a session, and return the value of its cookie.

        A key, or a tenant, that signs in again and again ends its own sessions, never those of others.
        """
        self._forget_ended()
        of_key = [cookie for cookie, other in self._sessions.items() if other.key_hash == session.key_hash]
        of_tenant = [other for other in self._sessions.values() if other.tenant_id == session.tenant_id]
        if len(of_key) >= SESSIONS_OF_KEY_MAX:
            del self._sessions[of_key[0]]
        elif len(of_tenant) >= SESSIONS_OF_TENANT_MAX:
            self._end_one_of(session.tenant_id)
        elif len(self._sessions) >= SESSIONS_MAX:
            counts = Counter(other.tenant_id for other in (*self._sessions.values(), session))
            self._end_one_of(counts.most_common(1)[0][0])
        cookie = secrets.token_urlsafe(32)
        session.began = session.seen = self._clock()
        self._sessions[hash_of(cookie)] = session
        return cookie

    def find(self, cookie: str, *, is_use: bool = True) -> Session | None:
        """Return the session of a cookie, or None if it has ended or there was none.

        Args:
            cookie: Its value.
            is_use: The visitor made the request, which prolongs the session. False if the page made it by itself.
        """
        self._forget_ended()
        session = self._sessions.get(hash_of(cookie))
        if session is not None and is_use:
            session.seen = self._clock()
            self._sessions.move_to_end(hash_of(cookie))
        return session

    def end(self, cookie: str) -> None:
        """Forget a session."""
        self._sessions.pop(hash_of(cookie), None)

    def _end_one_of(self, tenant_id: str) -> None:
        """End the session that was idle longest of the tenant's key with the most sessions."""
        of_tenant = [(cookie, other) for cookie, other in self._sessions.items() if other.tenant_id == tenant_id]
        ((busiest, _),) = Counter(other.key_hash for _, other in of_tenant).most_common(1)
        del self._sessions[next(cookie for cookie, other in of_tenant if other.key_hash == busiest)]

    def _forget_ended(self) -> None:
        """Delete the sessions that were idle for too long, and those that began too long ago.

        The sessions are in the order of their last use, so the first that is not idle ends the first loop.
        """
        now = self._clock()
        for key, session in list(self._sessions.items()):
            if now - session.seen <= self._idle_s:
                break
            del self._sessions[key]
        for key in [key for key, item in self._sessions.items() if now - item.began > LIFE_S]:
            del self._sessions[key]


class WrongKeys:
    """Counts wrong keys by address: after a few, each further wrong one is answered later than the one before.

    Only answers to wrong keys wait. A correct key signs in at once, whatever others at the same address have tried.
    """

    def __init__(self, *, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._wrong: OrderedDict[str, tuple[int, float]] = OrderedDict()  # of a peer: how many, and the last

    def note(self, peer: str) -> float:
        """Count a wrong key of a peer, and return how many seconds its answer must wait."""
        now = self._clock()
        count, last = self._wrong.pop(peer, (0, now))
        count = count + 1 if now - last < FORGOTTEN_S else 1
        self._wrong[peer] = (count, now)
        if len(self._wrong) > PEERS_MAX:
            self._wrong.popitem(last=False)
        return min(2.0 ** min(count - SLOWED_FROM - 1, 10), SLOWED_S_MAX) if count > SLOWED_FROM else 0.0

    def forget(self, peer: str) -> None:
        """Forget the wrong keys of a peer that had a correct one."""
        self._wrong.pop(peer, None)


def hash_of(secret: str) -> bytes:
    """Return the sha256 of a cookie or a key."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
