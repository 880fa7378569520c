"""The SQL of erased subjects: receipts, and the steps that remove the rows of a subject.

A step that removes rows counts them on the receipt in the same statement or transaction, so the receipt is right after
any kill. Rows that belong to no context are found by reading their table once, some pages at a time
(`service_runtime/background_work/table_pages.py`), so that no write pays for an index by owner.
"""

from __future__ import annotations

from context_service.contexts.room import ERASURES_SQL, OF_SUBJECTS
from context_service.working_memory.room import blob_rows
from service_runtime.postgres import Across
from service_runtime.statements.requests import RESPONSE
from service_runtime.statements.sql_files import SqlFile

WHY = "background work: it erases all data of a subject, and returns nothing of it"

SQL = SqlFile.of(__file__, erasures=ERASURES_SQL, blob_rows=blob_rows.SQL, response=RESPONSE)
READ = SQL["read"]
READ_OPEN = SQL["read_open"]
BEGIN = SQL["begin"]
CLAIM = SQL["claim"]
IS_OWED = SQL["is_owed"]
RENEW = SQL["renew"]
COUNT = SQL["count"]
FIND_RECORDS = SQL["find_records"]
BLOBS_OF = SQL["blobs_of"]
FORGET_ACTIONS = SQL["forget_actions"]
AWAIT_BLOBS = SQL["await_blobs"]
HASTEN_BLOBS = SQL["hasten_blobs"]
AWAIT_GOING = SQL["await_going"]
REMOVE_UPLOADS = SQL["remove_uploads"]
FINISH = SQL["finish"]
COUNT_RECORDS = SQL["count_records"]
KNOWN = SQL["known"]
STILL_OPEN = SQL["still_open"]
KEEP_RECEIPT = SQL["keep_receipt"]
SUBJECTS_OF_KEYS = SQL["subjects_of_keys"]


def of_all(sql: str) -> Across:
    """Return a statement for background work, which sees all rows of the tenant."""
    return Across(sql=sql, contexts=True, subjects=True, why=WHY)


# Receipts of contexts have the counts of their rows; after an erasure, no other row names the owner of its contexts.
_OF_CONTEXTS = {
    "context.message": "messages_removed",
    "context.passage": "passages_removed",
    "context.passage_vector": "vectors_removed",
    "context.context_external_id": "external_ids_removed",
    "context.request": "answers_removed",
    "access.context_key": "keys_ended",
    "context.task": "tasks_removed",
    "context.artifact": "artifacts_removed",
    "context.context_window": "windows_removed",
    "context.window_block": "window_steps_removed",
}
_SUMMED = ", ".join(f"'{kind}', coalesce(sum({column}), 0)" for kind, column in _OF_CONTEXTS.items())
TAKE_RECEIPTS = of_all(SQL.filled("take_receipts", counters=", ".join(_OF_CONTEXTS.values()), sums=_SUMMED))


# Rows that belong to no context are removed by their owner.
_FREE = (
    "context.source_test",
    "context.memory",
    "context.memory_revision",
    "context.memory_refusal",
    "context.memory_user",
    "context.wiki_page",
    "context.wiki_page_name",
    "context.wiki_citation",
    "context.wiki_page_version",
)
assert set(_FREE) < set(OF_SUBJECTS)
REMOVE_OWNED = {table: of_all(SQL.filled("remove_owned", table=table)) for table in _FREE}
REMOVE_OWNED["context.import"] = of_all(SQL["remove_imports"])
REMOVE_ANSWERS = of_all(SQL["remove_answers"])
FORGET_RESPONSES = of_all(SQL["forget_responses"])


# Columns in which rows of other owners name the user as their author. `context.action` is not in this table: the
# services may not change its rows, so a function of the tables' owner renames there.
NAMED = {
    "context.agent": ("updated_by",),
    "context.artifact": ("created_by",),
    "context.context": ("created_by",),
    "context.context_setting": ("updated_by",),
    "context.context_window": ("created_by",),
    "context.definition": ("created_by", "approved_by"),
    "context.erasure": ("requested_by",),
    "context.facet": ("put_by",),
    "context.hold": ("created_by",),
    "context.import": ("imported_by",),
    "context.job": ("started_by",),
    "context.knowledge_base": ("updated_by",),
    "context.knowledge_document": ("created_by",),
    "context.mapping": ("created_by",),
    "context.mcp_server": ("updated_by",),
    "context.mcp_tool": ("approved_by", "search_safe_recorded_by"),
    "context.memory": ("created_by",),
    "context.memory_revision": ("updated_by",),
    "context.provider_setting": ("updated_by",),
    "context.source_test": ("created_by",),
    "context.specialist": ("updated_by",),
    "context.subject_erasure": ("requested_by",),
    "context.task": ("created_by",),
    "context.wiki_page": ("created_by",),
    "context.wiki_page_version": ("created_by",),
    "context.window_checkpoint": ("created_by",),
    "context.window_profile_version": ("created_by",),
    "context.wm_record": ("created_by",),
}


# Tables that imports write no rows of, so that their rows name no authors from an archive.
_NOT_IMPORTED = frozenset({"context.erasure", "context.facet", "context.hold", "context.import", "context.job"}) | {
    "context.subject_erasure",
    "context.window_checkpoint",
}


def _renaming(table: str, columns: tuple[str, ...]) -> Across:
    """Return the statement that replaces a subject by a pseudonym in the columns of a table that name authors.

    For tables that imports write, it also replaces the authors that an archive named.
    """
    changes = ", ".join(f"{name} = CASE {name} WHEN %(subject)s THEN %(pseudonym)s ELSE {name} END" for name in columns)
    which = f"%(subject)s IN ({', '.join(columns)})"
    if table not in _NOT_IMPORTED:
        changes += ", imported = context.renamed(imported, %(subject)s, %(pseudonym)s)"
        which = f"({which} OR %(subject)s = ANY (context.named_in(imported)))"
    return of_all(SQL.filled("rename", table=table, changes=changes, condition=which))


RENAME: dict[str, Across | str] = {table: _renaming(table, columns) for table, columns in NAMED.items()}
RENAME["context.action"] = SQL["rename_in_actions"]

STILL_THERE = of_all(SQL["still_there"])

# Data of a subject in tables without an owner column.
COUNTED = ("context.wm_record", "context.upload", "context.request", "context.compiled_page")

_OWNED = (*_FREE, "context.context", "context.erasure", "context.wm_record")
_WHOM = {
    table: f"VALUES {', '.join(f'(t.{name})' for name in columns)}"
    for table in sorted({*NAMED, *_OWNED})
    if (columns := (*(["owner_user_id"] if table in _OWNED else []), *NAMED.get(table, ())))
}
_WHOM["context.action"] = "VALUES (t.principal)"
for _table in (*NAMED, "context.action"):
    if _table not in _NOT_IMPORTED:
        _WHOM[_table] += " UNION ALL SELECT unnest(context.named_in(t.imported))"
_WHOM["context.request"] = _WHOM["context.upload"] = "SELECT substr(t.subject, 2) WHERE left(t.subject, 1) = '='"
_WHOM["context.agent"] += " UNION ALL SELECT jsonb_path_query(t.callers, '$.*[*]') #>> '{}'"
SUBJECTS_IN = {table: of_all(SQL.filled("subjects_in", table=table, source=source)) for table, source in _WHOM.items()}
