"""History: a session of the graph as a chat, through any mapping, and why each node is in it or not."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import Response

from contextkeep import AssembledNode
from contextkeep_console import code
from contextkeep_console.tables import Column, Table
from contextkeep_console.trouble import part
from contextkeep_console.visit import Visit, node_keywords, take

MESSAGES_MAX = 200
FORMATS = ("", "openai", "openai_responses", "anthropic", "gemini")


async def show(visit: Visit) -> Response:
    """Show the form, and what it asks for."""
    node, mapping, app = visit.query_value("node"), visit.query_value("mapping"), visit.query_value("app")
    message_format = visit.query_value("format") if visit.query_value("format") in FORMATS else ""
    mappings = await part(take(visit.context.mappings.list(), 200))
    history = assembled = formatted = None
    if node:
        whose = node_keywords(node, visit.query_value("graph"))
        how: dict[str, Any] = {"mapping_name": mapping, "app_id": app or None}
        history, assembled = await asyncio.gather(
            part(visit.context.history.stream(**whose, **how, max_messages=MESSAGES_MAX, timeout_s=20)),
            part(take(visit.context.history.assemble(**whose, **how), max(visit.limit, 200))),
        )
        if message_format:
            formatted = await part(
                visit.context.history.formatted(
                    whose.get("node_id"),
                    message_format,  # type: ignore[arg-type] # one of the formats, as was checked
                    **how,
                    max_messages=MESSAGES_MAX,
                    **{name: value for name, value in whose.items() if name != "node_id"},
                )
            )
    nodes = _nodes(*assembled.value) if assembled and assembled.value else None
    return visit.render(
        "history.html",
        here="history",
        title="History",
        node=node,
        mappings=mappings.value[0] if mappings.value else [],
        formats=FORMATS,
        message_format=message_format,
        history=history,
        assembled=assembled,
        nodes=nodes,
        formatted=formatted,
        code=code.Code(
            python=code.python("context", "history.stream", node or "NODE", mapping_name=mapping, app_id=app),
            shell=code.shell("history", node or "NODE", mapping=mapping, format=message_format),
        ),
    )


def _nodes(rows: list[AssembledNode], has_more: bool) -> Table:
    """Return the table that says for each node why the mapping made messages of it or not."""
    return Table(
        name="nodes",
        title="Why each node is in or out",
        columns=(
            Column(name="node", value=lambda row: row.name or row.node_id, link=lambda row: f"/nodes/{row.node_id}"),
            Column(name="type", value=lambda row: row.type),
            Column(name="messages", value=lambda row: len(row.messages), kind="number"),
            Column(name="decided by", value=_decided, kind="prose"),
            Column(name="reached by", value=lambda row: row.edge_type, is_minor=True),
            Column(name="depth", value=lambda row: row.depth, kind="number", is_minor=True),
        ),
        rows=rows,
        has_more=has_more,
        empty="The mapping reads no node from here. Check the node, and the edges that the mapping follows.",
    )


def _decided(node: AssembledNode) -> str:
    if node.messages:
        return ", ".join(dict.fromkeys(message.rule for message in node.messages))
    return "; ".join(f"{each.reason}: {each.rule}{f' ({each.error})' if each.error else ''}" for each in node.skipped)
