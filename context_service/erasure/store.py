"""The SQL of erased subjects: receipts, and the steps that remove what is a subject's.

A step that removes rows counts them on the receipt in the same statement or transaction, so the receipt is right
whatever is killed. What belongs to no context is found by reading its table once, some pages at a time
(`service_runtime/table_pages.py`): no write pays for an index by owner.
"""

from __future__ import annotations

from context_service.contexts.store.erasures import BLANK_ANSWER, OF_SUBJECTS
from service_runtime.postgres import Across
from service_runtime.requests import RESPONSE

WHY = "nobody called for it: a subject is erased with all that is the subject's, and nothing of it comes back"

_COLUMNS = "erasure_id, subject, created_at, finished_at, removed, requested_by"
READ = f"SELECT {_COLUMNS} FROM context.subject_erasure WHERE tenant_id = %s AND erasure_id = %s"  # noqa: S608
READ_OPEN = f"""
SELECT {_COLUMNS} FROM context.subject_erasure
WHERE tenant_id = %(tenant_id)s AND subject = %(subject)s AND finished_at IS NULL
"""  # noqa: S608
BEGIN = """
INSERT INTO context.subject_erasure (tenant_id, erasure_id, subject, subject_sha256, requested_by)
VALUES (%(tenant_id)s, %(erasure_id)s, %(subject)s, %(sha256)s, %(requested_by)s)
ON CONFLICT (tenant_id, subject) WHERE finished_at IS NULL DO NOTHING
RETURNING erasure_id
"""
CLAIM = """
WITH due AS (
    SELECT erasure_id FROM context.subject_erasure
    WHERE tenant_id = %(tenant_id)s AND finished_at IS NULL AND due_at <= now()
    ORDER BY due_at LIMIT 1
    FOR UPDATE SKIP LOCKED
)
UPDATE context.subject_erasure e SET due_at = now() + %(lease)s FROM due
WHERE e.tenant_id = %(tenant_id)s AND e.erasure_id = due.erasure_id
RETURNING e.erasure_id, e.subject, e.subject_sha256
"""
IS_OWED = "SELECT erasure_id FROM context.subject_erasure WHERE tenant_id = %s AND finished_at IS NULL LIMIT 1"
RENEW = """
UPDATE context.subject_erasure SET due_at = now() + %(lease)s
WHERE tenant_id = %(tenant_id)s AND erasure_id = %(erasure_id)s
"""

_ADDED = "e.removed || jsonb_build_object({kind}, coalesce((e.removed ->> {kind})::bigint, 0) + {rows})"


def of_all(sql: str) -> Across:
    """Return a statement of the background, which sees all rows of the tenant."""
    return Across(sql=sql, contexts=True, subjects=True, why=WHY)


def _counting(gone: str, kind: str) -> Across:
    """Return a statement that does something to some pages of a table, and counts it on the receipt."""
    added = _ADDED.format(kind=f"'{kind}'", rows="counted.rows")
    return of_all(f"""
        WITH gone AS ({gone} RETURNING true), counted AS (SELECT count(*) AS rows FROM gone)
        UPDATE context.subject_erasure e SET removed = {added}, due_at = now() + %(lease)s
        FROM counted
        WHERE e.tenant_id = %(tenant_id)s AND e.erasure_id = %(erasure_id)s AND counted.rows > 0
        RETURNING counted.rows
    """)  # noqa: S608


COUNT = f"""
UPDATE context.subject_erasure e
SET removed = {_ADDED.format(kind="%(kind)s::text", rows="%(rows)s::bigint")}, due_at = now() + %(lease)s
WHERE e.tenant_id = %(tenant_id)s AND e.erasure_id = %(erasure_id)s
"""  # noqa: S608

# Receipts of contexts say what went with each; behind them nothing is left that says whose those were.
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
TAKE_RECEIPTS = of_all(f"""
    WITH gone AS (
        DELETE FROM context.erasure WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM context.erasure
            WHERE tenant_id = %(tenant_id)s AND owner_user_id = %(subject)s AND finished_at IS NOT NULL
            LIMIT %(rows)s
        ))
        RETURNING {", ".join(_OF_CONTEXTS.values())}
    ), summed AS (
        SELECT jsonb_build_object('context.context', count(*), {_SUMMED}) AS removed, count(*) AS receipts FROM gone
    ), added AS (
        SELECT jsonb_object_agg(key, coalesce((e.removed ->> key)::bigint, 0) + value::bigint) AS removed
        FROM summed CROSS JOIN LATERAL jsonb_each_text(summed.removed)
            JOIN context.subject_erasure e ON e.tenant_id = %(tenant_id)s AND e.erasure_id = %(erasure_id)s
        GROUP BY e.erasure_id
    )
    UPDATE context.subject_erasure e SET removed = e.removed || added.removed, due_at = now() + %(lease)s
    FROM added, summed
    WHERE e.tenant_id = %(tenant_id)s AND e.erasure_id = %(erasure_id)s AND summed.receipts > 0
    RETURNING summed.receipts
""")  # noqa: S608

_PAGES = "ctid >= %(first)s::tid AND ctid < %(behind)s::tid AND tenant_id = %(tenant_id)s"

# What belongs to no context goes by its owner.
_FREE = (
    "context.source_test",
    "context.memory",
    "context.memory_user",
    "context.wiki_page",
    "context.wiki_page_name",
    "context.wiki_citation",
    "context.wiki_page_version",
)
assert set(_FREE) < set(OF_SUBJECTS)
REMOVE_OWNED = {
    table: _counting(f"DELETE FROM {table} WHERE {_PAGES} AND owner_user_id = %(subject)s", table)  # noqa: S608
    for table in _FREE
}
# What an archive said of itself, and what was met in it, names its subject.
REMOVE_OWNED["context.import"] = _counting(
    f"DELETE FROM context.import WHERE {_PAGES}"  # noqa: S608
    " AND strpos(manifest::text || report::text || coalesce(open_context::text, ''), to_jsonb(%(subject)s::text)::text)"
    " > 0",
    "context.import",
)
REMOVE_ANSWERS = _counting(
    f"{BLANK_ANSWER} WHERE {_PAGES} AND subject = '=' || %(subject)s",
    "context.request",
)
# Whole responses of administrators' calls that may name the subject; the rules know the rest of the answer.
FORGET_RESPONSES = of_all(
    f"UPDATE context.request SET answer = answer - '{RESPONSE}'"  # noqa: S608
    f" WHERE {_PAGES} AND rpc IN ('PutAgent', 'PutHold') AND answer ? '{RESPONSE}'"
)

FIND_RECORDS = f"SELECT id FROM context.wm_record WHERE {_PAGES} AND owner_user_id = %(subject)s"  # noqa: S608
BLOBS_OF = "SELECT blob_id FROM context.wm_record WHERE tenant_id = %s AND id = ANY (%s) AND blob_id IS NOT NULL"
FORGET_ACTIONS = "SELECT context.forget_actions(%s::uuid[])"
# Those that nobody else needs.
AWAIT_BLOBS = """
INSERT INTO context.erased_blob (tenant_id, erasure_id, blob_id)
SELECT b.tenant_id, %(erasure_id)s, b.id FROM context.blob b
WHERE b.tenant_id = %(tenant_id)s AND b.id = ANY (%(blob_ids)s) AND b.state = 'deleting'
ON CONFLICT DO NOTHING
"""
REMOVE_UPLOADS = f"""
WITH due AS (
    SELECT id FROM context.upload WHERE tenant_id = %(tenant_id)s AND subject = '=' || %(subject)s
    LIMIT %(rows)s
    FOR UPDATE
), parts AS (
    DELETE FROM context.upload_part p USING due WHERE p.tenant_id = %(tenant_id)s AND p.upload_id = due.id
    RETURNING p.blob_id
), blobs AS (
    UPDATE context.blob b SET state = 'deleting', due_at = now() FROM parts p
    WHERE b.tenant_id = %(tenant_id)s AND b.id = p.blob_id
), awaited AS (
    INSERT INTO context.erased_blob (tenant_id, erasure_id, blob_id)
    SELECT %(tenant_id)s, %(erasure_id)s, blob_id FROM parts
), gone AS (
    DELETE FROM context.upload u USING due WHERE u.tenant_id = %(tenant_id)s AND u.id = due.id
    RETURNING true
), counted AS (SELECT count(*) AS rows FROM gone)
UPDATE context.subject_erasure e SET removed = {_ADDED.format(kind="'context.upload'", rows="counted.rows")},
    due_at = now() + %(lease)s
FROM counted
WHERE e.tenant_id = %(tenant_id)s AND e.erasure_id = %(erasure_id)s AND counted.rows > 0
RETURNING counted.rows
"""  # noqa: S608

# Where rows of others say who wrote them. `context.action` has a function of the owner for it.
NAMED = {
    "context.agent": ("updated_by",),
    "context.artifact": ("created_by",),
    "context.context": ("created_by",),
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


# Without what an archive claims, which no import carries of them.
_NOT_IMPORTED = frozenset({"context.erasure", "context.facet", "context.hold", "context.import", "context.job"}) | {
    "context.subject_erasure"
}


def _renaming(table: str, columns: tuple[str, ...]) -> Across:
    changes = ", ".join(f"{one} = CASE {one} WHEN %(subject)s THEN %(pseudonym)s ELSE {one} END" for one in columns)
    which = f"%(subject)s IN ({', '.join(columns)})"
    if table not in _NOT_IMPORTED:
        changes += ", imported = context.renamed(imported, %(subject)s, %(pseudonym)s)"
        which = f"({which} OR %(subject)s = ANY (context.named_in(imported)))"
    which = f"{_PAGES} AND {which}"
    return _counting(f"UPDATE {table} SET {changes} WHERE {which}", "names")  # noqa: S608


RENAME: dict[str, Across | str] = {table: _renaming(table, columns) for table, columns in NAMED.items()}
RENAME["context.action"] = (
    "SELECT context.rename_in_actions(%(first)s::tid, %(behind)s::tid, %(subject)s, %(pseudonym)s)"
)

# Bytes that are not removed yet; and, of records that others' messages point at, what those said.
STILL_THERE = of_all("""
    SELECT EXISTS (
        SELECT FROM context.erased_blob e JOIN context.blob b ON b.tenant_id = e.tenant_id AND b.id = e.blob_id
        WHERE e.tenant_id = %(tenant_id)s AND e.erasure_id = %(erasure_id)s
    ) AS bytes, EXISTS (
        SELECT FROM context.message_record WHERE tenant_id = %(tenant_id)s AND record_id IS NULL
    ) AS texts
""")
FINISH = """
WITH gone AS (
    DELETE FROM context.erased_blob WHERE tenant_id = %(tenant_id)s AND erasure_id = %(erasure_id)s
)
UPDATE context.subject_erasure SET finished_at = now(), subject = NULL
WHERE tenant_id = %(tenant_id)s AND erasure_id = %(erasure_id)s
"""

# What there is of a subject beside what has an owner and belongs to contexts.
COUNTED = ("context.wm_record", "context.upload", "context.request", "context.compiled_page")
COUNT_RECORDS = """
SELECT
    (SELECT count(*) FROM context.wm_record WHERE tenant_id = %(tenant_id)s AND owner_user_id = %(subject)s),
    (SELECT count(*) FROM context.upload WHERE tenant_id = %(tenant_id)s AND subject = '=' || %(subject)s),
    (SELECT count(*) FROM context.request WHERE tenant_id = %(tenant_id)s AND subject = '=' || %(subject)s),
    (
        SELECT count(DISTINCT page_id) FROM context.page_dependency
        WHERE tenant_id = %(tenant_id)s AND node_owner_id = %(subject)s
    )
"""

# A database that was restored from before an erasure: who may be whom it erased, and that it is done again.
KNOWN = "SELECT erasure_id FROM context.subject_erasure WHERE tenant_id = %s AND erasure_id = ANY (%s::uuid[])"
STILL_OPEN = """
SELECT erasure_id FROM context.subject_erasure
WHERE tenant_id = %(tenant_id)s AND erasure_id = ANY (%(erasure_ids)s::uuid[]) AND finished_at IS NULL
LIMIT 1
"""
KEEP_RECEIPT = """
INSERT INTO context.subject_erasure (tenant_id, erasure_id, subject_sha256, requested_by, finished_at)
VALUES (%s, %s, %s, %s, now())
ON CONFLICT DO NOTHING
"""
_OWNED = (*_FREE, "context.context", "context.erasure", "context.wm_record")
_WHOM = {
    table: f"VALUES {', '.join(f'(t.{one})' for one in columns)}"
    for table in sorted({*NAMED, *_OWNED})
    if (columns := (*(["owner_user_id"] if table in _OWNED else []), *NAMED.get(table, ())))
}
_WHOM["context.action"] = "VALUES (t.principal)"
for _table in (*NAMED, "context.action"):
    if _table not in _NOT_IMPORTED:
        _WHOM[_table] += " UNION ALL SELECT unnest(context.named_in(t.imported))"
_WHOM["context.request"] = _WHOM["context.upload"] = "SELECT substr(t.subject, 2) WHERE left(t.subject, 1) = '='"
_WHOM["context.agent"] += " UNION ALL SELECT jsonb_path_query(t.callers, '$.*[*]') #>> '{}'"
SUBJECTS_IN = {
    table: of_all(f"""
        SELECT DISTINCT whom.subject FROM {table} t CROSS JOIN LATERAL ({source}) whom (subject)
        WHERE t.ctid >= %(first)s::tid AND t.ctid < %(behind)s::tid AND t.tenant_id = %(tenant_id)s
            AND whom.subject <> ''
    """)  # noqa: S608
    for table, source in _WHOM.items()
}
SUBJECTS_OF_KEYS = """
SELECT DISTINCT whom.subject
FROM (
    SELECT unnest(ARRAY[user_id, subject]) AS subject FROM access.api_key WHERE tenant_id = %s
    UNION ALL
    SELECT unnest(ARRAY[user_id, subject, agent_id]) FROM access.administrative_call WHERE tenant_id = %s
) whom
WHERE whom.subject <> ''
"""
