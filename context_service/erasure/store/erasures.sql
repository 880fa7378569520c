-- columns
erasure_id, subject, created_at, finished_at, removed, requested_by

-- read
SELECT {{columns}} FROM context.subject_erasure WHERE tenant_id = %s AND erasure_id = %s;

-- read_open
SELECT {{columns}} FROM context.subject_erasure
WHERE tenant_id = %(tenant_id)s AND subject = %(subject)s AND finished_at IS NULL;

-- begin
INSERT INTO context.subject_erasure (tenant_id, erasure_id, subject, subject_sha256, requested_by)
VALUES (%(tenant_id)s, %(erasure_id)s, %(subject)s, %(sha256)s, %(requested_by)s)
ON CONFLICT (tenant_id, subject) WHERE finished_at IS NULL DO NOTHING
RETURNING erasure_id;

-- claim
WITH due AS (
    SELECT erasure_id FROM context.subject_erasure
    WHERE tenant_id = %(tenant_id)s AND finished_at IS NULL AND due_at <= now()
    ORDER BY due_at LIMIT 1
    FOR UPDATE SKIP LOCKED
)
UPDATE context.subject_erasure e SET due_at = now() + %(lease)s FROM due
WHERE e.tenant_id = %(tenant_id)s AND e.erasure_id = due.erasure_id
RETURNING e.erasure_id, e.subject, e.subject_sha256;

-- is_owed
SELECT erasure_id FROM context.subject_erasure WHERE tenant_id = %s AND finished_at IS NULL LIMIT 1;

-- renew
UPDATE context.subject_erasure SET due_at = now() + %(lease)s
WHERE tenant_id = %(tenant_id)s AND erasure_id = %(erasure_id)s;

-- added(kind, rows)
e.removed || jsonb_build_object({{kind}}, coalesce((e.removed ->> {{kind}})::bigint, 0) + {{rows}})

-- counting(change, kind)
-- Changes rows of some pages of a table, and counts them on the receipt.
WITH gone AS ({{change}} RETURNING true), counted AS (SELECT count(*) AS rows FROM gone)
UPDATE context.subject_erasure e SET removed = {{added('{{kind}}', counted.rows)}}, due_at = now() + %(lease)s
FROM counted
WHERE e.tenant_id = %(tenant_id)s AND e.erasure_id = %(erasure_id)s AND counted.rows > 0
RETURNING counted.rows

-- count
UPDATE context.subject_erasure e
SET removed = {{added(%(kind)s::text, %(rows)s::bigint)}}, due_at = now() + %(lease)s
WHERE e.tenant_id = %(tenant_id)s AND e.erasure_id = %(erasure_id)s;

-- pages
ctid >= %(first)s::tid AND ctid < %(end)s::tid AND tenant_id = %(tenant_id)s

-- take_receipts(counters, sums)
WITH gone AS (
    DELETE FROM context.erasure WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM context.erasure
        WHERE tenant_id = %(tenant_id)s AND owner_user_id = %(subject)s AND finished_at IS NOT NULL
        LIMIT %(rows)s
    ))
    RETURNING {{counters}}
), summed AS (
    SELECT jsonb_build_object('context.context', count(*), {{sums}}) AS removed, count(*) AS receipts FROM gone
), added AS (
    SELECT jsonb_object_agg(key, coalesce((e.removed ->> key)::bigint, 0) + value::bigint) AS removed
    FROM summed CROSS JOIN LATERAL jsonb_each_text(summed.removed)
        JOIN context.subject_erasure e ON e.tenant_id = %(tenant_id)s AND e.erasure_id = %(erasure_id)s
    GROUP BY e.erasure_id
)
UPDATE context.subject_erasure e SET removed = e.removed || added.removed, due_at = now() + %(lease)s
FROM added, summed
WHERE e.tenant_id = %(tenant_id)s AND e.erasure_id = %(erasure_id)s AND summed.receipts > 0
RETURNING summed.receipts;

-- remove_owned(table)
-- Rows that belong to no context go by their owner.
{{counting(DELETE FROM {{table}} WHERE {{pages}} AND owner_user_id = %(subject)s, {{table}})}};

-- remove_imports
-- The manifest and the report of an archive, and the names that were met in it, may name its subject.
{{counting(
    DELETE FROM context.import
    WHERE {{pages}} AND strpos(
        manifest::text || report::text || coalesce(open_context::text, ''), to_jsonb(%(subject)s::text)::text
    ) > 0,
    context.import
)}};

-- rename(table, changes, condition)
{{counting(UPDATE {{table}} SET {{changes}} WHERE {{pages}} AND {{condition}}, names)}};

-- rename_in_actions
-- Users write no entry of the log: a function of the owner renames in them.
SELECT context.rename_in_actions(%(first)s::tid, %(end)s::tid, %(subject)s, %(pseudonym)s);

-- subjects_in(table, source)
SELECT DISTINCT whom.subject FROM {{table}} t CROSS JOIN LATERAL ({{source}}) whom (subject)
WHERE t.ctid >= %(first)s::tid AND t.ctid < %(end)s::tid AND t.tenant_id = %(tenant_id)s
    AND whom.subject <> '';

-- remove_answers
{{counting({{erasures.blank_answer}} WHERE {{pages}} AND subject = '=' || %(subject)s, context.request)}};

-- forget_responses
-- Whole responses of administrators' calls that may name the subject; the rules know the rest of the answer.
UPDATE context.request SET answer = answer - '{{response}}'
WHERE {{pages}} AND rpc IN ('PutAgent', 'PutHold') AND answer ? '{{response}}';

-- find_records
SELECT id FROM context.wm_record WHERE {{pages}} AND owner_user_id = %(subject)s;

-- blobs_of
SELECT blob_id FROM context.wm_record WHERE tenant_id = %s AND id = ANY (%s) AND blob_id IS NOT NULL;

-- forget_actions
SELECT context.forget_actions(%s::uuid[]);

-- await_blobs
-- Only blobs that no other record needs.
INSERT INTO context.erased_blob (tenant_id, erasure_id, blob_id)
SELECT b.tenant_id, %(erasure_id)s, b.id FROM context.blob b
WHERE b.tenant_id = %(tenant_id)s AND b.id = ANY (%(blob_ids)s) AND b.state = 'deleting'
ON CONFLICT DO NOTHING;

-- await_going
-- Files that a context gave up have no record any more, so nothing says whose they were: wait for all that are about to
-- be removed.
INSERT INTO context.erased_blob (tenant_id, erasure_id, blob_id)
SELECT b.tenant_id, %(erasure_id)s, b.id FROM context.blob b
WHERE b.tenant_id = %(tenant_id)s AND b.state <> 'live'
    AND b.due_at <= now() + interval '1 hour' AND b.state = 'deleting'
ON CONFLICT DO NOTHING;

-- hasten_blobs
-- Bytes of records of the subject that were purged before: they still have their grace time, unless a record of another
-- owner has the same bytes. `await_going` waits for them. The list of providers lets the index of contents answer.
UPDATE context.blob b SET due_at = now()
WHERE {{pages}} AND b.state = 'deleting' AND b.due_at > now()
    AND {{blob_rows.owner_hash(%(subject)s)}} = ANY (b.owners_sha256)
    AND NOT EXISTS (
        SELECT FROM context.blob live
        WHERE live.tenant_id = %(tenant_id)s AND live.sha256 = b.sha256 AND live.size_bytes = b.size_bytes
            AND live.state = 'live' AND live.damaged_at IS NULL AND live.provider = ANY (%(providers)s::text[])
    );

-- remove_uploads
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
UPDATE context.subject_erasure e SET removed = {{added('context.upload', counted.rows)}},
    due_at = now() + %(lease)s
FROM counted
WHERE e.tenant_id = %(tenant_id)s AND e.erasure_id = %(erasure_id)s AND counted.rows > 0
RETURNING counted.rows;

-- still_there
-- Bytes that are not removed yet; and, of records that others' messages point at, what those said.
SELECT EXISTS (
    SELECT FROM context.erased_blob e JOIN context.blob b ON b.tenant_id = e.tenant_id AND b.id = e.blob_id
    WHERE e.tenant_id = %(tenant_id)s AND e.erasure_id = %(erasure_id)s
) AS bytes, EXISTS (
    SELECT FROM context.message_record WHERE tenant_id = %(tenant_id)s AND record_id IS NULL
) AS texts;

-- finish
WITH gone AS (
    DELETE FROM context.erased_blob WHERE tenant_id = %(tenant_id)s AND erasure_id = %(erasure_id)s
)
UPDATE context.subject_erasure SET finished_at = now(), subject = NULL
WHERE tenant_id = %(tenant_id)s AND erasure_id = %(erasure_id)s;

-- count_records
SELECT
    (SELECT count(*) FROM context.wm_record WHERE tenant_id = %(tenant_id)s AND owner_user_id = %(subject)s),
    (SELECT count(*) FROM context.upload WHERE tenant_id = %(tenant_id)s AND subject = '=' || %(subject)s),
    (SELECT count(*) FROM context.request WHERE tenant_id = %(tenant_id)s AND subject = '=' || %(subject)s),
    (
        SELECT count(DISTINCT page_id) FROM context.page_dependency
        WHERE tenant_id = %(tenant_id)s AND node_owner_id = %(subject)s
    );

-- known
-- Find the erasures that this database knows. A database restored from an older backup lacks some; they are done again.
SELECT erasure_id FROM context.subject_erasure WHERE tenant_id = %s AND erasure_id = ANY (%s::uuid[]);

-- still_open
SELECT erasure_id FROM context.subject_erasure
WHERE tenant_id = %(tenant_id)s AND erasure_id = ANY (%(erasure_ids)s::uuid[]) AND finished_at IS NULL
LIMIT 1;

-- keep_receipt
INSERT INTO context.subject_erasure (tenant_id, erasure_id, subject_sha256, requested_by, finished_at)
VALUES (%s, %s, %s, %s, now())
ON CONFLICT DO NOTHING;

-- subjects_of_keys
SELECT DISTINCT whom.subject
FROM (
    SELECT unnest(ARRAY[user_id, subject]) AS subject FROM access.api_key WHERE tenant_id = %s
    UNION ALL
    SELECT unnest(ARRAY[user_id, subject, agent_id]) FROM access.administrative_call WHERE tenant_id = %s
) whom
WHERE whom.subject <> '';
