"""A record as it is stored: the columns that it is read from, and the size of its row in a page.

Statements name the columns by these constants, so that a new column is one line here, and no statement lacks it.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from context_service.working_memory.store.record_filters import ACTIVE
from service_runtime.postgres import Row
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One item of working memory, as it is stored."""

    id: UUID
    entity_node_id: UUID | None
    context_id: UUID | None = None
    memory_type: str
    subtype: str
    semantic_purpose: str
    name: str
    description: str
    reasoning: str
    content_type: str
    metadata_json: str
    content_json: str | None = None  # inline JSON; None if there is none, or it was not read
    content_text: str | None = None  # inline text; None if there is none, or it was not read
    provider: str = ""
    blob_key: str = ""  # the public key of the blob, not its key in the store; empty without a blob
    size_bytes: int = 0
    sha256: bytes = b""
    tags: tuple[str, ...]
    graph_name: str
    agent_bundle_id: str
    app_id: str
    created_by: str
    owner_user_id: str
    agent_id: str
    is_archived: bool = False  # archived, or past `expires_at`
    expires_at: datetime | None
    created_at: datetime  # aware, UTC
    updated_at: datetime
    version: int = 1
    index_state: str = "NONE"
    index_error: str = ""
    text_state: str = "NONE"  # how far the text of its content is read, which happens after the write
    text_error: str = ""
    seq: int = 0  # the order in which records with equal times were written
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names


_CONTENTS = ("content_json", "content_text")
_NAMES = tuple(field.name for field in dataclasses.fields(Record) if field.name not in _CONTENTS)


def stored(*, is_archived: str = f"NOT {ACTIVE}") -> str:
    """Return the SQL columns of a row `r` of `wm_record`, named as the fields of `Record`, without the content.

    Args:
        is_archived: The SQL expression for the column `is_archived`.
    """
    computed = {"metadata_json": "r.metadata::text", "imported_json": "r.imported::text", "is_archived": is_archived}
    return ", ".join(f"{computed[name]} AS {name}" if name in computed else f"r.{name}" for name in _NAMES)


STORED = stored()
# The same columns by their names alone, for a subquery that has them.
READ = ", ".join(_NAMES)
# The bytes of a row `r` in a page: its texts, and a constant for the rest of its message.
_REST_BYTES = 600
_TEXTS = (
    "memory_type", "subtype", "semantic_purpose", "name", "description", "reasoning", "content_type", "graph_name",
    "agent_bundle_id", "app_id",
)  # fmt: skip
SIZE = " + ".join(
    [
        str(_REST_BYTES),
        "octet_length(r.metadata::text)",
        "octet_length(array_to_string(r.tags, ''))",
        *(f"octet_length(r.{name})" for name in _TEXTS),
    ]
)
SQL = SqlFile.of(__file__, size=SIZE)
CONTENT = SQL["content"]
SIZE_WITH_CONTENT = SQL["size_with_content"]


def record_of(row: Row, *, with_content: bool = False) -> Record:
    """Return the record in a row; `with_content` says that the row has the content's columns too."""
    return copied(
        Record,
        row,
        content_json=row.content_json if with_content else None,
        content_text=row.content_text if with_content else None,
        blob_key=row.blob_key or "",
        sha256=bytes(row.sha256 or b""),
        expires_at=row.expires_at and row.expires_at.astimezone(UTC),
        created_at=row.created_at.astimezone(UTC),
        updated_at=row.updated_at.astimezone(UTC),
    )
