"""The composition root: the clients, the sessions, the pages, and the guard in front of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from contextkeep import AsyncContextClient, AsyncEntityClient
from contextkeep.errors import ContextKeepError, Unauthenticated
from contextkeep_console.files.previews import Previews
from contextkeep_console.guard import Guard
from contextkeep_console.pages import (
    access,
    contexts,
    defining,
    files,
    finding,
    graph,
    history,
    knowledge,
    mappings,
    memories,
    memory,
    operating,
    overview,
    sources,
    testing,
    windows,
)
from contextkeep_console.pages.entrance import Entrance
from contextkeep_console.rendering import environment
from contextkeep_console.session import Sessions
from contextkeep_console.settings import Settings
from contextkeep_console.trouble import Trouble, trouble_of
from contextkeep_console.visit import Visit

STATIC = Path(__file__).parent / "static"
# A page must not wait longer; visitors can reload it.
TIMEOUT_S, RETRIES = 10.0, 1

Page = Callable[[Visit], Awaitable[Response]]

GET: tuple[tuple[str, Page], ...] = (
    ("/", overview.show),
    ("/find", finding.find),
    ("/contexts", contexts.index),
    ("/contexts/{context_id}", contexts.show),
    ("/contexts/{context_id}/messages/{message_id:path}", contexts.message),
    ("/contexts/{context_id}/recall", contexts.recall),
    ("/contexts/{context_id}/delete", contexts.ask_delete),
    ("/erasures/{erasure_id}", contexts.erasure),
    ("/tasks/{task_id}", contexts.task),
    ("/tasks/{task_id}/artifacts/{artifact_id:path}", contexts.artifact),
    ("/windows", windows.index),
    ("/windows/{window_id}", windows.show),
    ("/windows/{window_id}/pack", windows.pack),
    ("/windows/{window_id}/state", windows.state),
    ("/windows/{window_id}/original", windows.original),
    ("/graph", graph.index),
    ("/nodes/{node_id}", graph.node),
    ("/edges/{edge_id}", graph.edge),
    ("/memory", memory.index),
    ("/records/{record_id}", memory.record),
    ("/records/{record_id}/content", memory.content),
    ("/files/{record_id}", files.view),
    ("/files/{record_id}/thumbnail", files.thumbnail),
    ("/files/{record_id}/pages/{number}", files.page),
    ("/files/{record_id}/content", files.content),
    ("/files/{record_id}/download", files.download),
    ("/history", history.show),
    ("/mappings", mappings.index),
    ("/mappings/show", mappings.show),
    ("/mappings/try", mappings.trial),
    ("/sources", sources.index),
    ("/sources/bases", knowledge.bases),
    ("/sources/tools", knowledge.tools),
    ("/sources/pages", knowledge.pages),
    ("/sources/pages/{page_id}", knowledge.page),
    ("/sources/memories", memories.index),
    ("/sources/memories/{memory_id}", memories.show),
    ("/sources/definitions", defining.definitions),
    ("/sources/definitions/{name:path}", defining.definition),
    ("/sources/compiled", defining.compiled_pages),
    ("/sources/compiled/{page_id}", defining.compiled_page),
    ("/sources/settings", testing.settings),
    ("/sources/tests", testing.tests),
    ("/sources/tests/{test_id}", testing.test),
    ("/access", access.keys),
    ("/access/keys/{prefix}", access.key),
    ("/access/audit", access.audit),
    ("/access/tenants", operating.tenants),
    ("/access/work", operating.work),
    ("/access/jobs/{job_id}", operating.job),
)
POST: tuple[tuple[str, Page], ...] = (
    ("/contexts/{context_id}/delete", contexts.delete),
    ("/windows/{window_id}/pack", windows.pack_now),
    ("/windows/{window_id}/pin", windows.pin),
    ("/windows/{window_id}/unpin", windows.unpin),
    ("/windows/{window_id}/checkpoint", windows.checkpoint),
    ("/windows/{window_id}/rollback", windows.rollback),
    ("/nodes", graph.create),
    ("/nodes/{node_id}/data", graph.change),
    ("/nodes/{node_id}/archive", graph.archive),
    ("/nodes/{node_id}/delete", graph.delete),
    ("/records", memory.upload),
    ("/records/{record_id}/archive", memory.archive),
    ("/records/{record_id}/restore", memory.restore),
    ("/mappings/try", mappings.tried),
    ("/mappings/register", mappings.register),
    ("/sources/tools", knowledge.approve),
    ("/sources/memories/{memory_id}", memories.correct),
    ("/sources/memories/{memory_id}/end", memories.end),
    ("/sources/memories/{memory_id}/forget", memories.forget),
    ("/sources/definitions/{name:path}", defining.decide),
    ("/sources/settings", testing.change),
    ("/sources/tests", testing.run),
    ("/access/keys", access.create),
    ("/access/keys/{prefix}/revoke", access.revoke),
    ("/access/tenants", operating.limit),
    ("/access/work/retry", operating.retry),
    ("/access/jobs", operating.start),
)


def console(settings: Settings, sessions: Sessions | None = None) -> ASGIApp:
    """Return the console, as an ASGI application.

    Args:
        settings: The address to listen at, and the services to show.
        sessions: The sessions of visitors. Default: none yet.
    """
    sessions = Sessions() if sessions is None else sessions
    templates = environment()
    # Never with the key of this process's environment: every call uses a visitor's key.
    context = AsyncContextClient(settings.context_address, api_key="", timeout_s=TIMEOUT_S, retries=RETRIES)
    entity = AsyncEntityClient(settings.entity_address, api_key="", timeout_s=TIMEOUT_S, retries=RETRIES)
    entrance = Entrance(sessions, templates, context, entity, settings)

    def served(page: Page) -> Callable[[Request], Awaitable[Response]]:
        """Return the handler of a page: it finds the visitor's session, and shows errors of the services as a page."""

        async def serve(request: Request) -> Response:
            # A request that the page's script makes by itself (`part`) does not prolong the session.
            session = sessions.find(entrance.cookie_of(request), is_use="part" not in request.query_params)
            if session is None:
                return _to_sign_in(request)
            visit = Visit(request, session, templates)
            try:
                if request.method == "POST":
                    await visit.form()
                return await page(visit)
            except (ContextKeepError, BaseExceptionGroup) as raised:
                error = _first(raised)
                if isinstance(error, Unauthenticated):
                    sessions.end(entrance.cookie_of(request))
                    return RedirectResponse("/sign-in?why=refused", 303)
                return visit.problem(trouble_of(error))
            finally:
                await request.close()  # deletes the temporary files of a form

        return serve

    async def not_found(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 404
        session = sessions.find(entrance.cookie_of(request))
        if session is None:
            return PlainTextResponse("there is no such page", status)
        trouble = Trouble(status=status, title="There is no such page", text=request.url.path)
        return Visit(request, session, templates).problem(trouble)

    async def broken(_request: Request, _error: Exception) -> Response:
        return PlainTextResponse("this page is broken; the console's log says why", 500)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with context, entity:
            yield

    pages = Starlette(
        routes=[
            Route("/sign-in", entrance.ask, methods=["GET"]),
            Route("/sign-in", entrance.sign_in, methods=["POST"]),
            Route("/sign-out", entrance.sign_out, methods=["POST"]),
            Route("/healthz", lambda _: PlainTextResponse("ok")),
            *(Route(path, served(page), methods=["POST"]) for path, page in POST),
            *(Route(path, served(page), methods=["GET"]) for path, page in GET),
            Mount("/static", StaticFiles(directory=STATIC), name="static"),
        ],
        exception_handlers={404: not_found, 405: not_found, 500: broken},
        lifespan=lifespan,
    )
    pages.state.previews = Previews()
    # The guard is around all pages, also around the answer to a page that raised an error.
    guarded = Guard(pages, hosts=settings.hosts, is_secure=settings.is_secure, public_url=settings.public_url)
    if not settings.trusted_proxies:
        return guarded
    # An ingress in front of the console sends all requests from its own address; the header has that of the visitor.
    trusted = list(settings.trusted_proxies)
    return cast("ASGIApp", ProxyHeadersMiddleware(cast("Any", guarded), trusted_hosts=trusted))  # uvicorn's own types


def _to_sign_in(request: Request) -> Response:
    """Return the redirect of a visitor without a session to the sign-in page, which leads back to the wanted page."""
    if request.method != "GET":
        return RedirectResponse("/sign-in?why=ended", 303)
    there = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse("/sign-in" if there == "/" else f"/sign-in?next={quote(there, safe='')}", 303)


def _first(raised: BaseException) -> ContextKeepError:
    """Return the first error of a group, at any depth, since a page shows one error.

    Raises:
        BaseException: `raised`, if its first error is not one of the services.
    """
    error = raised
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if not isinstance(error, ContextKeepError):
        raise raised
    return error
