"""Mappings: the rules that make messages of nodes, tried before they are registered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from starlette.responses import Response

from contextkeep import ChatMapping, NodeTrial
from contextkeep.errors import ContextKeepError, InvalidArgument, Unauthenticated
from contextkeep_console import code
from contextkeep_console.rendering import query
from contextkeep_console.tables import Column, Table, facts
from contextkeep_console.trouble import Trouble, trouble_of
from contextkeep_console.visit import Visit, document, node_keywords, take

NODES_MAX = 100  # that rules are tried on
EXAMPLE = {
    "edge_types": ["Contains"],
    "messages": [
        {"role": "'user'", "content": "entity.data.user_input", "when": "has(entity.data.user_input)"},
        {"role": "'assistant'", "content": "entity.data.assistant_output", "when": "has(entity.data.assistant_output)"},
    ],
}


async def index(visit: Visit) -> Response:
    """List the mappings that the key sees."""
    rows: list[ChatMapping]
    rows, has_more = await take(visit.context.mappings.list(app_id=visit.query_value("app")), visit.limit)
    table = Table(
        name="mappings",
        title="Mappings",
        columns=(
            Column(
                name="mapping",
                value=lambda row: row.mapping_name,
                link=lambda row: f"/mappings/show{query({'name': row.mapping_name, 'app': row.app_id})}",
            ),
            Column(name="app", value=lambda row: row.app_id or ("built in" if row.built_in else "shared")),
            Column(name="version", value=lambda row: row.version or "", kind="number"),
            Column(name="rules version", value=lambda row: row.rules_version or "", kind="number", is_minor=True),
            Column(name="wrong", value=lambda row: row.error),
            Column(name="updated", value=lambda row: row.updated_at, kind="time", is_minor=True),
        ),
        rows=rows,
        limit=visit.limit,
        has_more=has_more,
        empty="No mapping of that app is registered.",
    )
    return visit.render(
        "mappings.html",
        here="mappings",
        title="Mappings",
        table=table,
        code=code.Code(
            python=code.python_each("context", "mappings.list", app_id=visit.query_value("app")),
            shell=code.shell("mapping", "list"),
        ),
    )


async def show(visit: Visit) -> Response:
    """Show a mapping's rules."""
    name, app = visit.query_value("name"), visit.query_value("app")
    mapping = await visit.context.mappings.get(name, app_id=app)
    return visit.render(
        "mapping.html",
        here="mappings",
        title=mapping.mapping_name,
        mapping=mapping,
        facts=facts(
            [
                ("App", mapping.app_id or ("built in" if mapping.built_in else "shared by all")),
                ("Version", mapping.version),
                ("Rules version", mapping.rules_version),
                ("Created", mapping.created_at),
                ("Updated", mapping.updated_at),
                ("No longer compiles", mapping.error),
            ]
        ),
        code=code.Code(
            python=code.python("context", "mappings.get", name, app_id=app),
            shell=code.shell("mapping", "list", json=True),
        ),
    )


async def trial(visit: Visit) -> Response:
    """Show the form to try rules with, beginning with a mapping's or an example."""
    rules: Any = EXAMPLE
    name, app = visit.query_value("name"), visit.query_value("app")
    if name:
        rules = (await visit.context.mappings.get(name, app_id=app)).rules
    return _trial(
        visit, json.dumps(rules, ensure_ascii=False, indent=2), name, app, visit.query_value("node"), None, None
    )


async def tried(visit: Visit) -> Response:
    """Try rules on what they reach from a node; nothing is registered."""
    form = await visit.form()
    rules, node = str(form.get("rules", "")), str(form.get("node", "")).strip()
    name, app = (str(form.get(each, "")).strip() for each in ("name", "app"))
    trials: list[NodeTrial] | None = None
    trouble = None
    try:
        result = document(rules, "rules")
        if result is None or not node:
            raise InvalidArgument("give rules, and a node to try them on")
        trials, _ = await take(visit.context.mappings.test(result, **node_keywords(node)), NODES_MAX)
    except Unauthenticated:
        raise
    except ContextKeepError as error:  # the visitor's text stays on the page
        trouble = trouble_of(error)
    return _trial(visit, rules, name, app, node, trials, trouble)


def _trial(
    visit: Visit,
    rules: str,
    name: str,
    app: str,
    node: str,
    trials: Sequence[NodeTrial] | None,
    trouble: Trouble | None,
) -> Response:
    """Return the page on which a visitor tries rules, with the results or the error of the last trial."""
    return visit.render(
        "mapping_try.html",
        here="mappings",
        title="Try rules",
        status=trouble.status if trouble else 200,
        rules=rules,
        name=name,
        app=app,
        node=node,
        trials=trials,
        trouble=trouble,
        code=code.Code(
            python=code.python_each("context", "mappings.test", EXAMPLE, node_id=node or "NODE"),
            shell=code.shell("mapping", "test", "mappings.yaml", mapping=name or "tickets", node=node or "NODE"),
        ),
        register_code=code.Code(
            python=code.python("context", "mappings.register", name or "tickets", EXAMPLE, app_id=app),
            shell=code.shell("mapping", "apply", "mappings.yaml"),
        ),
    )


async def register(visit: Visit) -> Response:
    """Register rules under a name."""
    form = await visit.form()
    name, app = (str(form.get(each, "")).strip() for each in ("name", "app"))
    rules = document(str(form.get("rules", "")), "rules")
    if rules is None or not name:
        raise InvalidArgument("give rules, and a name for them")
    result = await visit.context.mappings.register(name, rules, app_id=app, replace=form.get("replace") == "yes")
    return visit.redirect(
        f"/mappings/show{query({'name': result.mapping_name, 'app': result.app_id})}",
        f"{result.mapping_name} is registered, version {result.version}.",
    )
