-- alive
(deleted_at IS NULL AND (expires_at IS NULL OR expires_at > now()))

-- header
context_id, ancestors, title, external_ids::text AS external_ids, metadata::text AS metadata, entity_node_id,
agent_ids, app_id, agent_bundle_id, owner_user_id, created_by, created_at, updated_at, expires_at, closed_at,
recall_profile, models, is_findable, learning, last_seq, message_count, token_count, header_change, imported::text AS imported_json

-- below(of, unless)
-- the contexts that were forked from others, or from such, which locks them.
--
-- Args:
--     of: Has the others.
--     unless: The column that says that one is done with.
SELECT c.tenant_id, c.context_id FROM {{of}} CROSS JOIN LATERAL (
    SELECT c.tenant_id, c.context_id FROM context.context c
    WHERE c.tenant_id = {{of}}.tenant_id AND c.ancestors[1] = {{of}}.ancestors[1]
        AND c.ancestors[2] IS NOT NULL AND {{of}}.context_id = ANY (c.ancestors)
        AND c.context_id <> {{of}}.context_id AND c.{{unless}} IS NULL
    ORDER BY c.ancestors[1], c.context_id  -- by their index, and always in one order
    LIMIT {{below_max}}
    FOR UPDATE
) c

-- named
-- The external ids of a context, for lookups.
, named AS (
    INSERT INTO context.context_external_id (
        tenant_id, context_id, ancestors, system, id, owner_user_id, app_id, agent_bundle_id
    )
    SELECT DISTINCT h.tenant_id, h.context_id, h.ancestors, e ->> 'system', e ->> 'id', h.owner_user_id, h.app_id,
        h.agent_bundle_id
    FROM header h, jsonb_array_elements(h.external_ids) e
    ON CONFLICT DO NOTHING
)

-- given_placed
coalesce(g.said_at, now()) AS said_at, g.ordinal, g.part, g.is_said, g.marks, g.kind, g.role, g.author,
g.task_id, g.source_id, g.terms, g.text, g.n

-- audience
audience AS (
    SELECT h.context_id, h.owner_user_id, '' AS graph_name, h.agent_bundle_id, h.app_id, h.ancestors FROM header h
)

-- queued
-- Queues the context for learning, with the place before the first message that is not learned from yet. A row that is
-- queued stays. Whether the context teaches is decided again when its turn comes: here a setting that says so is enough.
-- The users of forks are agents, so forks teach nothing.
queued AS (
    INSERT INTO context.outbox (tenant_id, id, topic, subject_id, due_at, payload)
    SELECT h.tenant_id, gen_random_uuid(), 'learning', h.context_id, now() + %(learning_idle)s,
        jsonb_build_object('seq', h.seq_before)
    FROM header h
    WHERE h.owner_user_id <> '' AND h.learning <> 'off' AND cardinality(h.ancestors) = 1
        AND EXISTS (SELECT FROM said s WHERE s.role = 'user')
        AND (
            h.learning <> '' OR %(learning_default)s <> 'off' OR EXISTS (
                SELECT FROM context.context_setting s
                WHERE s.tenant_id = h.tenant_id AND s.learning IN ('rules', 'model') AND (
                    s.subject IN ('tenant', 'app ' || h.app_id)
                    OR s.subject = ANY (SELECT 'agent ' || a FROM unnest(h.agent_ids) a)
                )
            )
        )
    ON CONFLICT (tenant_id, topic, subject_id) DO NOTHING
)

-- write
-- The messages after the last place in `header`, their passages, and the answer to the request. `said` has a row for each
-- message; the sessions of the first message, and of the first one that names its session, depend on the header. A passage
-- has the number of its message.
, said AS (
    SELECT *
    FROM ROWS FROM (json_to_recordset(%(messages)s::json) AS (
        message_id text, role text, name text, agent_id text, content text, content_sha256 bytea, parts json,
        metadata text, said_at timestamptz, session bigint, tokens integer, size_bytes integer, task_id uuid,
        reference_task_ids uuid[], is_imported boolean
    )) WITH ORDINALITY s (
        message_id, role, name, agent_id, content, content_sha256, parts, metadata, said_at, session, tokens,
        size_bytes, task_id, reference_task_ids, is_imported, n
    )
), written AS (
    INSERT INTO context.message (
        tenant_id, context_id, ancestors, seq, said_at, session, tokens, size_bytes, owner_user_id, app_id,
        agent_bundle_id, message_id, role, name, agent_id, content, content_sha256, parts, metadata, task_id,
        reference_task_ids, is_imported
    )
    SELECT
        h.tenant_id, h.context_id, h.ancestors, h.seq_before + s.n, coalesce(s.said_at, now()),
        h.session_before + s.session + CASE WHEN s.n >= %(first_named)s THEN h.begins_by_name ELSE 0 END, s.tokens,
        s.size_bytes, h.owner_user_id, h.app_id, h.agent_bundle_id, s.message_id, s.role, s.name, s.agent_id, s.content,
        s.content_sha256, s.parts, s.metadata::json, s.task_id, s.reference_task_ids, s.is_imported
    FROM header h, said s
    RETURNING message_id, seq, created_at, tokens, session
), answered AS (
    INSERT INTO context.request (tenant_id, request_id, about_id, rpc, fingerprint, answer)
    SELECT
        %(tenant_id)s, %(request_key)s, %(context_id)s, %(rpc)s, %(fingerprint)s,
        jsonb_build_object(
            'context_id', %(context_id)s::uuid, 'created', %(created)s::boolean,
            'messages',
            %(known)s::jsonb || jsonb_agg(jsonb_build_array(message_id, seq, created_at, tokens) ORDER BY seq)
        )
    FROM written
    WHERE %(request_key)s::uuid IS NOT NULL
    HAVING count(*) > 0
), {{queued}}, {{passages.given}}, placed AS (
    SELECT w.seq, w.session, {{given_placed}}
    FROM header h, written w, given g
    WHERE w.seq = h.seq_before + g.seq
), {{audience}}

-- more
-- More passages of messages that are written, in the same transaction.
WITH header AS (
    SELECT context_id, ancestors, owner_user_id, app_id, agent_bundle_id
    FROM context.context WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s
), {{passages.given}}, placed AS (
    SELECT w.seq, w.session, {{given_placed}}
    FROM given g CROSS JOIN LATERAL (
        SELECT m.seq, m.session FROM context.message m
        WHERE m.tenant_id = %(tenant_id)s AND m.context_id = %(context_id)s AND m.seq = %(seq_before)s::bigint + g.seq
        LIMIT 1  -- by its key: planned while there are few, a join would read the whole context for ever
    ) w
), {{audience}}

-- written
SELECT w.message_id, w.seq, w.created_at, w.tokens, h.ancestors, h.owner_user_id, h.app_id, h.agent_bundle_id
FROM written w, header h
ORDER BY w.seq

-- begin
WITH header AS (
    INSERT INTO context.context (
        tenant_id, context_id, ancestors, entity_node_id, expires_at, last_seq, last_said_at, last_session,
        message_count, token_count, last_session_name, owner_user_id, app_id, agent_bundle_id, created_by, title,
        recall_profile, models, is_findable, learning, only_system, only_id, agent_ids, external_ids, metadata
    )
    VALUES (
        %(tenant_id)s, %(context_id)s, %(ancestors)s::uuid[] || %(context_id)s::uuid, %(entity_node_id)s,
        %(expires_at)s, %(count)s, coalesce(%(last_said_at)s::timestamptz, now()), %(session_count)s, %(count)s,
        %(token_count)s, %(last_name)s,
        %(owner_user_id)s, %(app_id)s, %(agent_bundle_id)s, %(created_by)s, %(title)s, %(recall_profile)s,
        %(models)s, %(is_findable)s, %(learning)s, %(only_system)s, %(only_id)s,
        (%(agent_ids)s::text[])[1:%(agents_max)s], %(external_ids)s, %(context_metadata)s
    )
    RETURNING *, 0::bigint AS seq_before, 0::bigint AS session_before, 0 AS begins_by_name
)
{{named}}

-- append
WITH header AS (
    UPDATE context.context c
    SET
        last_seq = c.last_seq + %(count)s,
        message_count = c.message_count + %(count)s,
        token_count = c.token_count + %(token_count)s,
        updated_at = now(),
        last_said_at = coalesce(%(last_said_at)s::timestamptz, now()),
        last_session = before.last_session + before.begins + before.begins_by_name + %(session_count)s,
        last_session_name = coalesce(nullif(%(last_name)s, ''), c.last_session_name),
        agent_ids = CASE
            WHEN %(agent_ids)s::text[] <@ c.agent_ids THEN c.agent_ids
            ELSE (c.agent_ids || ARRAY(
                SELECT a FROM unnest(%(agent_ids)s::text[]) WITH ORDINALITY u (a, n)
                WHERE a <> ALL (c.agent_ids) ORDER BY n
            ))[1:%(agents_max)s]
        END
    FROM (
        SELECT
            tenant_id, context_id, last_seq, last_session,
            -- A first message that names its session counts by its name, any other by the time since the last one.
            CASE
                WHEN %(first_named)s > 1
                    AND coalesce(%(first_said_at)s::timestamptz, now()) - last_said_at > %(gap)s THEN 1
                ELSE 0
            END AS begins,
            CASE WHEN %(first_name)s <> last_session_name THEN 1 ELSE 0 END AS begins_by_name
        FROM context.context
        WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND closed_at IS NULL AND {{alive}}
        FOR UPDATE
    ) before
    -- By its key: planned while there are few contexts, a join alone would go through all of the tenant for ever.
    WHERE c.tenant_id = %(tenant_id)s AND c.context_id = %(context_id)s AND c.context_id = before.context_id
    RETURNING
        c.tenant_id, c.context_id, c.ancestors, c.owner_user_id, c.app_id, c.agent_bundle_id, c.agent_ids, c.learning,
        before.last_seq AS seq_before, before.last_session + before.begins AS session_before, before.begins_by_name
)

-- read
SELECT {{header}} FROM context.context WHERE tenant_id = %s AND context_id = %s AND {{alive}};

-- lock
{{read}} FOR UPDATE;

-- hold
{{read}} FOR KEY SHARE;

-- find_only
SELECT context_id FROM context.context
WHERE tenant_id = %(tenant_id)s AND owner_user_id = %(owner_user_id)s AND app_id = %(app_id)s
    AND agent_bundle_id = %(agent_bundle_id)s AND only_system = %(system)s AND only_id = %(id)s AND {{alive}};

-- release_expired
-- An only context that is past its time gives its external id away, before it is removed.
UPDATE context.context SET only_system = NULL, only_id = NULL
WHERE tenant_id = %(tenant_id)s AND owner_user_id = %(owner_user_id)s AND app_id = %(app_id)s
    AND agent_bundle_id = %(agent_bundle_id)s AND only_system = %(system)s AND only_id = %(id)s
    AND expires_at <= now();

-- known
SELECT m.message_id, m.seq, m.created_at, m.tokens, m.content_sha256
FROM (
    SELECT tenant_id, context_id FROM context.context WHERE tenant_id = %s AND context_id = %s AND {{alive}}
) c
JOIN context.message m
    ON m.tenant_id = c.tenant_id AND m.context_id = c.context_id AND m.message_id = ANY (%s);

-- filtered
-- The contexts of a filter that are older than the one with `after_at` and `after_id`.
--
-- The filters are in one condition that the planner takes for true of most rows, as it mostly is. Of nine it would expect
-- hardly any row, and sort all contexts of the tenant instead of reading the newest by their index. The first page starts
-- at infinity: an OR for it would keep any other page from starting at its key.
tenant_id = %(tenant_id)s
    AND (created_at, context_id) < (
        CASE WHEN %(after_at)s::timestamptz IS NULL THEN 'infinity' ELSE %(after_at)s::timestamptz END, %(after_id)s::uuid
    )
    AND nullif(
        (%(agent_id)s = '' OR %(agent_id)s = ANY (agent_ids))
        AND (%(owner_user_id)s = '' OR owner_user_id = %(owner_user_id)s)
        AND (%(created_from)s::timestamptz IS NULL OR created_at >= %(created_from)s)
        AND (%(created_to)s::timestamptz IS NULL OR created_at < %(created_to)s)
        AND (%(is_closed)s::boolean IS NULL OR (closed_at IS NOT NULL) = %(is_closed)s)
        AND (%(app_id)s = '' OR app_id = %(app_id)s)
        AND (%(entity_node_id)s::uuid IS NULL OR entity_node_id = %(entity_node_id)s)
        AND metadata @> %(metadata)s
        AND {{alive}},
        false
    ) IS NOT NULL

-- of_external_id
-- The contexts that have an external id, which are few.
(
    SELECT c.*
    FROM context.context_external_id e
    JOIN context.context c ON c.tenant_id = e.tenant_id AND c.context_id = e.context_id
    WHERE e.tenant_id = %(tenant_id)s AND e.system = %(system)s AND e.id = %(id)s
) c

-- listing(source)
SELECT {{header}}
FROM {{source}}
WHERE {{filtered}}
ORDER BY created_at DESC, context_id DESC
LIMIT %(count)s

-- list
-- From the newest on; or those of an external id, which are few.
{{listing(context.context c)}};

-- list_named
{{listing({{of_external_id}})}};

-- ids
-- Each is looked up by itself. Planned before anybody counted the table, a list of them, or an equal `seq`, is sought
-- among all messages of the context, by the index of their ids; a range in order is the key's alone.
SELECT s.seq, m.message_id
FROM unnest(%(seqs)s::bigint[]) s (seq)
    CROSS JOIN LATERAL (
        SELECT m.message_id, m.retracted_at
        FROM context.message m
        WHERE m.tenant_id = %(tenant_id)s AND m.context_id = %(context_id)s AND m.seq BETWEEN s.seq AND s.seq
        ORDER BY m.seq
        LIMIT 1
    ) m
WHERE m.retracted_at IS NULL;

-- ids_beginning
-- Ids with the prefix sort before the prefix and a "z", in any collation; `starts_with` removes other matches.
SELECT m.message_id, m.retracted_at IS NOT NULL AS is_retracted
FROM unnest(%(prefixes)s::text[]) p (prefix)
    JOIN context.message m ON m.tenant_id = %(tenant_id)s AND m.context_id = %(context_id)s
        AND m.message_id >= p.prefix AND m.message_id < p.prefix || 'z' AND starts_with(m.message_id, p.prefix);

-- update
WITH header AS (
    UPDATE context.context
    SET title = %(title)s, metadata = %(context_metadata)s, entity_node_id = %(entity_node_id)s,
        expires_at = %(expires_at)s, recall_profile = %(recall_profile)s, models = %(models)s,
        is_findable = %(is_findable)s, learning = %(learning)s, external_ids = %(external_ids)s, updated_at = now(), last_change = last_change + 1,
        header_change = last_change + 1
    WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s
    RETURNING *
), gone AS (
    DELETE FROM context.context_external_id e
    USING header h
    WHERE e.tenant_id = h.tenant_id AND e.context_id = h.context_id AND NOT EXISTS (
        SELECT FROM jsonb_array_elements(h.external_ids) x WHERE x ->> 'system' = e.system AND x ->> 'id' = e.id
    )
)
{{named}}
SELECT {{header}} FROM header;

-- close_below
-- All descendants of a closed context.
WITH this AS (
    SELECT tenant_id, context_id, ancestors FROM context.context
    WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND closed_at IS NOT NULL
), below AS ({{below(this, closed_at)}})
UPDATE context.context c
SET closed_at = now(), updated_at = now(), last_change = last_change + 1, header_change = last_change + 1
FROM below
WHERE c.tenant_id = below.tenant_id AND c.context_id = below.context_id AND c.closed_at IS NULL
RETURNING c.context_id;

-- close
-- No further message comes, so it need not be idle before it is learned from.
WITH header AS (
    UPDATE context.context
    SET closed_at = coalesce(closed_at, now()), updated_at = now(),
        last_change = CASE WHEN closed_at IS NULL THEN last_change + 1 ELSE last_change END,
        header_change = CASE WHEN closed_at IS NULL THEN last_change + 1 ELSE header_change END
    WHERE tenant_id = %s AND context_id = %s AND {{alive}}
    RETURNING *
), due AS (
    UPDATE context.outbox o SET due_at = least(o.due_at, now()) FROM header h
    WHERE o.tenant_id = h.tenant_id AND o.topic = 'learning' AND o.subject_id = h.context_id
)
SELECT {{header}} FROM header;

-- paging(order, which)
-- Joined to the header: a context without messages gives one row, a missing context none. Messages past the size of a
-- page are cut before Postgres reads their texts.
SELECT m.*, c.closed_at
FROM (
    SELECT tenant_id, context_id, closed_at FROM context.context
    WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND {{alive}}
) c
LEFT JOIN LATERAL (
    SELECT message_id, seq, role, name, agent_id, content, parts::text AS parts, metadata::text AS metadata, created_at,
        said_at, tokens, task_id, reference_task_ids, is_imported, wanted_count
    FROM (
        SELECT *, sum(size_bytes) OVER (ORDER BY {{order}} ROWS UNBOUNDED PRECEDING) AS upto,
            row_number() OVER (ORDER BY {{order}}) AS place, count(*) OVER () AS wanted_count
        FROM (
            SELECT * FROM context.message m
            WHERE m.tenant_id = c.tenant_id AND m.context_id = c.context_id AND m.retracted_at IS NULL
                AND m.seq BETWEEN %(seq_from)s AND %(seq_to)s {{which}}
            ORDER BY {{order}}
            LIMIT %(count)s
        ) wanted
    ) counted
    WHERE upto <= %(bytes_max)s OR place = 1
) m ON true
ORDER BY {{order}}

-- page
{{paging(seq, )}};

-- page_newest_first
{{paging(seq DESC, )}};

-- page_of_task
{{paging(seq DESC, AND m.task_id = %(task_id)s)}};

-- message
SELECT m.message_id, m.seq, m.role, m.name, m.agent_id, m.content, m.parts::text AS parts, m.metadata::text AS metadata,
    m.created_at, m.said_at, m.tokens, m.task_id, m.reference_task_ids, m.is_imported, c.closed_at
FROM (
    SELECT tenant_id, context_id, closed_at FROM context.context
    WHERE tenant_id = %s AND context_id = %s AND {{alive}}
) c
LEFT JOIN context.message m
    ON m.tenant_id = c.tenant_id AND m.context_id = c.context_id AND m.message_id = %s AND m.retracted_at IS NULL;

-- retract
-- The header is locked, so no other transaction takes the next number.
WITH hidden AS (
    UPDATE context.message SET retracted_at = now(), retracted_change = (
        SELECT last_change + 1 FROM context.context WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s
    )
    WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND message_id = ANY (%(message_ids)s)
        AND retracted_at IS NULL
    RETURNING seq, tokens
), pointed AS (
    DELETE FROM context.message_record r USING hidden
    WHERE r.tenant_id = %(tenant_id)s AND r.context_id = %(context_id)s AND r.seq = hidden.seq
), counted AS (
    UPDATE context.context
    SET message_count = message_count - (SELECT count(*) FROM hidden),
        token_count = token_count - (SELECT coalesce(sum(tokens), 0) FROM hidden),
        updated_at = now(), last_change = last_change + 1
    WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND EXISTS (SELECT FROM hidden)
), unlearned AS (
    -- The worker that learns memories also forgets those that only retracted messages have taught.
    INSERT INTO context.outbox (tenant_id, id, topic, subject_id, payload)
    SELECT c.tenant_id, gen_random_uuid(), 'learning', c.context_id, jsonb_build_object('seq', c.last_seq)
    FROM context.context c
    WHERE c.tenant_id = %(tenant_id)s AND c.context_id = %(context_id)s AND c.owner_user_id <> ''
        AND EXISTS (SELECT FROM hidden)
    ON CONFLICT (tenant_id, topic, subject_id) DO UPDATE SET due_at = now()
)
SELECT seq FROM hidden;

-- unnamed
-- No visible message, no artifact and no task of the context names the record `r`.
NOT EXISTS (
        SELECT FROM context.message m
        WHERE m.tenant_id = r.tenant_id AND m.context_id = r.context_id AND m.retracted_at IS NULL
            AND strpos(m.parts::text, r.id::text) > 0
    )
    AND NOT EXISTS (
        SELECT FROM context.artifact a
        WHERE a.tenant_id = r.tenant_id AND a.context_id = r.context_id AND strpos(a.parts::text, r.id::text) > 0
    )
    AND NOT EXISTS (
        SELECT FROM context.task t
        WHERE t.tenant_id = r.tenant_id AND t.context_id = r.context_id
            AND strpos(t.status_message::text, r.id::text) > 0
    )

-- lone_files
-- Files of the context that retracted messages name, and nothing else of the context.
SELECT r.id
FROM context.wm_record r
WHERE r.tenant_id = %(tenant_id)s AND r.context_id = %(context_id)s
    AND EXISTS (
        SELECT FROM context.message m
        WHERE m.tenant_id = r.tenant_id AND m.context_id = r.context_id AND m.seq = ANY (%(seqs)s::bigint[])
            AND strpos(m.parts::text, r.id::text) > 0
    )
    AND {{unnamed}}
ORDER BY r.id;

-- lone_among
SELECT r.id
FROM context.wm_record r
WHERE r.tenant_id = %(tenant_id)s AND r.context_id = %(context_id)s AND r.id = ANY (%(ids)s::uuid[])
    AND {{unnamed}}
ORDER BY r.id;

-- retracted
-- All that one call took back has one number.
SELECT retracted_change AS change, array_agg(seq ORDER BY seq) AS seqs,
    array_agg(message_id ORDER BY seq) AS message_ids
FROM context.message
WHERE tenant_id = %s AND context_id = %s AND retracted_change > %s AND retracted_change <= %s
GROUP BY retracted_change
ORDER BY retracted_change
LIMIT %s;
