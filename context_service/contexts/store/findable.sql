-- candidates(source)
-- The newest contexts that a search may find, with the counts of their passages.
WITH settings AS MATERIALIZED ({{settings.with_findable}}), found AS MATERIALIZED (
    SELECT c.context_id, c.created_at
    FROM {{source}}
    WHERE {{log.filtered}} AND nullif({{settings.findable(settings)}}, false) IS NOT NULL
    ORDER BY c.created_at DESC, c.context_id DESC
    LIMIT %(count)s
)
SELECT f.context_id, f.created_at, coalesce(t.passages, 0) AS passages, coalesce(t.sessions, 0) AS sessions,
    coalesce(t.length, 0) AS length, coalesce(t.length_before, 0) AS length_before,
    coalesce(t.length_after, 0) AS length_after
FROM found f
    LEFT JOIN LATERAL (
        SELECT * FROM context.passage_scope t
        WHERE t.tenant_id = %(tenant_id)s AND t.scope_id = f.context_id AND t.scope_kind = 'context'
        LIMIT 1
    ) t ON true
ORDER BY f.created_at DESC, f.context_id DESC

-- of_nobody
{{candidates((
    SELECT * FROM context.context c WHERE c.tenant_id = %(tenant_id)s AND c.owner_user_id = ''
) c)}};

-- of_user
-- By the index of owners: a user has few of the tenant's contexts.
{{candidates((
    SELECT * FROM context.context c
    WHERE c.tenant_id = %(tenant_id)s AND c.owner_user_id <> '' AND c.owner_user_id = %(owner_user_id)s
    OFFSET 0
) c)}};

-- of_external_id
{{candidates({{log.of_external_id}})}};

-- headers
SELECT {{log.header}} FROM context.context c
WHERE c.tenant_id = %(tenant_id)s AND c.context_id = ANY (%(ids)s::uuid[]) AND {{log.alive}};

-- message_ids
-- Each is looked up by its key, as in `ids` of the log.
SELECT a.context_id, a.seq, m.message_id
FROM unnest(%(ids)s::uuid[], %(seqs)s::bigint[]) a (context_id, seq)
    CROSS JOIN LATERAL (
        SELECT m.message_id, m.retracted_at
        FROM context.message m
        WHERE m.tenant_id = %(tenant_id)s AND m.context_id = a.context_id AND m.seq BETWEEN a.seq AND a.seq
        ORDER BY m.seq
        LIMIT 1
    ) m
WHERE m.retracted_at IS NULL;

-- messages_of_users
-- The newest messages of users in contexts, those of the first context of the list first. Messages past the size of the
-- answer are cut before Postgres reads their texts.
SELECT m.context_id, m.message_id, m.seq, m.role, m.name, m.agent_id, m.content, m.parts::text AS parts,
    m.metadata::text AS metadata, m.created_at, m.said_at, m.tokens, m.task_id, m.reference_task_ids, m.is_imported
FROM (
    SELECT m.*, sum(m.size_bytes) OVER (ORDER BY m.place, m.seq DESC ROWS UNBOUNDED PRECEDING) AS upto
    FROM (
        SELECT m.*, a.place
        FROM unnest(%(ids)s::uuid[]) WITH ORDINALITY a (context_id, place)
            CROSS JOIN LATERAL (
                SELECT * FROM context.message m
                WHERE m.tenant_id = %(tenant_id)s AND m.context_id = a.context_id AND m.role = 'user'
                    AND m.retracted_at IS NULL
                ORDER BY m.seq DESC
                LIMIT %(count)s
            ) m
        ORDER BY a.place, m.seq DESC
        LIMIT %(count)s
    ) m
) m
WHERE m.upto <= %(bytes_max)s
ORDER BY m.place, m.seq DESC;
