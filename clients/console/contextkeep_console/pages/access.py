"""Access: the rights of keys, and the calls of administrators."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from contextkeep import AdministrativeCall, ApiKey
from contextkeep.errors import KeyNotFound
from contextkeep_console import code
from contextkeep_console.rendering import path, query
from contextkeep_console.tables import Column, Table, facts
from contextkeep_console.trouble import part
from contextkeep_console.visit import Visit, everything, take, texts

TABS = (
    ("/access", "Keys"),
    ("/access/audit", "Audit log"),
    ("/access/tenants", "Tenants and limits"),
    ("/access/work", "Background work"),
)
SCOPES = (
    ("read", "read what the key may see"),
    ("write", "write it"),
    ("admin", "keys, agents, sources; what any user owns"),
    ("delegate", "name the user for whom a call is"),
    ("context:read", "ask context query, and nothing else"),
    ("compile", "compile pages of the graph"),
)
_DAY_S = 86_400
LIFETIMES = (
    (90 * _DAY_S, "90 days"),
    (365 * _DAY_S, "a year"),
    (30 * _DAY_S, "30 days"),
    (_DAY_S, "a day"),
    (0, "never"),
)
_PREFIX_CHARS = 12


async def keys(visit: Visit) -> Response:
    """List the keys, or those of a context, and show the form for a new one."""
    context_id = visit.query_value("context")

    async def load_table() -> Table:
        """Load the rows of the table; the page shows an error in its place if this fails."""
        rows: list[ApiKey]
        rows, has_more = await take(visit.context.keys.list(context_id=context_id or None), visit.limit)
        return Table(
            name="keys",
            title="Keys of a context" if context_id else "Keys",
            columns=_KEYS,
            rows=rows,
            limit=visit.limit,
            has_more=has_more,
            empty="No key is stored. The first is an operator's to make: context-service keys create --subject me",
        )

    table = await part(load_table())
    return visit.render(
        "access.html",
        here="access",
        title="Access",
        tabs=TABS,
        tab="/access",
        listed=table,
        keys=table.value,
        context_id=context_id,
        scopes=SCOPES,
        lifetimes=LIFETIMES,
        code=code.Code(
            python=code.python_each("context", "keys.list", context_id=context_id),
            shell=code.shell("key", "list", context=context_id),
        ),
        create_code=_create_code("billing-agent", ["read", "write"], {"ttl_s": 90 * _DAY_S}),
    )


_KEYS = (
    Column(name="key", value=lambda row: f"{row.prefix}…", link=lambda row: f"/access/keys/{path(row.prefix)}"),
    Column(name="stands for", value=lambda row: row.subject),
    Column(name="may", value=lambda row: row.scopes),
    Column(name="user", value=lambda row: row.user_id, is_minor=True),
    Column(name="bound to", value=lambda row: ", ".join(_bounds(row))),
    Column(name="last used", value=lambda row: row.last_used_at, kind="time"),
    Column(name="ends", value=lambda row: row.expires_at, kind="time", is_minor=True),
    Column(name="state", value=lambda row: "revoked" if row.revoked_at else "valid", kind="state"),
)


def _bounds(key: ApiKey) -> list[str]:
    """Return what a key is bound to, one text for each app, bundle, graph and context."""
    return [
        *(f"app {app_id}" for app_id in key.app_ids),
        *([f"bundle {key.agent_bundle_id}"] if key.agent_bundle_id else []),
        *(f"graph {graph_name}" for graph_name in key.graph_names),
        *([f"context {key.context_id}"] if key.context_id else []),
    ]


async def key(visit: Visit) -> Response:
    """Show a key, by how it begins."""
    prefix, context_id = visit.step("prefix")[:_PREFIX_CHARS], visit.query_value("context")
    listed: list[ApiKey] = await everything(visit.context.keys.list(context_id=context_id or None, page_size=1000))
    result = next((item for item in listed if item.prefix == prefix), None)
    if result is None:
        raise KeyNotFound("no key of your tenant, within the bounds of your own, begins like this")
    return visit.render(
        "access_key.html",
        here="access",
        title=result.prefix,
        key=result,
        facts=facts(
            [
                ("Stands for", result.subject),
                ("May", ", ".join(result.scopes)),
                ("User", result.user_id),
                ("Agent", result.agent_id),
                ("Bound to", ", ".join(_bounds(result))),
                ("Made by", result.made_by),
                ("Created", result.created_at),
                ("Ends", result.expires_at),
                ("Revoked", result.revoked_at),
                ("Last used", result.last_used_at),
            ]
        ),
        code=code.Code(
            python=code.python("context", "keys.revoke", result.prefix),
            shell=code.shell("key", "revoke", result.prefix),
        ),
    )


async def create(visit: Visit) -> Response:
    """Make a key, and show it: this once."""
    form = await visit.form()
    subject = str(form.get("subject", "")).strip()
    scopes = [str(item) for item in form.getlist("scope")]
    ttl = str(form.get("ttl", "0"))
    values: dict[str, Any] = {
        "user_id": str(form.get("user", "")).strip(),
        "agent_id": str(form.get("agent", "")).strip(),
        "app_ids": texts(str(form.get("apps", ""))),
        "agent_bundle_id": str(form.get("bundle", "")).strip(),
        "graph_names": texts(str(form.get("graphs", ""))),
        "ttl_s": int(ttl) if ttl.isdecimal() and len(ttl) < 12 else 0,
    }
    result = await visit.context.keys.create(subject, scopes, **values)
    return visit.render(
        "access_created.html",
        here="access",
        title="A new key",
        made=result,
        subject=subject,
        code=_create_code(subject, scopes, values),
    )


def _create_code(subject: str, scopes: list[str], values: dict[str, Any]) -> code.Code:
    """Return the Python and the shell command that create a key like the one in the form."""
    command = code.shell(
        *("key", "create", subject),
        scope=scopes,
        user=values.get("user_id", ""),
        agent=values.get("agent_id", ""),
        app=values.get("app_ids", []),
        bundle=values.get("agent_bundle_id", ""),
        graph=values.get("graph_names", []),
        ttl=values["ttl_s"],
    )
    result = {name: value for name, value in values.items() if value}
    return code.Code(python=code.python("context", "keys.create", subject, scopes, **result), shell=command)


async def revoke(visit: Visit) -> Response:
    """Take a key back."""
    prefix = visit.step("prefix")[:_PREFIX_CHARS]
    await visit.context.keys.revoke(prefix)
    return visit.redirect("/access", f"{prefix}… is revoked; the services follow within two seconds.")


async def audit(visit: Visit) -> Response:
    """List what administrators did, or one call of them."""
    call_id = visit.query_value("call")

    async def load_table() -> Table:
        """Load the rows of the table; the page shows an error in its place if this fails."""
        rows: list[AdministrativeCall]
        rows, has_more = await take(visit.context.operations.list_administrative_calls(call_id=call_id), visit.limit)
        return Table(
            name="calls",
            title="What administrators did",
            columns=_CALLS,
            rows=rows,
            limit=visit.limit,
            has_more=has_more,
            empty="No administrator has called by this id."
            if call_id
            else "No administrator has changed anything yet.",
        )

    table = await part(load_table())
    return visit.render(
        "access_audit.html",
        here="access",
        title="Audit log",
        tabs=TABS,
        tab="/access/audit",
        listed=table,
        calls=table.value,
        call_id=call_id,
        code=code.Code(
            python=code.python_each("context", "operations.list_administrative_calls", call_id=call_id),
            shell=code.shell("audit", call=call_id),
        ),
    )


_CALLS = (
    Column(name="when", value=lambda row: row.called_at, kind="time"),
    Column(name="who", value=lambda row: row.subject),
    Column(name="did", value=lambda row: row.method.rpartition(".")[2]),
    Column(name="outcome", value=lambda row: row.reason or row.status, kind="state"),
    Column(
        name="what",
        value=lambda row: ", ".join(f"{name} {', '.join(ids)}" for name, ids in row.ids.items()),
        kind="prose",
    ),
    Column(name="from", value=lambda row: row.peer, is_minor=True),
    Column(name="call", value=lambda row: row.call_id, link=lambda row: f"/access/audit{query({'call': row.call_id})}"),
)
