"""The catalogue of tables: which of them an archive has, how their rows are known, and what of them stays here.

Every table of the schema is in here once: carried, or left out for a reason. The columns of a table are read from
Postgres, so a column that a migration adds is carried without a word; one that must not be is named here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from context_service.profiles.pure.lookups import check_counts, check_learned

# Of all rows of a context: the archive says them once, and every row gets those. No row can say other ones.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """A table whose rows are carried."""

    name: str  # in the schema `context`
    key: tuple[str, ...]  # of its primary key, without the tenant
    # Columns that no archive has: secrets, what is this installation's, and what other columns say.
    left_out: frozenset[str] = frozenset()
    # Columns that get a value beside the rows, as SQL over the parameters and `r`.
    given: Mapping[str, str] = field(default_factory=dict)
    unless: str = ""  # SQL over `g`: rows of which it is true are not written
    joined: str = ""  # SQL behind FROM, that gives `r`: a row without one is not written
    changing: frozenset[str] = frozenset()  # what background work changes: two rows may differ there and be equal
    # Documents whose form we read by: what raises ValueError where it is another one.
    forms: Mapping[str, Callable[[object], None]] = field(default_factory=dict)
    is_view: bool = False  # made of other rows: never compared
    numbered: bool = False  # `seq` is drawn from the sequence of the tenant

    @property
    def is_renumbered(self) -> bool:
        """Whether a row may get another `seq` here: it is numbered, and known by something else."""
        return self.numbered and "seq" not in self.key

    @property
    def rest_of_key(self) -> tuple[str, ...]:
        """The columns of the key that rows say, one at least."""
        return tuple(name for name in self.key if name not in self.given)


_CONTEXT_GIVEN = {
    "context_id": "%(context_id)s::uuid",
    "ancestors": "%(ancestors)s::uuid[]",
    "owner_user_id": "%(owner_user_id)s::text",
    "app_id": "%(app_id)s::text",
    "agent_bundle_id": "%(agent_bundle_id)s::text",
}
_PASSAGE_GIVEN = {**_CONTEXT_GIVEN, "scope_id": "%(context_id)s::uuid", "scope_kind": "'context'"}
_GRAPH_OF_PASSAGES = {"graph_name": "''"}
_RECORD_CHANGING = frozenset({"index_state", "index_error", "text_state", "text_error", "passage_count", "blob_text"})


def _of_context(name: str, *key: str, changing: frozenset[str] = frozenset()) -> Table:
    return Table(name=name, key=key, given=_CONTEXT_GIVEN, changing=changing)


def _passages(name: str, *key: str) -> Table:
    given = {**_PASSAGE_GIVEN, **_GRAPH_OF_PASSAGES}
    if name == "passage_scope":  # one row of a context, since all of it is one audience's
        return Table(name=name, key=("scope_id", "first_seq"), given=given, is_view=True)
    return Table(name=name, key=("scope_id", "scope_kind", *key), given=given, is_view=True)


# Windows, and the counters of the index, are read in the snapshot in which the header was, so they come first.
FIRST = (
    _of_context("context_window", "window_id"),
    _of_context("window_block", "window_id", "number"),
    _of_context("window_summary", "window_id", "step_from", "level"),
    _of_context("window_entry", "window_id", "number"),
    _of_context("window_fold", "window_id", "epoch"),
    _of_context("window_usage", "window_id", "epoch"),
    _of_context("window_checkpoint", "window_id", "number"),
    _of_context("window_fork", "context_id", "number"),
    _passages("passage_session", "session"),
    _passages("passage_scope"),
)
CONTEXT_ROWS = (
    *FIRST,
    _of_context("message", "context_id", "seq"),
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
# The header: what makes all of it be there. It comes first in an archive, and is written last.
CONTEXT = Table(name="context", key=("context_id",), left_out=frozenset({"deleted_at"}))

_CONTENT = "coalesce(g.content, g.content_text)"
# A record whose content is inline, if it has any. What it is made of is reckoned anew, so no row can say other.
RECORDS = Table(
    name="wm_record",
    key=("id",),
    # Where its file is, is this installation's; words are found by what the trigger makes.
    left_out=frozenset({"search"}),
    given={
        "blob_id": "NULL::uuid",
        "provider": f"CASE WHEN {_CONTENT} IS NULL THEN '' ELSE 'postgres' END",
        "sha256": f"sha256(convert_to({_CONTENT}, 'UTF8'))",
        "size_bytes": f"coalesce(octet_length({_CONTENT}), 0)",
    },
    # Passages stand at the `seq` of their record, among those of its node.
    unless="""
        EXISTS (
            SELECT FROM context.wm_record o
            WHERE o.tenant_id = %(tenant_id)s AND o.entity_node_id = g.entity_node_id AND o.seq = g.seq AND o.id <> g.id
        )
    """,
    changing=_RECORD_CHANGING,
    numbered=True,
)
# One whose content is a file: it came before.
RECORDS_WITH_FILE = replace(
    RECORDS,
    given={
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
        given={
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

# Of users. Whom memories are counted for, and which names pages have, is made of the rows.
USERS = (
    Table(name="memory", key=("memory_id",), numbered=True),
    Table(name="wiki_page_version", key=("page_id", "version"), numbered=True),
    Table(name="wiki_citation", key=("memory_id", "page_id")),
    Table(name="wiki_page", key=("page_id",), left_out=frozenset({"scope_id"})),
    Table(name="source_test", key=("test_id",)),
)

TENANT = (
    Table(name="agent", key=("is_template", "agent_id")),
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

# What no archive has, and why.
LEFT_OUT = {
    "blob": "where files are is this installation's; their bytes are carried with their records",
    "compile_state": "how far compiling is, in the change feed of this installation",
    "compiled_page": "made of the graph: compile anew",
    "erased_blob": "of erasures under way",
    "erasure": "receipts are of what happened here",
    "facet": "made of the graph, or put on a page that is: compile and put anew",
    "hold": "what an operator of this installation may not erase",
    "import": "what was written into this tenant",
    "job": "of this installation",
    "mapping_revision": "of this installation",
    "memory_user": "counted anew",
    "migration": "of this installation",
    "outbox": "what is owed is owed anew",
    "page_dependency": "made of the graph",
    "request": "answers to calls that were repeated here",
    "subject_erasure": "receipts are of what happened here",
    "tenant_limit": "the limits of the importing tenant hold",
    "tenant_usage": "counted anew",
    "upload": "uploads that are under way",
    "upload_part": "uploads that are under way",
    "wiki_page_name": "made of pages and their aliases",
}

# As an archive says it.
TOLD = (
    "keys, and credentials of MCP servers: secrets leave no installation",
    "limits of the tenant: those of the importing one hold",
    "compiled pages, and facets put on them: compile them anew",
    "answers to repeated calls, receipts of erasures, holds, unfinished uploads, the audit trail",
    "schemas and the vectors of passages of other scopes than contexts: made anew",
)
