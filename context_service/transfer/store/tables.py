"""The catalogue of tables: which tables an archive has, the keys of their rows, and columns that are left out.

Every table of the schema is listed here once, either as exported or in `LEFT_OUT` with a reason. The columns of a table
are read from Postgres, so a column that a migration adds is exported automatically. Columns that must not be exported
are named here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from context_service.packing.pure.texts.quotation import SPEAKER_CHARS_MAX
from context_service.profiles.pure.lookups import check_counts, check_learned
from context_service.retrieval.pure.marks import IMPORTED, RULE
from context_service.windows.model import UNREAD


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """A table whose rows are exported and imported."""

    name: str  # in the schema `context`
    key: tuple[str, ...]  # the columns of its primary key, without the tenant
    # Columns that no archive has: secrets, values of this installation, and values that follow from other columns.
    left_out: frozenset[str] = frozenset()
    # Columns that older archives have and that are no more; their values are ignored.
    retired: frozenset[str] = frozenset()
    # Columns whose values are not in the archived rows, each with the SQL that computes its value. The SQL may use the
    # parameters of the statement, the archived row `g`, and the row `r` of `joined`.
    fixed_values: Mapping[str, str] = field(default_factory=dict)
    # Columns whose archived values are claims, each with the SQL over the archived row `g` that computes the written
    # value. They are not compared.
    claims: Mapping[str, str] = field(default_factory=dict)
    # SQL condition over the archived row `g`: a row for which it is true does not keep its `seq`, see `rows.put`.
    unless: str = ""
    joined: str = ""  # SQL of a join with a row `r` that must exist here: archived rows without one are not written
    changing: frozenset[str] = frozenset()  # columns that background work changes, so a comparison ignores them
    # Documents of a fixed form: each check raises ValueError for another form.
    forms: Mapping[str, Callable[[object], None]] = field(default_factory=dict)
    is_view: bool = False  # the rows are derived from rows of other tables, so they are never compared
    numbered: bool = False  # the column `seq` has a number of the tenant's sequence

    @property
    def is_renumbered(self) -> bool:
        """Whether rows may get another `seq` here: the table is numbered, and `seq` is not part of its key."""
        return self.numbered and "seq" not in self.key

    @property
    def rest_of_key(self) -> tuple[str, ...]:
        """The columns of the key that archived rows have; at least one."""
        return tuple(name for name in self.key if name not in self.fixed_values)


_CONTEXT_VALUES = {
    "context_id": "%(context_id)s::uuid",
    "ancestors": "%(ancestors)s::uuid[]",
    "owner_user_id": "%(owner_user_id)s::text",
    "app_id": "%(app_id)s::text",
    "agent_bundle_id": "%(agent_bundle_id)s::text",
}
_PASSAGE_VALUES = {**_CONTEXT_VALUES, "scope_id": "%(context_id)s::uuid", "scope_kind": "'context'"}
_GRAPH_OF_PASSAGES = {"graph_name": "''"}
# Passages of messages. Those of artifacts and records are documents already.
_MARKS = f"CASE WHEN g.kind IN ('artifact', 'record') THEN g.marks ELSE (g.marks & ~{RULE}) | {IMPORTED} END"
# The content of packs would be a claim, too, and would not say so. So no archive has it: the log is read again.
_SHOWN = frozenset(
    (
        *("reached_seq", "retracted_count", "first_number", "block_count", "left_out_tokens", "step_count"),
        *("folded_step", "state_text", "state_pieces", "state_tokens", "pins_pieces", "pins_tokens", "has_untold"),
        *("prepared", "prepared_epoch", "tallies", "packed_seq", "checkpoint_step", "extractive_to", "outcomes"),
        *("broken_seq", "speakers"),
    )
)
_SPEAKER = f"""
    CASE WHEN g.speaker = 'imported' OR g.speaker LIKE 'imported %%' THEN g.speaker
        ELSE rtrim(left('imported ' || g.speaker, {SPEAKER_CHARS_MAX})) END
"""
_RECORD_CHANGING = frozenset({"index_state", "index_error", "text_state", "text_error", "passage_count", "blob_text"})


def _of_context(name: str, *key: str, changing: frozenset[str] = frozenset()) -> Table:
    return Table(name=name, key=key, fixed_values=_CONTEXT_VALUES, changing=changing)


def _passages(name: str, *key: str) -> Table:
    """Return a table of the search index, which consists of passages (chunks of text), for the passages of contexts."""
    fixed_values = {**_PASSAGE_VALUES, **_GRAPH_OF_PASSAGES}
    claims = {"marks": _MARKS} if name == "passage" else {}
    if name == "passage_scope":  # a context has one such row, since the same readers see all of its passages
        return Table(name=name, key=("scope_id", "first_seq"), fixed_values=fixed_values, is_view=True)
    return Table(
        name=name, key=("scope_id", "scope_kind", *key), fixed_values=fixed_values, claims=claims, is_view=True
    )


# Windows and the counters of the index are read in the snapshot of the header, so they come first.
FIRST = (
    Table(
        name="context_window",
        key=("window_id",),
        # The count of retracted messages never fits, so the first call reads the log again.
        fixed_values={**_CONTEXT_VALUES, "retracted_count": str(UNREAD)},
        left_out=_SHOWN,
        retired=_SHOWN,
    ),
    # A pin or a statement of a caller.
    Table(name="window_entry", key=("window_id", "number"), fixed_values=_CONTEXT_VALUES, claims={"speaker": _SPEAKER}),
    _of_context("window_fold", "window_id", "epoch"),
    _of_context("window_usage", "window_id", "epoch"),
    _of_context("window_fork", "context_id", "number"),
    _passages("passage_session", "session"),
    _passages("passage_scope"),
)
CONTEXT_ROWS = (
    *FIRST,
    Table(name="message", key=("context_id", "seq"), fixed_values={**_CONTEXT_VALUES, "is_imported": "true"}),
    _of_context(
        "message_record",
        *("context_id", "seq", "part"),
        changing=frozenset({"due_at", "attempts", "passages", "state", "reason", "detail"}),
    ),
    _of_context("task", "task_id"),
    _of_context("artifact", "task_id", "artifact_id", "version"),
    _of_context("context_external_id", "system", "id", "context_id"),
    _passages("passage", "seq", "ordinal"),
    _passages("passage_vector", "seq", "ordinal"),
)
# The header, which makes a context visible. It is first in an archive, and written last.
CONTEXT = Table(name="context", key=("context_id",), left_out=frozenset({"deleted_at"}))

_CONTENT = "coalesce(g.content, g.content_text)"
# A record with inline content or none. Values that follow from the content are computed here, so rows cannot fake them.
RECORDS = Table(
    name="wm_record",
    key=("id",),
    left_out=frozenset({"terms", "terms_version"}),  # the import makes them from the texts
    retired=frozenset({"search_language"}),
    fixed_values={
        "blob_id": "NULL::uuid",
        "provider": f"CASE WHEN {_CONTENT} IS NULL THEN '' ELSE 'postgres' END",
        "sha256": f"sha256(convert_to({_CONTENT}, 'UTF8'))",
        "size_bytes": f"coalesce(octet_length({_CONTENT}), 0)",
    },
    # Passages have the `seq` of their record, which must be unique within its node.
    unless="""
        EXISTS (
            SELECT FROM context.wm_record o
            WHERE o.tenant_id = %(tenant_id)s AND o.entity_node_id = g.entity_node_id AND o.seq = g.seq AND o.id <> g.id
        )
    """,
    changing=_RECORD_CHANGING,
    numbered=True,
)
# A record whose content is a file, which comes before it in the archive.
RECORDS_WITH_FILE = replace(
    RECORDS,
    fixed_values={
        "blob_id": "%(blob_id)s::uuid",
        "provider": "%(provider)s::text",
        "sha256": "%(sha256)s::bytea",
        "size_bytes": "%(size_bytes)s::bigint",
    },
)
_RECORD = "JOIN context.wm_record r ON r.tenant_id = %(tenant_id)s AND r.id = g."
OF_RECORDS = (
    Table(name="action", key=("record_id", "seq"), joined=_RECORD + "record_id", numbered=True),
    Table(
        name="embedding",
        key=("owner_kind", "owner_id", "name"),
        fixed_values={
            "owner_kind": "'record'",
            "entity_node_id": "r.entity_node_id",
            "hidden_at": "least(r.archived_at, r.expires_at)",
            "memory_type": "r.memory_type",
            "graph_name": "r.graph_name",
            "agent_bundle_id": "r.agent_bundle_id",
            "app_id": "r.app_id",
        },
        joined=_RECORD + "owner_id",
    ),
)

# Rows of users. The counts of memories and the names of pages are made from these rows.
USERS = (
    # Before the memories: an import leaves refused ones out.
    Table(name="memory_refusal", key=("owner_user_id", "app_id", "agent_bundle_id", "statement_sha256")),
    Table(name="memory", key=("memory_id",), numbered=True),
    Table(name="memory_revision", key=("memory_id", "version")),
    Table(name="wiki_page_version", key=("page_id", "version"), numbered=True),
    Table(name="wiki_citation", key=("memory_id", "page_id")),
    Table(name="wiki_page", key=("page_id",), left_out=frozenset({"scope_id"})),
    Table(name="source_test", key=("test_id",)),
)

TENANT = (
    Table(name="agent", key=("is_template", "agent_id")),
    Table(name="context_setting", key=("subject",)),
    Table(name="definition", key=("name", "version")),
    Table(name="mapping", key=("app_id", "name")),
    Table(
        name="window_profile_version",
        key=("name", "version"),
        forms={"learned": check_learned, "evidence": check_counts},
    ),
    Table(name="window_profile", key=("name",)),
    Table(name="window_learning", key=("profile", "app_id"), forms={"counts": check_counts}),
    Table(name="knowledge_base", key=("name",)),
    Table(name="knowledge_file", key=("document_id",)),
    Table(
        name="knowledge_document",
        key=("document_id",),
        changing=frozenset({"state", "error", "passage_count", "updated_at", "text", "is_cut"})
        | {"starts", "ends", "pages", "headings", "page_starts"},
        numbered=True,
    ),
    Table(name="mcp_server", key=("server_id",), left_out=frozenset({"secret", "secret_key_id"})),
    Table(name="mcp_tool", key=("server_id", "tool_name")),
    Table(name="provider_setting", key=("provider_id",)),
    Table(name="specialist", key=("specialist_id",)),
    Table(name="token_calibration", key=("model_sha", "profile")),
)

CARRIED = {table.name: table for table in (*TENANT, RECORDS, *OF_RECORDS, *USERS, *CONTEXT_ROWS, CONTEXT)}

# Tables that older archives have. Their rows are ignored.
RETIRED = frozenset({"window_block", "window_checkpoint", "window_summary"})

# Tables that no archive has, and why.
LEFT_OUT = {
    "blob": "places of files in this installation; the bytes are exported with their records",
    "compile_state": "progress of compiling, in the change feed of this installation",
    "compiled_page": "made from the graph: compile again",
    "erased_blob": "of erasures under way",
    "erasure": "receipts of erasures in this installation",
    "facet": "made from the graph, or put on a compiled page: compile and put them again",
    "hold": "legal holds in this installation",
    "import": "imports into this tenant",
    "job": "of this installation",
    "mapping_revision": "of this installation",
    "memory_user": "counted again",
    "migration": "of this installation",
    "model_usage": "counted for each day in this installation",
    "outbox": "work is queued again",
    "page_dependency": "made from the graph",
    "request": "stored answers for retries",
    "subject_erasure": "receipts of erasures in this installation",
    "tenant_limit": "the limits of the importing tenant apply",
    "tenant_usage": "counted again",
    "upload": "uploads that are under way",
    "upload_part": "uploads that are under way",
    "wiki_page_name": "made from pages and their aliases",
    "window_block": "made from the log: the next pack reads it again",
    "window_checkpoint": "shows blocks, which are made again",
    "window_summary": "made from the log by folds",
}

# The notes that an archive has about omitted data.
LEFT_OUT_NOTES = (
    "keys, and credentials of MCP servers: secrets never leave an installation",
    "limits of the tenant: those of the importing tenant apply",
    "compiled pages, and facets put on them: compile them again",
    "what windows show, and their checkpoints: the next pack reads the log again",
    "stored answers for retries, receipts of erasures, holds, unfinished uploads, the audit trail",
    "schemas, and the vectors of passages outside of contexts: they are made again",
)
