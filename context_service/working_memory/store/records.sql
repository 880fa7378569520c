-- insert_record
-- The record, its vector, the first entry of its log and the answer to its request in one statement: one round trip,
-- and all of it or nothing. Whatever is there already makes Postgres refuse the whole; a concurrent twin waits.
WITH new_record AS (
    INSERT INTO context.wm_record AS r (
        {{said_columns}}, tenant_id, id, blob_id, blob_key, created_by, owner_user_id, agent_id, index_state,
        metadata, content, content_text, blob_text, text_state, terms, terms_version
    )
    VALUES (
        {{said_values}}, %(tenant_id)s, %(id)s, %(blob_id)s, %(blob_key)s, %(created_by)s,
        %(owner_user_id)s, %(agent_id)s, CASE WHEN %(order_id)s::uuid IS NULL THEN 'NONE' ELSE 'PENDING' END,
        %(metadata_json)s, %(content_json)s, %(content_text)s, %(blob_text)s,
        CASE WHEN %(text_order_id)s::uuid IS NULL THEN 'NONE' ELSE 'PENDING' END, %(terms)s::integer[],
        %(terms_version)s
    )
    RETURNING {{stored}}
), new_vector AS (
    INSERT INTO context.embedding (
        tenant_id, owner_kind, owner_id, dimension, model, vector, entity_node_id, hidden_at, memory_type, graph_name,
        agent_bundle_id, app_id
    )
    SELECT %(tenant_id)s, 'record', id, %(dimension)s, %(model)s, %(vector)s::public.halfvec, entity_node_id,
        expires_at, memory_type, graph_name, agent_bundle_id, app_id
    FROM new_record
    WHERE %(vector)s::public.halfvec IS NOT NULL
), owed AS (
    INSERT INTO context.outbox (tenant_id, id, topic, subject_id)
    SELECT %(tenant_id)s, %(order_id)s, %(topic)s, id FROM new_record WHERE %(order_id)s::uuid IS NOT NULL
    UNION ALL
    SELECT %(tenant_id)s, %(text_order_id)s, %(text_topic)s, id FROM new_record
    WHERE %(text_order_id)s::uuid IS NOT NULL
), logged AS (
    INSERT INTO context.action (tenant_id, record_id, entity_node_id, request_id, kind, principal)
    SELECT %(tenant_id)s, id, entity_node_id, %(request_id)s, 'created', %(created_by)s FROM new_record
), answered AS (
    INSERT INTO context.request (tenant_id, request_id, rpc, fingerprint, answer)
    SELECT %(tenant_id)s, %(request_key)s, %(rpc)s, %(fingerprint)s, to_jsonb(new_record)
    FROM new_record
    WHERE %(request_key)s::uuid IS NOT NULL
)
SELECT {{read}} FROM new_record;

-- find_record
-- Named by its id or by the key of its blob; the other one is null. CASE, because `coalesce` is not leakproof: Postgres
-- would evaluate it after the policy, for all rows of the tenant, instead of using an index.
SELECT {{stored}}, {{record_columns.content}},
    b.provider AS stored_provider, b.key AS stored_key, CASE WHEN %(with_blob)s THEN b.crc32c END AS stored_crc32c
FROM context.wm_record r LEFT JOIN context.blob b ON b.tenant_id = r.tenant_id AND b.id = r.blob_id
WHERE r.tenant_id = %(tenant_id)s AND r.id = CASE
    WHEN %(id)s::uuid IS NOT NULL THEN %(id)s::uuid
    ELSE (SELECT k.id FROM context.wm_record k WHERE k.tenant_id = %(tenant_id)s AND k.blob_key = %(blob_key)s)
END;

-- lock_record
-- Locks the record until the transaction ends.
SELECT {{stored_archived}}
FROM context.wm_record r
WHERE tenant_id = %(tenant_id)s AND id = CASE
    WHEN %(id)s::uuid IS NOT NULL THEN %(id)s::uuid
    ELSE (SELECT k.id FROM context.wm_record k WHERE k.tenant_id = %(tenant_id)s AND k.blob_key = %(blob_key)s)
END
FOR NO KEY UPDATE;

-- update_record
-- The content is left alone unless it changes: a megabyte that stays is not written again. Terms of changed texts follow in
-- a statement of their own.
UPDATE context.wm_record r SET
    {{said_changes}}, metadata = %(metadata_json)s,
    content = CASE WHEN %(content_changes)s THEN %(content_json)s::json ELSE content END,
    content_text = CASE WHEN %(content_changes)s THEN %(content_text)s::text ELSE content_text END,
    index_state = %(index_state)s, index_error = %(index_error)s, text_state = %(text_state)s,
    text_error = %(text_error)s, terms = CASE WHEN NOT %(texts_change)s THEN terms END,
    updated_at = greatest(now(), updated_at), version = version + 1
WHERE tenant_id = %(tenant_id)s AND id = %(id)s
RETURNING {{stored}};

-- archive_record
WITH archived AS (
    UPDATE context.wm_record r SET archived_at = now(), updated_at = greatest(now(), updated_at), version = version + 1
    WHERE tenant_id = %(tenant_id)s AND id = %(id)s AND archived_at IS NULL
    RETURNING {{stored}}
), logged AS (
    INSERT INTO context.action (tenant_id, record_id, entity_node_id, created_at, kind, principal)
    SELECT %(tenant_id)s, id, entity_node_id, clock_timestamp(), 'archived', %(principal)s FROM archived
)
SELECT {{read}} FROM archived;

-- restore_record
-- An end that has passed would archive the record again at once.
WITH restored AS (
    UPDATE context.wm_record r SET archived_at = NULL, updated_at = greatest(now(), updated_at), version = version + 1,
        expires_at = CASE WHEN expires_at > now() THEN expires_at END
    WHERE tenant_id = %(tenant_id)s AND id = %(id)s AND (archived_at IS NOT NULL OR expires_at <= now())
    RETURNING {{stored}}
), logged AS (
    INSERT INTO context.action (tenant_id, record_id, entity_node_id, created_at, kind, principal)
    SELECT %(tenant_id)s, id, entity_node_id, clock_timestamp(), 'restored', %(principal)s FROM restored
)
SELECT {{read}} FROM restored;

-- list_records
-- A keyset page of at most `count_max` rows; one more is read, to know whether there are more. The window cuts the page
-- at a number of bytes, but after at least one row, so that a page of large documents never leaves the database. The first
-- page starts at infinity: an OR for it would keep a prepared plan from starting any other page at its key, and so
-- would `coalesce`, as above.
SELECT {{read}}, {{record_columns.content}}, found
FROM (
    SELECT w.*, count(*) OVER () AS found, row_number() OVER newest AS place, sum(w.bytes) OVER newest AS bytes_so_far
    FROM (
        SELECT {{stored}}, r.content, r.content_text, {{record_columns.size_with_content}} AS bytes
        FROM context.wm_record r
        WHERE r.tenant_id = %(tenant_id)s AND r.entity_node_id = %(entity_node_id)s
            AND (r.created_at, r.seq) < (
                CASE WHEN %(created_at)s::timestamptz IS NULL THEN 'infinity' ELSE %(created_at)s::timestamptz END,
                %(seq)s::bigint
            )
            AND (NOT %(blobs_only)s OR r.blob_id IS NOT NULL)
            AND {{record_filters.filtered}}
        ORDER BY r.created_at DESC, r.seq DESC
        LIMIT %(count_max)s + 1
    ) w
    WINDOW newest AS (ORDER BY w.created_at DESC, w.seq DESC ROWS UNBOUNDED PRECEDING)
) r
WHERE place <= %(count_max)s AND (bytes_so_far <= %(bytes_max)s OR place = 1)
ORDER BY created_at DESC, seq DESC;

-- holds_text
SELECT id FROM context.wm_record WHERE tenant_id = %s AND id = %s AND content IS NULL AND content_text IS NOT NULL;

-- record_exists
SELECT id FROM context.wm_record WHERE tenant_id = %s AND id = %s;

-- files_of
-- The named records of a context and those of none, if they have blobs.
SELECT r.id::text, r.name, r.content_type, r.size_bytes, r.sha256, b.provider, b.key, b.crc32c
FROM context.wm_record r JOIN context.blob b ON b.tenant_id = r.tenant_id AND b.id = r.blob_id
WHERE r.tenant_id = %(tenant_id)s AND r.id = ANY (%(ids)s::uuid[])
    AND (r.context_id IS NULL OR r.context_id = %(context_id)s::uuid) AND {{active}};

-- append_action
-- With the time of the clock: a transaction may have waited, since it began, for another one that is in the log now.
INSERT INTO context.action (
    tenant_id, record_id, entity_node_id, created_at, request_id, kind, principal, details
)
SELECT tenant_id, id, entity_node_id, clock_timestamp(), %(request_id)s, %(kind)s, %(principal)s, %(details)s
FROM context.wm_record
WHERE tenant_id = %(tenant_id)s AND id = %(record_id)s;

-- put_embedding
INSERT INTO context.embedding (
    tenant_id, owner_kind, owner_id, dimension, model, vector, entity_node_id, hidden_at, memory_type, graph_name,
    agent_bundle_id, app_id
)
SELECT %(tenant_id)s, 'record', r.id, %(dimension)s, %(model)s, %(vector)s, r.entity_node_id,
    least(r.archived_at, r.expires_at), r.memory_type, r.graph_name, r.agent_bundle_id, r.app_id
FROM context.wm_record r
WHERE r.tenant_id = %(tenant_id)s AND r.id = %(owner_id)s
ON CONFLICT (tenant_id, owner_kind, owner_id, name) DO UPDATE
    SET dimension = excluded.dimension, model = excluded.model, vector = excluded.vector, text_sha256 = NULL,
        created_at = now();

-- delete_embedding
DELETE FROM context.embedding WHERE tenant_id = %s AND owner_kind = 'record' AND owner_id = %s AND name = '';

-- has_vector_of_caller
SELECT owner_id FROM context.embedding
WHERE tenant_id = %s AND owner_kind = 'record' AND owner_id = %s AND name = '' AND text_sha256 IS NULL;
