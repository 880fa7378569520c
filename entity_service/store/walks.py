"""The statements of walks: children by an index, the nodes of a level, documents, and the newest nodes of few levels.

A page has whole nodes or the requested columns only. For columns, Postgres writes each row as a JSON array, and no code
parses it on its way to the reader.

In all of these statements, `OFFSET 0` keeps the planner from replacing look-ups by key with a hash of all rows of a
tenant. The planner prefers the hash for a thousand keys, and always if there are no statistics yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from entity_service.model.walks import BOUNDED_EDGE_TYPES, EDGE_BYTES_MAX, EDGES_MAX, Column
from entity_service.store.nodes import SQL as NODES_SQL
from service_runtime.statements.sql_files import SqlFile

# How each column of a row is written as JSON: the arguments of `concat`.
_JSON = {
    Column.ID: """'"', n.id, '"'""",
    Column.EXTERNAL_ID: "to_json(coalesce(n.external_id, ''))",
    Column.GENERAL_TYPE_NAME: "to_json(n.general_type_name)",
    Column.SPECIFIC_TYPE_NAME: "to_json(n.specific_type_name)",
    Column.NAME: "to_json(n.name)",
    Column.STATUS: "to_json(n.status)",
    Column.DATA: "n.data",
    Column.CREATED_AT: "(extract(epoch FROM n.created_at) * 1000000)::bigint",
    Column.MODIFIED_AT: "(extract(epoch FROM n.modified_at) * 1000000)::bigint",
    Column.SEQ: "n.seq",
    Column.IS_ARCHIVED: "to_json(n.is_archived)",
    Column.VERSION: "n.version",
    Column.AGENT_BUNDLE_ID: "to_json(n.agent_bundle_id)",
    Column.OWNER_USER_ID: "to_json(coalesce(n.owner_user_id, ''))",
    Column.DEPTH: "n.depth",
    Column.EDGE_ID: """'"', n.edge_id, '"'""",
    Column.EDGE_TYPE: "to_json(coalesce(n.edge_type, ''))",
    Column.FROM_NODE_ID: """'"', n.near_id, '"'""",
    Column.EDGE_DATA: "coalesce(n.edge_data, '{}')",
    Column.EDGE_VERSION: "coalesce(n.edge_version, 0)",
    Column.IO: """'{', '"input":' || n.input::text, CASE WHEN n.input IS NOT NULL AND n.output IS NOT NULL THEN ',' END,
        '"output":' || n.output::text, '}'""",
    Column.EDGES: "n.edges",
    Column.PATH: "n.path",
}


_IO_COLUMNS = ", n.input::text, n.output::text"


SQL = SqlFile.of(
    __file__,
    nodes=NODES_SQL,
    bounded_edge_types=repr(BOUNDED_EDGE_TYPES),
    edges_max=EDGES_MAX,
    edge_bytes_max=EDGE_BYTES_MAX,
)
LEVEL = SQL["level"]
STARTS = SQL["starts"]


@lru_cache(maxsize=256)  # bounded, since callers may request any list of columns
def children(*, descending: bool, columns: tuple[Column, ...], with_io: bool) -> str:
    """Return the statement of a page of children.

    Args:
        descending: Return the newest first.
        columns: The requested columns; empty returns whole nodes.
        with_io: Return input and output with whole nodes.
    """
    direction, beyond = ("DESC", "<") if descending else ("ASC", ">")
    return _fill("children", columns, edge_data="c.data", with_io=with_io, direction=direction, beyond=beyond)


@lru_cache(maxsize=256)
def documents(*, columns: tuple[Column, ...], with_io: bool) -> str:
    """Return the statement of the documents of visited nodes; for the arguments, see `children`."""
    return _fill("documents", columns, edge_data="e.data", with_io=with_io)


@lru_cache(maxsize=256)
def newest(*, columns: tuple[Column, ...], with_io: bool) -> str:
    """Return the statement of the newest nodes; for the arguments, see `children`. It cannot return the path."""
    return _fill("newest", columns, edge_data="n.edge_data", with_io=with_io)


def _fill(statement: str, columns: Sequence[Column], *, edge_data: str, with_io: bool, **more: str) -> str:
    """Return a statement that reads the columns and counts their bytes; `more` has the parts of this statement only."""
    if columns:
        selected = SQL.filled("row_columns", columns=", ',', ".join(_JSON[column] for column in columns))
        with_io = Column.IO in columns
    else:
        selected = f"{SQL['reached_columns']}, {NODES_SQL['node_columns']}{_IO_COLUMNS if with_io else ''}"
    sizes, read, joins = ["%(row_bytes)s"], "", ""
    if not columns or Column.DATA in columns:
        sizes.append("entity.document_bytes(n.data)")
    if not columns or Column.EDGE_DATA in columns:
        sizes.append(f"coalesce(entity.document_bytes({edge_data}), 0)")
    path = "join_path_of_child" if statement == "children" else "join_path"
    for is_read, join, name, names in (
        (with_io, "join_io", "io", ("input", "output")),
        (Column.EDGES in columns, "join_edges", "edges", ("edges",)),
        (Column.PATH in columns, path, "path", ("path",)),
    ):
        if is_read:
            sizes.append(f"coalesce({name}.bytes, 0)")
            read += "".join(f", {name}.{column}" for column in names)
            joins += f"\n{SQL[join]}"
    return SQL.filled(statement, columns=selected, bytes=" + ".join(sizes), read=read, joins=joins, **more)
