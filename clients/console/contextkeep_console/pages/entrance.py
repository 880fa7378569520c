"""Signing in and out: a key is tried once, then kept in this process's memory until the session ends."""

from __future__ import annotations

import asyncio
import hmac
from contextlib import suppress

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from contextkeep import AsyncContextClient, AsyncEntityClient, Caller
from contextkeep.errors import ContextKeepError, DeadlineExceeded, InvalidArgument, Unauthenticated, Unavailable
from contextkeep_console.session import LIFE_S, Session, Sessions, WrongKeys, hash_of
from contextkeep_console.settings import Settings
from contextkeep_console.visit import local, take

_CHARS_MAX = 16_384  # of a token; keys are much shorter
_TRIES_AT_ONCE_MAX = 8  # keys that are checked with the services at the same time
_WHY = {
    "refused": "The key is no longer taken: it was revoked, or has expired. Sign in with another one.",
    "ended": "The session has ended. What you sent was not done.",
    "out": "You have signed out.",
}


class Entrance:
    """Where sessions begin and end.

    Args:
        sessions: All of them.
        templates: The templates of the pages.
        context: The client of the Context Service, without a key.
        graph: The client of the Entity Service, without a key.
        settings: Whether browsers come by TLS.
    """

    def __init__(
        self,
        sessions: Sessions,
        templates: Environment,
        context: AsyncContextClient,
        graph: AsyncEntityClient,
        settings: Settings,
    ) -> None:
        self._sessions = sessions
        self._templates = templates
        self._context = context
        self._graph = graph
        self._is_secure = settings.is_secure
        self._link_token = settings.link_token
        self._link_key = settings.link_key
        self._wrong_keys = WrongKeys()
        self._tries = asyncio.Semaphore(_TRIES_AT_ONCE_MAX)

    def cookie_of(self, request: Request) -> str:
        """Return the cookie of a request; empty: it has none."""
        return request.cookies.get(self._name(request), "")

    async def ask(self, request: Request) -> Response:
        """Sign in a visitor who opened the link of a new stack, or show the form for a key."""
        if self._sessions.find(self.cookie_of(request)) is not None:
            return RedirectResponse("/", 303)
        # The link works once. Programs that preview links send HEAD, so only GET uses it up.
        if request.method == "GET" and (link := request.query_params.get("link", "")):
            if self._link_token and hmac.compare_digest(link.encode(), self._link_token.encode()):
                self._link_token = ""
                session = self._session(self._link_key)
                with suppress(ContextKeepError):  # the first page shows the error
                    session.caller = await session.context.keys.get_caller()
                return self._signed_in(request, session, "/")
            return await self._form(request, error="This link has signed in already. Sign in with a key.", status=401)
        return await self._form(request, note=_WHY.get(request.query_params.get("why", ""), ""))

    async def sign_in(self, request: Request) -> Response:
        """Try a key, and begin a session with it."""
        form = await request.form(max_files=0, max_fields=10)
        key, user = (str(form.get(name, "")).strip() for name in ("key", "user"))
        peer = request.client.host if request.client else ""
        if len(key) > _CHARS_MAX:
            return await self._form(request, error="No key is that long.", status=400)
        try:
            session = self._session(key, user)
            async with self._tries:
                await _try(session)
        except Unauthenticated:
            if wait_s := self._wrong_keys.note(peer):
                await asyncio.sleep(wait_s)
                error = "Too many wrong keys came from this address. A correct one signs in at once."
                return await self._form(request, error=error, status=429, retry_after_s=wait_s)
            text = "The services do not take this key." if key else "The services ask for a key."
            return await self._form(request, error=text, status=401)
        except (Unavailable, DeadlineExceeded) as error:
            return await self._form(request, error=f"No service answers: {error.message}", status=503)
        except ContextKeepError as error:
            return await self._form(request, error=error.message, status=400)
        self._wrong_keys.forget(peer)
        return self._signed_in(request, session, str(form.get("next", "")))

    def _session(self, key: str, user: str = "") -> Session:
        """Return a new session whose calls carry the key, and act for the user if one is named."""
        return Session(
            context=self._context.with_credential(key),
            graph=self._graph.with_credential(key),
            subject_user_id=user,
            has_key=bool(key),
            key_hash=hash_of(key),
        )

    def _signed_in(self, request: Request, session: Session, address: str) -> Response:
        """Begin a session in place of the browser's last one, and lead to an address of this console."""
        self._sessions.end(self.cookie_of(request))
        answer = RedirectResponse(local(address), 303)
        answer.set_cookie(
            self._name(request),
            self._sessions.begin(session),
            max_age=int(LIFE_S),
            path="/",
            secure=self._is_secure,
            httponly=True,
            samesite="strict",
        )
        return answer

    async def sign_out(self, request: Request) -> Response:
        """End the session. A form of another session ends it too, because an attacker gains nothing from that."""
        self._sessions.end(self.cookie_of(request))
        answer = RedirectResponse("/sign-in?why=out", 303)
        # Or the button "back" would show the next person what the last one saw.
        answer.headers["clear-site-data"] = '"cache"'
        answer.delete_cookie(self._name(request), path="/", secure=self._is_secure, httponly=True, samesite="strict")
        return answer

    def _name(self, request: Request) -> str:
        """Return the name of the cookie: a browser has one jar for all ports of a host, and each may be a console."""
        if self._is_secure:
            return f"__Host-contextkeep-{request.url.port or 443}"
        return f"contextkeep-{request.url.port or 80}"

    async def _form(
        self, request: Request, *, note: str = "", error: str = "", status: int = 200, retry_after_s: float = 0
    ) -> Response:
        """Return the page with the form for signing in.

        Args:
            request: The request, whose `next` names the page to show afterwards.
            note: A neutral sentence above the form.
            error: The reason why signing in failed.
            status: The HTTP status. With another status than 200 the form always asks for a key.
            retry_after_s: Seconds until the next attempt is allowed; 0 if it is allowed now.
        """
        page = self._templates.get_template("sign_in.html").render(
            note=note,
            error=error,
            next=local(request.query_params.get("next", "")),
            needs_key=status != 200 or not await self._takes_anybody(),
        )
        headers = {"retry-after": str(max(1, round(retry_after_s)))} if retry_after_s else None
        return HTMLResponse(page, status, headers=headers)

    async def _takes_anybody(self) -> bool:
        """Say whether the services ask for no key yet, as those of a new checkout do."""
        try:
            await self._context.keys.get_caller(timeout_s=2)
        except ContextKeepError:
            return False
        return True


async def _try(session: Session) -> None:
    """Find out whether the services take a key, and whom it stands for; what it may do does not matter here.

    Raises:
        Unauthenticated: they do not match.
        Unavailable: neither of them answers.
        ContextKeepError: it may not call for the user that was named.
    """
    if session.subject_user_id:
        await take(session.context.contexts.list(page_size=1, **session.whose), 1)
    of_context, of_graph = await asyncio.gather(
        session.context.keys.get_caller(),
        take(session.graph.graph.list_graphs(page_size=1), 1),
        return_exceptions=True,
    )
    away = (Unavailable, DeadlineExceeded)
    for result in (of_context, of_graph):
        if isinstance(result, Unauthenticated | InvalidArgument):
            raise result
    if isinstance(of_context, away) and isinstance(of_graph, away):
        raise of_context
    if isinstance(of_context, Caller):
        session.caller = of_context
