"""Graph: search for nodes, a node with all its parts, and its neighbours."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.datastructures import FormData
from starlette.responses import Response

from contextkeep import Edge, Envelope, Node
from contextkeep.errors import InvalidArgument
from contextkeep_console import code
from contextkeep_console.drawing import NODES_MAX, Drawing, drawing
from contextkeep_console.pages.memory import record_columns
from contextkeep_console.tables import Column, Table, facts
from contextkeep_console.titles import title_of_node
from contextkeep_console.trouble import part
from contextkeep_console.visit import Visit, document, everything, take

EDGES = 200  # of a node, shown


def node_columns() -> tuple[Column, ...]:
    """Return the columns of nodes."""
    return (
        Column(
            name="node",
            value=title_of_node,
            link=lambda row: f"/nodes/{row.id}",
        ),
        Column(name="type", value=lambda row: row.specific_type_name or row.general_type_name),
        Column(name="status", value=lambda row: row.status, kind="state"),
        Column(name="data", value=lambda row: row.data_json, is_minor=True),
        Column(name="changed", value=lambda row: row.modified_at, kind="time", is_minor=True),
        Column(name="id", value=lambda row: row.id, kind="id", is_minor=True),
    )


async def index(visit: Visit) -> Response:
    """Find nodes, with filters."""
    graph_name, kind, name = visit.query_value("graph"), visit.query_value("type"), visit.query_value("name")
    contains, where = visit.document("contains"), visit.document("where")
    archived = visit.query_value("archived") == "yes"
    condition: dict[str, Any] = {}
    if kind:
        condition["type"] = kind
    if name:
        condition["name"] = {"$ilike": f"%{name}%"}
    if where:
        condition = {"$and": [condition, where]} if condition else where
    values: dict[str, Any] = {"contains": contains, "graph_name": graph_name, "include_archived": archived}

    async def load_table() -> Table:
        """Load the rows of the table; the page shows an error in its place if this fails."""
        rows: list[Node]
        rows, has_more = await take(
            visit.graph.graph.search(condition or None, **values, descending=True, page_size=min(visit.limit + 1, 500)),
            visit.limit,
        )
        return Table(
            name="nodes",
            title="Nodes, the newest first",
            columns=node_columns(),
            rows=rows,
            limit=visit.limit,
            has_more=has_more,
            empty=(
                "No node is like that. Loosen the question."
                if condition or contains
                else "There is no node in this graph yet. Write one as below."
            ),
        )

    nodes, graphs, types = await asyncio.gather(
        part(load_table()),
        part(take(visit.graph.graph.list_graphs(), 50)),
        part(take(visit.graph.graph.list_edge_types(graph_name), 50)),
    )
    return visit.render(
        "graph.html",
        here="graph",
        title="Graph",
        nodes=nodes,
        table=nodes.value,
        graphs=graphs.value[0] if graphs.value else [],
        edge_types=Table(
            name="edge-types",
            title="Edge types",
            columns=(
                Column(name="edge type", value=lambda row: row.edge_type),
                Column(name="edges", value=lambda row: row.edges, kind="number"),
            ),
            rows=types.value[0] if types.value else [],
            empty="No edge is written in this graph yet.",
        ),
        code=code.Code(
            python=code.python_each(
                "graph", "graph.search", *([condition] if condition else []), **values, descending=True
            ),
            shell=code.shell(
                "search",
                where=code.json_text(condition),
                contains=code.json_text(contains),
                graph=graph_name,
                order_by="-created_at",
            ),
        ),
        begin=code.Code(
            python=code.python("graph", "graph.create_node", "Session", name="first"),
            shell=code.shell("node", "create", "Session", name="first"),
        ),
    )


async def node(visit: Visit) -> Response:
    """Show a node: data, input and output, edges, timeline, vectors, records, and its neighbours."""
    node_id = visit.step("node_id")
    result = await visit.graph.graph.get_node(node_id)
    depth = 2 if visit.query_value("depth") == "2" else 1
    io, edges, around, progress, vectors, records = await asyncio.gather(
        part(visit.graph.graph.get_node_io(node_id)),
        part(_edges(visit, node_id)),
        part(_around(visit, result, depth)),
        part(_progress(visit, node_id)),
        part(_vectors(visit, node_id)),
        part(_records(visit, node_id)),
    )
    return visit.render(
        "node.html",
        here="graph",
        title=title_of_node(result),
        name=title_of_node(result),
        node=result,
        depth=depth,
        io=io,
        edges=edges,
        around=around,
        progress=progress,
        vectors=vectors,
        records=records,
        edge_table=edges.value,
        progress_table=progress.value,
        record_table=records.value,
        vector_table=vectors.value,
        facts=facts(
            [
                ("Type", _type(result)),
                ("Status", result.status),
                ("Graph", result.graph_name),
                ("Your id", result.external_id),
                ("Agent bundle", result.agent_bundle_id),
                ("Context", result.context_id),
                ("Owner", result.owner_user_id),
                ("Agent", result.agent_id),
                ("Created by", result.created_by),
                ("Created", result.created_at),
                ("Changed", result.modified_at),
                ("Version", result.version),
                ("Archived", "yes" if result.is_archived else ""),
            ]
        ),
        code=code.Code(
            python=code.python("graph", "graph.get_node", result.id),
            shell=code.shell("node", "get", result.id, json=True),
        ),
        change_codes=_changes(result),
        walk=code.Code(
            python=code.python_each("graph", "graph.traverse", result.id, direction="both", depth_max=depth),
            shell=code.shell("node", "connected", result.id, depth=depth),
        ),
    )


def _changes(item: Node) -> dict[str, code.Code]:
    """Return what the forms of a node do, as code."""
    version = item.version
    return {
        "Change as code": code.Code(
            python=code.python(
                "graph", "graph.update_node_data", item.id, {"language": "de"}, replace=True, expected_version=version
            ),
            shell=code.shell("node", "update", item.id, '{"language": "de"}', replace=True, expected_version=version),
        ),
        "Archive as code": code.Code(
            python=code.python(
                "graph", "graph.archive_node", item.id, restore=item.is_archived, expected_version=version
            ),
            shell=code.shell("node", "archive", item.id, restore=item.is_archived),
        ),
        "Delete as code": code.Code(
            python=code.python("graph", "graph.delete_node", item.id, expected_version=version),
            shell=code.shell("node", "delete", item.id, expected_version=version),
        ),
    }


def _type(item: Node) -> str:
    if item.specific_type_name and item.specific_type_name != item.general_type_name:
        return f"{item.specific_type_name} ({item.general_type_name})"
    return item.general_type_name


async def _edges(visit: Visit, node_id: str) -> Table:
    """Load the table of a node's edges, with the names of the nodes at their other ends."""
    rows: list[Edge]
    limit = max(EDGES, visit.limit)
    rows, has_more = await take(visit.graph.graph.list_edges(node_id, direction="both", page_size=EDGES), limit)
    ends = {row.to_node_id if row.from_node_id == node_id else row.from_node_id for row in rows}
    others = await visit.graph.graph.get_nodes(sorted(ends)[:1000]) if ends else None
    names = {item.id: title_of_node(item) for item in others.nodes} if others else {}

    def other(item: Edge) -> str:
        return item.to_node_id if item.from_node_id == node_id else item.from_node_id

    return Table(
        name="edges",
        title="Edges",
        columns=(
            Column(name="direction", value=lambda row: "out" if row.from_node_id == node_id else "in"),
            Column(name="edge", value=lambda row: row.edge_type, link=lambda row: f"/edges/{row.id}"),
            Column(
                name="node",
                value=lambda row: names.get(other(row)) or other(row),
                link=lambda row: f"/nodes/{other(row)}",
            ),
            Column(name="data", value=lambda row: "" if row.data_json == "{}" else row.data_json, is_minor=True),
            Column(name="created", value=lambda row: row.created_at, kind="time", is_minor=True),
        ),
        rows=rows,
        limit=limit,
        has_more=has_more,
        empty="No edge begins or ends here.",
    )


async def _around(visit: Visit, middle: Node, depth: int) -> Drawing | None:
    """Return the drawing of the nodes around a node, or None if it has no neighbour."""
    walk = visit.graph.graph.traverse(middle.id, direction="both", depth_max=depth, limit=NODES_MAX + 40)
    result = await everything(walk)
    if not result:
        return None
    others = [(item.node, item.depth, item.reached_by.node_id if item.reached_by else "") for item in result]
    # Edges of the middle, and the edges over which the walk reached further nodes.
    edges, _ = await take(visit.graph.graph.list_edges(middle.id, direction="both", page_size=EDGES), EDGES)
    further = [item.reached_by.edge_id for item in result if item.reached_by and item.depth > 1]
    if further:
        edges += (await visit.graph.graph.get_edges(further[:1000])).edges
    return drawing(middle, others, edges)


async def _progress(visit: Visit, node_id: str) -> Table:
    """Load the timeline of a node, the newest entry first."""
    rows: list[Envelope]
    rows, has_more = await take(visit.graph.progress.list(node_id, descending=True), visit.limit)
    return Table(
        name="timeline",
        title="Timeline, the newest first",
        columns=(
            Column(name="at", value=lambda row: row.created_at, kind="time"),
            Column(name="what", value=lambda row: row.type, kind="state"),
            Column(name="status", value=lambda row: row.status, kind="state"),
            Column(name="message", value=lambda row: row.message or row.value_json or row.error_json, kind="prose"),
            Column(name="by", value=lambda row: row.created_by, is_minor=True),
        ),
        rows=rows,
        limit=visit.limit,
        has_more=has_more,
        empty="Its timeline is empty. progress.append and a change of its status write to it.",
    )


async def _vectors(visit: Visit, node_id: str) -> Table:
    """Load the table of a node's embeddings."""
    rows, _ = await take(visit.graph.embeddings.list(node_id), 100)
    return Table(
        name="vectors",
        title="Vectors",
        columns=(
            Column(name="name", value=lambda row: row.name),
            Column(name="model", value=lambda row: row.model),
            Column(name="dimension", value=lambda row: row.dimension, kind="number"),
            Column(name="created", value=lambda row: row.created_at, kind="time"),
        ),
        rows=rows,
        empty="It has no vector.",
    )


async def _records(visit: Visit, node_id: str) -> Table:
    """Load the table of the records of working memory that belong to a node."""
    rows, has_more = await take(visit.context.records.list_by_entity(node_id), visit.limit)
    return Table(
        name="records",
        title="Records of working memory",
        columns=record_columns(),
        rows=rows,
        limit=visit.limit,
        has_more=has_more,
        empty="No file or JSON belongs to it. Upload one on the page Working memory.",
    )


async def edge(visit: Visit) -> Response:
    """Show an edge and its two ends."""
    result = await visit.graph.graph.get_edge(visit.step("edge_id"))
    ends = await visit.graph.graph.get_nodes([result.from_node_id, result.to_node_id])
    by_id = {item.id: item for item in ends.nodes}
    return visit.render(
        "edge.html",
        here="graph",
        title=f"Edge {result.edge_type}",
        edge=result,
        start=by_id.get(result.from_node_id),
        end_node=by_id.get(result.to_node_id),
        facts=facts(
            [
                ("Type", result.edge_type),
                ("Graph", result.graph_name),
                ("Created", result.created_at),
                ("Version", result.version),
            ]
        ),
        code=code.Code(
            python=code.python("graph", "graph.get_edge", result.id),
            shell=code.shell("edge", "list", result.from_node_id, type=result.edge_type),
        ),
    )


async def create(visit: Visit) -> Response:
    """Write a node."""
    form = await visit.form()
    kind, name, graph_name = (str(form.get(each, "")).strip() for each in ("type", "name", "graph"))
    data = document(str(form.get("data", "")), "data")
    result = await visit.graph.graph.create_node(kind, name=name, graph_name=graph_name, data=data)
    return visit.redirect(f"/nodes/{result.id}", "It is written.")


async def change(visit: Visit) -> Response:
    """Put new data in the place of a node's, if it is still as the visitor saw it."""
    form = await visit.form()
    node_id, version = visit.step("node_id"), _version(form)
    data = document(str(form.get("data", "")), "data")
    await visit.graph.graph.update_node_data(node_id, data or {}, replace=True, expected_version=version)
    return visit.redirect(f"/nodes/{node_id}", "Its data are changed.")


async def archive(visit: Visit) -> Response:
    """Archive a node, or bring it back."""
    form = await visit.form()
    node_id, restore = visit.step("node_id"), form.get("restore") == "yes"
    await visit.graph.graph.archive_node(node_id, restore=restore, expected_version=_version(form))
    return visit.redirect(f"/nodes/{node_id}", "It is back." if restore else "It is archived: searches pass it over.")


async def delete(visit: Visit) -> Response:
    """Delete a node for good, with its edges, if the visitor confirms it and it has not changed since."""
    form = await visit.form()
    node_id = visit.step("node_id")
    if form.get("sure") != "yes":
        raise InvalidArgument("confirm the deletion: it cannot be undone", field="sure")
    edges = await visit.graph.graph.delete_node(node_id, expected_version=_version(form))
    return visit.redirect("/graph", f"The node is deleted, with {edges} edges.")


def _version(form: FormData) -> int:
    """Return which version the visitor saw.

    Raises:
        InvalidArgument: the form does not say.
    """
    version = str(form.get("version", ""))
    if not version.isdecimal() or len(version) > 15:
        raise InvalidArgument("the form says no version: load the page again", field="version")
    return int(version)
