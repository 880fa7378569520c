"""One request of a visitor who has signed in: its arguments, its key, and its answer."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from jinja2 import Environment
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from contextkeep import AsyncContextClient, AsyncEntityClient
from contextkeep.errors import InvalidArgument, PermissionDenied
from contextkeep_console.files.previews import Previews
from contextkeep_console.prose import begin_page
from contextkeep_console.session import Session
from contextkeep_console.tables import ROWS, ROWS_MAX, Table
from contextkeep_console.trouble import Trouble

T = TypeVar("T")


class Later(Response):
    """An answer that takes time to write: in a thread, so that other people's pages do not wait for it."""

    def __init__(self, write: Callable[[], Response]) -> None:
        self._write = write
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write the answer, and send it."""
        answer = await asyncio.to_thread(self._write)
        await answer(scope, receive, send)


NAVIGATION = (
    ("overview", "/", "Overview"),
    ("contexts", "/contexts", "Contexts"),
    ("windows", "/windows", "Windows"),
    ("graph", "/graph", "Graph"),
    ("memory", "/memory", "Working memory"),
    ("history", "/history", "History"),
    ("mappings", "/mappings", "Mappings"),
    ("sources", "/sources", "Sources"),
    ("access", "/access", "Access"),
)


class Visit:
    """A request of a session."""

    def __init__(self, request: Request, session: Session, templates: Environment) -> None:
        self.request = request
        self.session = session
        self._templates = templates

    @property
    def context(self) -> AsyncContextClient:
        """The client of the Context Service, with the visitor's key."""
        return self.session.context

    @property
    def graph(self) -> AsyncEntityClient:
        """The client of the Entity Service, with the visitor's key."""
        return self.session.graph

    @property
    def whose(self) -> Any:
        """The keyword that tells a method for whom the visitor calls."""
        return self.session.whose

    @property
    def previews(self) -> Previews:
        """The drawings of files, of all visitors."""
        previews: Previews = self.request.app.state.previews
        return previews

    def step(self, name: str) -> str:
        """Return a step of the address: an id, mostly."""
        return str(self.request.path_params[name])

    def query_value(self, name: str, default: str = "") -> str:
        """Return what the address asks for under a name."""
        return self.request.query_params.get(name, default).strip()

    def number(self, name: str, default: int, most: int) -> int:
        """Return a number that the address asks for, from 0 to `most`."""
        result = self.query_value(name)
        return min(int(result), most) if result.isdecimal() and len(result) < 19 else default

    def document(self, name: str) -> dict[str, Any] | None:
        """Return a JSON object from the address, or None if there is none.

        Raises:
            InvalidArgument: the text is malformed.
        """
        return document(self.query_value(name), name)

    def time(self, name: str) -> datetime | None:
        """Return a time from the address, or None. Without a zone it is in UTC.

        Raises:
            InvalidArgument: the text is malformed.
        """
        result = self.query_value(name)
        if not result:
            return None
        try:
            item = datetime.fromisoformat(result)
        except ValueError:
            raise InvalidArgument(f"{name} is no time: write it as 2026-01-31T12:00", field=name) from None
        return item if item.tzinfo else item.replace(tzinfo=UTC)

    @property
    def limit(self) -> int:
        """The requested number of rows of a table."""
        if self.query_value("export"):
            return ROWS_MAX
        return max(1, self.number("limit", ROWS, ROWS_MAX))

    async def form(self) -> FormData:
        """Return the form that was sent.

        Raises:
            PermissionDenied: it is not from a page of this session.
        """
        form = await self.request.form(max_files=1, max_fields=100, max_part_size=2 * 1024 * 1024)
        token = form.get("token")
        if not isinstance(token, str) or not hmac.compare_digest(token.encode(), self.session.form_token.encode()):
            raise PermissionDenied("the form is of another session: load the page again")
        return form

    def render(self, template: str, *, here: str = "", title: str = "", status: int = 200, **values: Any) -> Response:
        """Return a page; or one of its tables as a file, if the address requests it.

        Args:
            template: Its file.
            here: The part of the navigation that it is in.
            title: The title of the browser's tab.
            status: The HTTP status.
            **values: What it shows.
        """
        if kind := self.query_value("export"):
            tables = [value for value in values.values() if isinstance(value, Table)]
            for table in tables:
                if table.name == self.query_value("table", table.name):
                    return Later(partial(table.exported, kind))
        note, self.session.note = self.session.note, ""
        shown = {
            **values,
            "here": here,
            "title": title,
            "note": note,
            "session": self.session,
            "navigation": NAVIGATION,
            "address": local(self.request.url.path),
            "asked": dict(self.request.query_params),
        }
        page = self._templates.get_template(template)

        def write() -> Response:
            begin_page()
            return HTMLResponse(page.render(shown), status)

        return Later(write)

    def problem(self, trouble: Trouble) -> Response:
        """Return the page that says what went wrong."""
        return self.render("problem.html", title=trouble.title, status=trouble.status, trouble=trouble)

    def redirect(self, address: str, note: str = "") -> Response:
        """Redirect to another page after a form, which shows a note about the change."""
        self.session.note = note
        return RedirectResponse(address, 303)


async def take(value: AsyncGenerator[T, None], limit: int) -> tuple[list[T], bool]:
    """Return the first rows of a list, and whether there are more."""
    rows: list[T] = []
    async with aclosing(value):
        async for item in value:
            if len(rows) == limit:
                return rows, True
            rows.append(item)
    return rows, False


async def everything(iterable: AsyncIterable[T], most: int = ROWS_MAX) -> list[T]:
    """Return all of a list, up to many."""
    rows: list[T] = []
    async for item in iterable:
        rows.append(item)
        if len(rows) >= most:
            break
    return rows


def document(text: str, name: str) -> dict[str, Any] | None:
    """Return a JSON object from a form, or None if the field is empty.

    Raises:
        InvalidArgument: the text is malformed.
    """
    if not text.strip():
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"{name} is no JSON: {error}", field=name) from None
    if not isinstance(value, dict):
        raise InvalidArgument(f'{name} is no JSON object, such as {{"key": "value"}}', field=name)
    return value


def local(address: str) -> str:
    """Return an address of this console; one that leads to another host, such as `//example.com/x`, becomes `/`."""
    is_local = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return address if is_local and len(address) < 4_000 else "/"


def is_id(text: str) -> bool:
    """Say whether a text is an id of the services."""
    try:
        UUID(text)
    except ValueError:
        return False
    return len(text) in {32, 36}


def node_keywords(text: str, graph_name: str = "") -> Any:
    """Return the keywords that tell a method of a node: by its id, or by the id that its owner gave it."""
    return {"node_id": text} if is_id(text) else {"external_id": text, "graph_name": graph_name}


def texts(value: str) -> list[str]:
    """Return the words of a comma-separated list from a form."""
    return [word for word in map(str.strip, value.split(",")) if word]
