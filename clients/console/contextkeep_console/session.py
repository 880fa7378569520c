"""Sessions: who has signed in. They are in this process's memory alone, and so are the keys.

A browser has a random cookie, of which this side keeps the hash: who reads this memory cannot make one.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from contextkeep import AsyncContextClient, AsyncEntityClient

IDLE_S = 30 * 60.0  # without a request
LIFE_S = 12 * 3600.0  # whatever happens
SESSIONS_MAX = 1_000  # then the one that was idle longest goes
PEERS_MAX = 10_000
SLOWED_FROM = 3  # wrong keys of a peer; each later one doubles the time until the next may be tried
SLOWED_S_MAX = 60.0
FORGOTTEN_S = 600.0

Clock = Callable[[], float]


@dataclass(slots=True, kw_only=True)
class Session:
    """Somebody who has signed in."""

    context: AsyncContextClient = field(repr=False)  # each calls with the key
    graph: AsyncEntityClient = field(repr=False)
    subject_user_id: str = ""  # for whom calls are made, if the key has no user
    has_key: bool = True
    form_token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    began: float = 0.0
    seen: float = 0.0
    note: str = ""  # what the next page says of the last form

    @property
    def whose(self) -> Any:
        """The keyword that tells a method of the client for whom it calls."""
        return {"subject_user_id": self.subject_user_id} if self.subject_user_id else {}


class Sessions:
    """All of them, by the hash of their cookie.

    Args:
        idle_s: How long one lives without a request.
        clock: Seconds.
    """

    def __init__(self, *, idle_s: float = IDLE_S, clock: Clock = time.monotonic) -> None:
        self._idle_s = idle_s
        self._clock = clock
        self._sessions: OrderedDict[bytes, Session] = OrderedDict()  # the one that was idle longest first

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(self, session: Session) -> str:
        """Keep a session, and return the value of its cookie."""
        self._forget_ended()
        while len(self._sessions) >= SESSIONS_MAX:
            self._sessions.popitem(last=False)
        cookie = secrets.token_urlsafe(32)
        session.began = session.seen = self._clock()
        self._sessions[_hash(cookie)] = session
        return cookie

    def find(self, cookie: str, *, is_use: bool = True) -> Session | None:
        """Return the session of a cookie; None: it has ended, or there was none.

        Args:
            cookie: Its value.
            is_use: Somebody does something, and the session lives on by that.
        """
        self._forget_ended()
        session = self._sessions.get(_hash(cookie))
        if session is not None and is_use:
            session.seen = self._clock()
            self._sessions.move_to_end(_hash(cookie))
        return session

    def end(self, cookie: str) -> None:
        """Forget a session."""
        self._sessions.pop(_hash(cookie), None)

    def _forget_ended(self) -> None:
        now = self._clock()
        for key, session in list(self._sessions.items()):
            if now - session.seen <= self._idle_s:
                break
            del self._sessions[key]
        for key in [key for key, one in self._sessions.items() if now - one.began > LIFE_S]:
            del self._sessions[key]


class WrongKeys:
    """Slows down who tries keys: behind a few wrong ones a peer waits before it may try again, longer each time."""

    def __init__(self, *, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._wrong: OrderedDict[str, tuple[int, float]] = OrderedDict()  # of a peer: how many, and the last

    def wait_s(self, peer: str) -> float:
        """Return how long a peer has to wait; 0: it may try."""
        count, last = self._wrong.get(peer, (0, 0.0))
        if count < SLOWED_FROM:
            return 0.0
        return max(0.0, last + min(2.0 ** (count - SLOWED_FROM), SLOWED_S_MAX) - self._clock())

    def note(self, peer: str) -> None:
        """Remember that a peer had a wrong key."""
        now = self._clock()
        count, last = self._wrong.pop(peer, (0, now))
        self._wrong[peer] = (count + 1 if now - last < FORGOTTEN_S else 1, now)
        if len(self._wrong) > PEERS_MAX:
            self._wrong.popitem(last=False)

    def forget(self, peer: str) -> None:
        """Forget a peer that had a right one."""
        self._wrong.pop(peer, None)


def _hash(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode("utf-8", "replace")).digest()
