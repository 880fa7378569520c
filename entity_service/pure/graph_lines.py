"""A graph as lines of JSON, the format of exports and imports.

    {"graph": {"version": 1, "graph_name": "default"}}
    {"node": {"id": "...", "general_type_name": "Turn", "created_at": "2026-01-31T12:00:00.000001+00:00", "data": {}}}
    {"input": {"node_id": "...", "value": {}}}
    {"output": {"node_id": "...", "value": {}}}
    {"embedding": {"node_id": "...", "name": "default", "vector": [0.1, 0.2]}}
    {"envelope": {"node_id": "...", "type": "STATUS", "created_at": "...", "value": {}}}
    {"edge": {"id": "...", "from_node_id": "...", "to_node_id": "...", "edge_type": "Contains", "created_at": "..."}}

Members with default values are left out. A line names only nodes of earlier lines: nodes come first, edges last.
Documents are written as Postgres writes them, with all digits of their numbers.
"""

from __future__ import annotations

import orjson

from entity_service.model.nodes import STATUS_DEFAULT
from entity_service.model.times import iso
from entity_service.model.transfer import ExportedEdge, ExportedEmbedding, ExportedEnvelope, ExportedNode

VERSION = 1


def graph_line(graph_name: str) -> bytes:
    """Return the line that an export begins with."""
    return _line("graph", {"version": VERSION, "graph_name": graph_name})


def node_lines(node: ExportedNode) -> bytes:
    """Return the lines of a node, and of its input and its output if it has them."""
    row: dict[str, object] = {"id": node.id, "general_type_name": node.general_type_name}
    if node.specific_type_name != node.general_type_name:
        row["specific_type_name"] = node.specific_type_name
    if node.external_id is not None:
        row["external_id"] = node.external_id
    if node.agent_bundle_id:
        row["agent_bundle_id"] = node.agent_bundle_id
    if node.name:
        row["name"] = node.name
    if node.status != STATUS_DEFAULT:
        row["status"] = node.status
    if node.is_archived:
        row["is_archived"] = True
    if node.owner_user_id:
        row["owner_user_id"] = node.owner_user_id
    row["created_at"] = iso(node.created_at)
    row["data"] = orjson.Fragment(node.data_json)
    lines = _line("node", row)
    for side, value_json in (("input", node.input_json), ("output", node.output_json)):
        if value_json is not None:
            lines += _line(side, {"node_id": node.id, "value": orjson.Fragment(value_json)})
    return lines


def edge_line(edge: ExportedEdge) -> bytes:
    """Return an edge's line."""
    row: dict[str, object] = {
        "id": edge.id,
        "from_node_id": edge.from_node_id,
        "to_node_id": edge.to_node_id,
        "edge_type": edge.edge_type,
        "created_at": iso(edge.created_at),
    }
    if edge.data_json != "{}":
        row["data"] = orjson.Fragment(edge.data_json)
    return _line("edge", row)


def embedding_line(embedding: ExportedEmbedding) -> bytes:
    """Return an embedding's line."""
    row: dict[str, object] = {"node_id": embedding.node_id, "name": embedding.name}
    if embedding.model:
        row["model"] = embedding.model
    if embedding.text_sha256:
        row["text_sha256"] = embedding.text_sha256
    if embedding.metadata_json != "{}":
        row["metadata"] = orjson.Fragment(embedding.metadata_json)
    row["vector"] = orjson.Fragment(embedding.vector_json)
    return _line("embedding", row)


def envelope_line(envelope: ExportedEnvelope) -> bytes:
    """Return an envelope's line."""
    row: dict[str, object] = {"node_id": envelope.node_id, "type": envelope.type}
    for name, text in (("status", envelope.status), ("sub_type", envelope.sub_type), ("message", envelope.message)):
        if text:
            row[name] = text
    row["created_at"] = iso(envelope.created_at)
    for name, document in (("error", envelope.error_json), ("value", envelope.value_json)):
        if document is not None:
            row[name] = orjson.Fragment(document)
    return _line("envelope", row)


def _line(kind: str, row: dict[str, object]) -> bytes:
    return orjson.dumps({kind: row}, option=orjson.OPT_APPEND_NEWLINE)
