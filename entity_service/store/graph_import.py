"""The statements of an import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from contextkeep.errors import InvalidArgument
from entity_service.model.embeddings import NewEmbedding
from entity_service.model.progress import NewEnvelope
from entity_service.model.times import iso
from entity_service.model.transfer import NewSide
from service_runtime.postgres import Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__)
ARCHIVE = SQL["archive"]
ELSEWHERE = SQL["elsewhere"]
THERE = SQL["there"]
WRITE_SIDES = SQL["write_sides"]
_DIMENSIONS = SQL["dimensions"]
_WRITE_EMBEDDINGS = SQL["write_embeddings"]
_WRITE_ENVELOPES = SQL["write_envelopes"]


def side_rows(sides: Sequence[NewSide]) -> str:
    """Return the parameter of `WRITE_SIDES`: one JSON object for each node."""
    rows: dict[str, dict[str, Any]] = {}
    for side in sides:
        row = rows.setdefault(side.node_id, {"node_id": side.node_id})
        row[side.side] = [orjson.Fragment(side.value_json)]
    return orjson.dumps(list(rows.values())).decode()


async def write_embeddings(
    transaction: Transaction, graph_name: str, embeddings: Sequence[tuple[str, NewEmbedding]]
) -> int:
    """Write the embeddings that are not there, and return how many that were.

    Raises:
        InvalidArgument: an embedding has another dimension than the others of its name.
    """
    if not embeddings:
        return 0
    names = sorted({embedding.name for _, embedding in embeddings})
    parameters = {"graph_name": graph_name, "names": names}
    dimensions: dict[str, int] = dict(await transaction.query(_DIMENSIONS, parameters, named=False))
    rows = []
    for path, embedding in embeddings:
        dimension = dimensions.setdefault(embedding.name, len(embedding.vector))
        if len(embedding.vector) != dimension:
            raise InvalidArgument(
                f"{path}.vector must have {dimension} values, as the embeddings {embedding.name!r} of graph "
                f"{graph_name!r} have (got {len(embedding.vector)})",
                field=f"{path}.vector",
                dimension=dimension,
            )
        rows.append(
            {
                "node_id": embedding.node_id,
                "name": embedding.name,
                "dimension": dimension,
                "model": embedding.model,
                "text_sha256": embedding.text_sha256,
                "metadata": orjson.Fragment(embedding.metadata_json),
                "vector": orjson.dumps(list(embedding.vector)).decode(),
            }
        )
    written = await transaction.query(_WRITE_EMBEDDINGS, {"rows": orjson.dumps(rows).decode()}, named=False)
    return len(written)


async def write_envelopes(
    transaction: Transaction, principal: Principal, envelopes: Sequence[tuple[str, NewEnvelope, int]]
) -> int:
    """Write the envelopes that are not there, and return how many that were."""
    if not envelopes:
        return 0
    rows = []
    for _, envelope, created_at in envelopes:
        row: dict[str, Any] = {
            "node_id": envelope.node_id,
            "created_at": iso(created_at),
            "type": envelope.type,
            "status": envelope.status,
            "sub_type": envelope.sub_type,
            "message": envelope.message,
        }
        if envelope.value_json is not None:
            row["value"] = [orjson.Fragment(envelope.value_json)]
        if envelope.error_json is not None:
            row["error"] = [orjson.Fragment(envelope.error_json)]
        rows.append(row)
    parameters = {"created_by": principal.subject, "rows": orjson.dumps(rows).decode()}
    return len(await transaction.query(_WRITE_ENVELOPES, parameters, named=False))
