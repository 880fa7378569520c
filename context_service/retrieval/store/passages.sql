-- length(terms)
-- The number of terms before further forms, which do not count (`terms.FORMS_FOLLOW`).
coalesce(array_position({{terms}}, {{forms_follow}}) - 1, cardinality({{terms}}))

-- given
-- A part of a statement that writes passages: `given` has the passages of the call, numbered by `n`. After it the
-- statement gives in `placed` the same rows with their `seq` and `session`, and in one row of `audience` their readers;
-- `Passages.puts` writes them. The parameters are those of `putting`, and `tenant_id`.
given AS (
    SELECT g.*
    FROM ROWS FROM (json_to_recordset(%(passages)s::json) AS (
        seq bigint, session bigint, said_at timestamptz, ordinal integer, part integer, is_said boolean,
        marks smallint, kind text, role text, author text, task_id uuid, source_id uuid, terms integer[], text text
    )) WITH ORDINALITY g (
        seq, session, said_at, ordinal, part, is_said, marks, kind, role, author, task_id, source_id, terms, text, n
    )
)

-- putting
numbered AS MATERIALIZED (
    -- Here places begin at 0 in each session, and the passage before the first one is not known yet.
    SELECT p.*, {{length(p.terms)}} AS length,
        CASE WHEN p.is_said THEN row_number() OVER said - 1 END AS place,
        CASE WHEN p.is_said THEN lag({{length(p.terms)}}) OVER said ELSE 0 END AS length_before
    FROM placed p
    WINDOW said AS (PARTITION BY p.session, p.is_said ORDER BY p.n)
), together AS (
    SELECT n.session, count(*) AS passages, sum(n.length) AS length, count(n.place) AS places,
        coalesce((array_agg(n.length ORDER BY n.n DESC) FILTER (WHERE n.is_said))[1], 0) AS last_length
    FROM numbered n
    GROUP BY n.session
), sessions AS (
    -- Locked in their order, before the scope.
    INSERT INTO context.passage_session AS s (
        tenant_id, scope_id, scope_kind, context_id, session, passages, length, places, last_length,
        length_before_last, owner_user_id, graph_name, agent_bundle_id, app_id, ancestors
    )
    SELECT %(tenant_id)s, %(scope_id)s, %(scope_kind)s, a.context_id, t.session, t.passages, t.length, t.places,
        t.last_length, 0, a.owner_user_id, a.graph_name, a.agent_bundle_id, a.app_id, a.ancestors
    FROM together t, audience a
    ORDER BY t.session
    ON CONFLICT (tenant_id, scope_id, scope_kind, session) DO UPDATE
        SET passages = s.passages + excluded.passages, length = s.length + excluded.length,
            places = s.places + excluded.places,
            last_length = CASE WHEN excluded.places > 0 THEN excluded.last_length ELSE s.last_length END,
            length_before_last = s.last_length
    RETURNING s.session, s.passages, s.places, s.length_before_last
), put AS (
    -- Places continue after those of the session, and the first one has its last passage before it.
    INSERT INTO context.passage AS p (
        tenant_id, scope_id, scope_kind, context_id, seq, session, said_at, ordinal, part, place, length_before, marks,
        kind, role, author, task_id, source_id, owner_user_id, graph_name, agent_bundle_id, app_id, ancestors, terms,
        text
    )
    SELECT %(tenant_id)s, %(scope_id)s, %(scope_kind)s, a.context_id, n.seq, n.session, n.said_at, n.ordinal, n.part,
        s.places - t.places + n.place, coalesce(n.length_before, s.length_before_last), n.marks, n.kind, n.role,
        n.author, n.task_id, n.source_id, a.owner_user_id, a.graph_name, a.agent_bundle_id, a.app_id, a.ancestors,
        n.terms, n.text
    FROM numbered n
        JOIN sessions s ON s.session = n.session
        JOIN together t ON t.session = n.session
        CROSS JOIN audience a
    RETURNING p.seq, p.place, p.length_before, {{length(p.terms)}} AS length
), totals AS (
    INSERT INTO context.passage_scope AS t (
        tenant_id, scope_id, scope_kind, context_id, first_seq, last_seq, passages, sessions, length, length_before,
        length_after, owner_user_id, graph_name, agent_bundle_id, app_id, ancestors, authors
    )
    SELECT %(tenant_id)s, %(scope_id)s, %(scope_kind)s, a.context_id, p.first_seq, p.last_seq, p.passages,
        (SELECT count(*) FROM sessions s JOIN together t ON t.session = s.session AND t.passages = s.passages),
        p.length, p.length_before, p.length_after, a.owner_user_id, a.graph_name, a.agent_bundle_id, a.app_id,
        a.ancestors, %(authors)s::text[]
    FROM (
        SELECT min(p.seq) AS first_seq, max(p.seq) AS last_seq, count(*) AS passages, sum(p.length) AS length,
            sum(p.length_before) AS length_before, coalesce(sum(p.length) FILTER (WHERE p.place > 0), 0) AS length_after
        FROM put p
        HAVING count(*) > 0
    ) p, audience a
    ON CONFLICT (tenant_id, scope_id, scope_kind, owner_user_id, graph_name, agent_bundle_id, app_id) DO UPDATE
        SET first_seq = least(t.first_seq, excluded.first_seq), last_seq = greatest(t.last_seq, excluded.last_seq),
            passages = t.passages + excluded.passages, sessions = t.sessions + excluded.sessions,
            length = t.length + excluded.length, length_before = t.length_before + excluded.length_before,
            length_after = t.length_after + excluded.length_after,
            authors = CASE
                WHEN excluded.authors <@ t.authors THEN t.authors
                ELSE (t.authors || ARRAY(SELECT unnest(excluded.authors) EXCEPT SELECT unnest(t.authors)))
                    [1 : %(authors_max)s::integer]
            END
)

-- owed
-- Queued once for a scope. A worker that holds the row keeps it and continues.
, owed AS (
    INSERT INTO context.outbox AS o (tenant_id, id, topic, subject_id, payload)
    SELECT %(tenant_id)s, gen_random_uuid(), %(topic)s, %(scope_id)s, {{vector_outbox.of_passages}}
    FROM put p
    HAVING count(*) > 0
    ON CONFLICT (tenant_id, topic, subject_id) DO UPDATE SET id = excluded.id, payload = {{vector_outbox.together}}
)

-- audience
WITH audience AS (
    SELECT %(context_id)s::uuid AS context_id, %(owner_user_id)s::text AS owner_user_id,
        %(graph_name)s::text AS graph_name, %(agent_bundle_id)s::text AS agent_bundle_id, %(app_id)s::text AS app_id,
        %(ancestors)s::uuid[] AS ancestors
)

-- remove_vectors
-- Runs after the statement that removes passages, so it sees vectors that were stored while that one waited.
DELETE FROM context.passage_vector
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND scope_kind = %(scope_kind)s
    AND seq = ANY (%(seqs)s::bigint[]) AND ordinal BETWEEN %(first)s AND %(last)s;

-- remove
WITH gone AS (
    DELETE FROM context.passage
    WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND scope_kind = %(scope_kind)s
        AND seq = ANY (%(seqs)s::bigint[]) AND ordinal BETWEEN %(first)s AND %(last)s
    RETURNING session, place, length_before, {{length(terms)}} AS length, owner_user_id, graph_name, agent_bundle_id,
        app_id
), sessions AS (
    UPDATE context.passage_session s SET passages = s.passages - g.passages, length = s.length - g.length
    FROM (SELECT session, count(*) AS passages, sum(length) AS length FROM gone GROUP BY session) g
    WHERE s.tenant_id = %(tenant_id)s AND s.scope_id = %(scope_id)s AND s.scope_kind = %(scope_kind)s
        AND s.session = g.session
    RETURNING s.passages, s.owner_user_id, s.graph_name, s.agent_bundle_id, s.app_id
)
UPDATE context.passage_scope t
SET passages = t.passages - g.passages, length = t.length - g.length, length_before = t.length_before - g.length_before,
    length_after = t.length_after - g.length_after,
    sessions = t.sessions - (
        SELECT count(*) FROM sessions s
        WHERE s.passages = 0 AND (s.owner_user_id, s.graph_name, s.agent_bundle_id, s.app_id)
            = (g.owner_user_id, g.graph_name, g.agent_bundle_id, g.app_id))
FROM (
    SELECT owner_user_id, graph_name, agent_bundle_id, app_id, count(*) AS passages, sum(length) AS length,
        sum(length_before) AS length_before, coalesce(sum(length) FILTER (WHERE place > 0), 0) AS length_after
    FROM gone
    GROUP BY owner_user_id, graph_name, agent_bundle_id, app_id
) g
WHERE t.tenant_id = %(tenant_id)s AND t.scope_id = %(scope_id)s AND t.scope_kind = %(scope_kind)s
    AND t.owner_user_id = g.owner_user_id AND t.graph_name = g.graph_name AND t.agent_bundle_id = g.agent_bundle_id
    AND t.app_id = g.app_id
RETURNING g.passages;

-- forget_sessions
-- Removes counters of sessions that have only one source.
DELETE FROM context.passage_session
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND scope_kind = %(scope_kind)s
    AND session = ANY (%(seqs)s::bigint[]) AND passages = 0;

-- forget_scope
DELETE FROM context.passage_scope
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND scope_kind = %(scope_kind)s AND passages = 0;

-- totals
SELECT passages, sessions, length, length_before, length_after, first_seq, last_seq, authors
FROM context.passage_scope
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND scope_kind = %(scope_kind)s;

-- scopes_with
SELECT scope_id FROM context.passage_scope
WHERE tenant_id = %(tenant_id)s AND scope_id = ANY (%(ids)s::uuid[]) AND scope_kind = %(scope_kind)s
GROUP BY scope_id
HAVING sum(passages) > 0
ORDER BY sum(passages) DESC, scope_id
LIMIT %(count)s;

-- columns
p.seq, p.ordinal, p.session, p.place, p.length_before, p.marks, p.kind, p.role, p.author, p.task_id, p.said_at,
p.terms

-- in_scope
p.tenant_id = %(tenant_id)s AND p.scope_id = %(scope_id)s AND p.scope_kind = %(scope_kind)s

-- session
SELECT s.session, s.length, s.places FROM context.passage_session s
WHERE s.tenant_id = %(tenant_id)s AND s.scope_id = %(scope_id)s AND s.scope_kind = %(scope_kind)s

-- as_rows(sessions)
-- Reads the passages of `read` as rows, each with its session.
--
-- One number encodes a term and its position; terms that are not in the query are not sent. Each term is searched in the
-- passage, since walking over all terms of a long one takes four times as long.
SELECT p.seq, p.ordinal, p.session, p.place, {{length(p.terms)}} AS length, p.length_before,
    s.length AS session_length, s.places AS session_places, p.marks, p.kind, p.role, p.author, p.task_id, p.said_at,
    ARRAY(
        SELECT (place - 1) * {{asked_terms_max}} + array_position(%(asked)s::integer[], a.term) - 1
        FROM unnest(%(different)s::integer[]) a (term), unnest(array_positions(p.terms, a.term)) place
        WHERE a.term = ANY (p.terms)
        ORDER BY place
    )::integer[] AS found
FROM read p {{sessions}}
ORDER BY p.seq DESC, p.ordinal DESC

-- of_few_sessions
{{as_rows(JOIN ({{session}}) s ON s.session = p.session)}}

-- of_many_sessions
-- In a large scope each session is looked up: without statistics a join reads all sessions for each row.
{{as_rows(CROSS JOIN LATERAL ({{session}} AND s.session = p.session LIMIT 1) s)}}

-- whole
WITH read AS MATERIALIZED (
    SELECT {{columns}} FROM context.passage p WHERE {{in_scope}} ORDER BY p.seq DESC, p.ordinal DESC LIMIT %(rows_max)s
)
{{of_few_sessions}};

-- found_by_index
context.passage_of_tenant p
WHERE p.terms && %(finding)s::integer[] AND nullif({{in_scope}}, false) IS NOT NULL

-- found_at_end
-- Under row-level security no index serves the terms, so the scope is scanned from its end.
(
    SELECT {{columns}} FROM context.passage p
    WHERE {{in_scope}} AND p.seq >= %(seq_from)s AND p.terms && %(finding)s::integer[]
    ORDER BY p.seq DESC, p.ordinal DESC
    LIMIT %(searched_max)s
) p

-- best(found)
-- The condition on the scope is written so that no index serves it: for a large one the planner would read the whole
-- primary key to find few rows.
SELECT {{columns}}
FROM {{found}}
ORDER BY (
    SELECT sum(a.weight) FROM unnest(%(asked)s::integer[], %(weights)s::real[]) a (term, weight)
    WHERE a.term = ANY (p.terms)
) DESC, p.seq DESC, p.ordinal DESC
LIMIT %(rows_max)s

-- matching_of(found)
WITH read AS MATERIALIZED ({{best({{found}})}})
{{of_many_sessions}}

-- matching_and_beside(found)
-- Neighbours are looked up by their places, except those that matched already; passages before a match only where they
-- may have a term and may not have been found by it. Looked up are also the passage that an assistant's match answers,
-- and the newest standing rules of users, which count whatever the words of the query are.
WITH matched AS MATERIALIZED ({{best({{found}})}}), rules AS MATERIALIZED (
    SELECT p.session, p.place FROM context.passage_of_tenant p
    WHERE {{in_scope}} AND p.marks & {{rule}} <> 0 AND p.role = 'user' AND p.place IS NOT NULL
    ORDER BY p.seq DESC, p.ordinal DESC
    LIMIT {{rules_max}}
), next_places AS MATERIALIZED (
    (
        SELECT m.session, m.place + 1 AS place FROM matched m WHERE m.place IS NOT NULL
        UNION
        SELECT m.session, m.place - m.ordinal - 1 FROM matched m WHERE m.role = 'assistant' AND m.place > m.ordinal
        UNION
        SELECT r.session, r.place FROM rules r
    )
    EXCEPT
    SELECT m.session, m.place FROM matched m
), before AS MATERIALIZED (
    SELECT m.session, m.place - 1 AS place FROM matched m
    WHERE m.place IS NOT NULL AND (%(is_left_out)s OR (SELECT count(*) FROM matched) >= %(rows_max)s)
    EXCEPT
    SELECT m.session, m.place FROM matched m
    EXCEPT
    SELECT b.session, b.place FROM next_places b
), read AS MATERIALIZED (
    SELECT {{columns}} FROM matched p
    UNION ALL
    SELECT {{columns}}
    FROM next_places b
        CROSS JOIN LATERAL (
            SELECT {{columns}} FROM context.passage p
            WHERE {{in_scope}} AND p.session = b.session AND p.place = b.place
            LIMIT 1
        ) p
    UNION ALL
    SELECT {{columns}}
    FROM before b
        CROSS JOIN LATERAL (
            SELECT {{columns}} FROM context.passage p
            WHERE {{in_scope}} AND p.session = b.session AND p.place = b.place
            LIMIT 1
        ) p
    WHERE p.terms && %(asked)s::integer[]
)
{{of_many_sessions}}

-- matching
-- Only contexts have spoken passages: elsewhere there are no neighbours, and planning for them takes as long as reading.
{{matching_of({{found_by_index}})}};

-- matching_at_end
{{matching_of({{found_at_end}})}};

-- matching_said
{{matching_and_beside({{found_by_index}})}};

-- matching_said_at_end
{{matching_and_beside({{found_at_end}})}};

-- at
-- Each is looked up alone: without statistics of the table a join would read the whole scope.
WITH read AS MATERIALIZED (
    SELECT {{columns}}
    FROM unnest(%(seqs)s::bigint[], %(ordinals)s::integer[]) a (seq, ordinal)
        CROSS JOIN LATERAL (
            SELECT {{columns}} FROM context.passage p
            WHERE {{in_scope}} AND p.seq = a.seq AND p.ordinal = a.ordinal
            LIMIT 1
        ) p
)
{{of_many_sessions}};

-- sample
-- A random sample: with even steps, a conversation of two could give the same speaker each time.
SELECT t.term, count(*) AS passages
FROM (
    SELECT %(first_seq)s::bigint + floor(random() * (%(last_seq)s::bigint - %(first_seq)s::bigint + 1))::bigint AS seq
    FROM generate_series(1, %(sample)s)
) one
    CROSS JOIN LATERAL (
        SELECT p.terms
        FROM context.passage p
        WHERE p.tenant_id = %(tenant_id)s AND p.scope_id = %(scope_id)s AND p.scope_kind = %(scope_kind)s
            AND p.seq >= one.seq
        ORDER BY p.seq, p.ordinal
        LIMIT 1
    ) p
    CROSS JOIN LATERAL (SELECT DISTINCT unnest(p.terms)) t (term)
GROUP BY t.term
HAVING count(*) >= %(sampled_min)s;

-- texts
SELECT p.seq, p.ordinal, p.text
FROM unnest(%(seqs)s::bigint[], %(ordinals)s::integer[]) a (seq, ordinal)
    CROSS JOIN LATERAL (
        SELECT p.seq, p.ordinal, p.text FROM context.passage p
        WHERE {{in_scope}} AND p.seq = a.seq AND p.ordinal = a.ordinal
        LIMIT 1
    ) p;

-- newest_texts
SELECT p.text FROM context.passage p WHERE {{in_scope}} AND p.seq > %(after)s
ORDER BY p.seq DESC, p.ordinal DESC
LIMIT %(rows_max)s;

-- texts_with
-- The terms are hidden from the planner, which would expect every row to have one of them and read all rows. The index
-- checks every term for each row that one term finds, so the terms are searched a few at a time.
WITH f AS MATERIALIZED (
    SELECT array_agg(a.term) AS terms
    FROM unnest(%(finding)s::integer[]) WITH ORDINALITY a (term, n)
    GROUP BY (a.n - 1) / {{finding_together}}
), found AS MATERIALIZED (
    SELECT DISTINCT ON (p.seq, p.ordinal) p.text
    FROM f
        CROSS JOIN LATERAL (
            SELECT p.seq, p.ordinal, p.text
            FROM context.passage_of_tenant p
            WHERE p.terms && f.terms AND nullif({{in_scope}}, false) IS NOT NULL
            LIMIT %(rows_max)s
        ) p
    ORDER BY p.seq, p.ordinal
)
SELECT text FROM found LIMIT %(rows_max)s;

-- of_sources
-- Passages of named sources, as rows without terms of a query.
SELECT p.seq, p.ordinal, p.session, p.place, {{length(p.terms)}} AS length, p.length_before, 0 AS session_length,
    0 AS session_places, p.marks, p.kind, p.role, p.author, p.task_id, p.said_at, '{}'::integer[] AS found
FROM context.passage p
WHERE {{in_scope}} AND p.seq = ANY (%(seqs)s::bigint[])
ORDER BY p.seq DESC, p.ordinal
LIMIT %(count)s;

-- drop_totals
DELETE FROM context.passage_scope
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND scope_kind = %(scope_kind)s;

-- dropping(table)
-- Each step continues after the one before: deleted rows stay in the index for a while and would be read again.
DELETE FROM {{table}} WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM {{table}}
    WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND scope_kind = %(scope_kind)s
        AND seq >= %(after)s
    ORDER BY seq, ordinal
    LIMIT %(step)s
))
RETURNING seq AS after

-- drop_passages
{{dropping(context.passage)}};

-- drop_vectors
{{dropping(context.passage_vector)}};

-- drop_sessions
DELETE FROM context.passage_session WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM context.passage_session
    WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND scope_kind = %(scope_kind)s
        AND session >= %(after)s
    ORDER BY session
    LIMIT %(step)s
))
RETURNING session AS after;

-- drop_owed
DELETE FROM context.outbox WHERE tenant_id = %s AND topic = %s AND subject_id = %s;

-- put(puts)
{{audience}}, {{given}}, placed AS (SELECT * FROM given), {{puts}} SELECT
