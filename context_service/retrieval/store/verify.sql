-- in_scope
tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND scope_kind = %(scope_kind)s

-- rows
SELECT {{named_columns}} FROM context.passage
WHERE {{in_scope}} AND seq > %(after)s AND (%(upto)s::bigint IS NULL OR seq <= %(upto)s) AND kind = ANY (%(kinds)s);

-- nobodys
SELECT seq, ordinal FROM context.passage WHERE {{in_scope}} AND kind <> ALL (%(kinds)s);

-- delete
-- With their vectors: those were made of another text. A backfill makes new ones.
WITH vectors AS (
    DELETE FROM context.passage_vector
    USING unnest(%(seqs)s::bigint[], %(ordinals)s::integer[]) g (of_seq, of_ordinal)
    WHERE {{in_scope}} AND seq = of_seq AND ordinal = of_ordinal
)
DELETE FROM context.passage
USING unnest(%(seqs)s::bigint[], %(ordinals)s::integer[]) g (of_seq, of_ordinal)
WHERE {{in_scope}} AND seq = of_seq AND ordinal = of_ordinal;

-- insert
INSERT INTO context.passage (tenant_id, scope_id, scope_kind, {{named_columns}})
SELECT %(tenant_id)s, %(scope_id)s, %(scope_kind)s, {{named_columns}}
FROM json_to_recordset(%(passages)s::json) g (
    seq bigint, ordinal integer, session bigint, said_at timestamptz, part integer, place integer,
    length_before integer, marks smallint, kind text, role text, author text, task_id uuid, source_id uuid,
    context_id uuid, owner_user_id text, graph_name text, agent_bundle_id text, app_id text, ancestors uuid[],
    terms integer[], text text
);

-- put_terms
-- For passages whose text stays: so do their vectors.
UPDATE context.passage p SET terms = g.terms, length_before = g.length_before, marks = g.marks
FROM json_to_recordset(%(passages)s::json) g (
    seq bigint, ordinal integer, length_before integer, marks smallint, terms integer[]
)
WHERE p.tenant_id = %(tenant_id)s AND p.scope_id = %(scope_id)s AND p.scope_kind = %(scope_kind)s AND p.seq = g.seq
    AND p.ordinal = g.ordinal;

-- sessions
-- The ends of sessions, after which the next passages are placed. Their sizes are counted from the rows.
SELECT session, places, last_length FROM context.passage_session
WHERE {{in_scope}} AND session > %(after)s AND (%(upto)s::bigint IS NULL OR session <= %(upto)s);

-- put_sessions
INSERT INTO context.passage_session AS s (
    tenant_id, scope_id, scope_kind, context_id, session, passages, length, places, last_length, length_before_last,
    owner_user_id, graph_name, agent_bundle_id, app_id, ancestors
)
SELECT %(tenant_id)s, %(scope_id)s, %(scope_kind)s, %(context_id)s, session, 0, 0, places, last_length, last_length,
    owner_user_id, graph_name, agent_bundle_id, app_id, ancestors
FROM json_to_recordset(%(sessions)s::json) g (
    session bigint, places integer, last_length integer, owner_user_id text, graph_name text, agent_bundle_id text,
    app_id text, ancestors uuid[]
)
ON CONFLICT (tenant_id, scope_id, scope_kind, session) DO UPDATE
    SET places = excluded.places, last_length = excluded.last_length, length_before_last = excluded.last_length;

-- delete_sessions
DELETE FROM context.passage_session WHERE {{in_scope}} AND session = ANY (%(sessions)s);

-- counted_sessions
WITH counted AS (
    SELECT session, count(*) AS passages, sum({{passages.length(terms)}}) AS length, min(owner_user_id) AS owner_user_id,
        min(graph_name) AS graph_name, min(agent_bundle_id) AS agent_bundle_id, min(app_id) AS app_id,
        min(ancestors) AS ancestors
    FROM context.passage
    WHERE {{in_scope}}
    GROUP BY session
), different AS (
    SELECT session, coalesce(c.passages, 0) AS passages, coalesce(c.length, 0) AS length, c.owner_user_id,
        c.graph_name, c.agent_bundle_id, c.app_id, c.ancestors
    FROM counted c
        FULL JOIN (SELECT * FROM context.passage_session WHERE {{in_scope}}) s USING (session)
    WHERE (coalesce(c.passages, 0), coalesce(c.length, 0)) <> (coalesce(s.passages, 0), coalesce(s.length, 0))
        OR (c.owner_user_id, c.graph_name, c.agent_bundle_id, c.app_id, c.ancestors)
            <> (s.owner_user_id, s.graph_name, s.agent_bundle_id, s.app_id, s.ancestors)
)

-- count_sessions
{{counted_sessions}} SELECT count(*) AS different FROM different;

-- mend_sessions
{{counted_sessions}}, mended AS (
    UPDATE context.passage_session s
    SET passages = d.passages, length = d.length, owner_user_id = coalesce(d.owner_user_id, s.owner_user_id),
        graph_name = coalesce(d.graph_name, s.graph_name),
        agent_bundle_id = coalesce(d.agent_bundle_id, s.agent_bundle_id), app_id = coalesce(d.app_id, s.app_id),
        ancestors = coalesce(d.ancestors, s.ancestors)
    FROM different d
    WHERE s.tenant_id = %(tenant_id)s AND s.scope_id = %(scope_id)s AND s.scope_kind = %(scope_kind)s
        AND s.session = d.session
    RETURNING s.session
), made AS (
    INSERT INTO context.passage_session (
        tenant_id, scope_id, scope_kind, context_id, session, passages, length, places, last_length,
        length_before_last, owner_user_id, graph_name, agent_bundle_id, app_id, ancestors
    )
    SELECT %(tenant_id)s, %(scope_id)s, %(scope_kind)s, %(context_id)s, session, passages, length, 0, 0, 0,
        owner_user_id, graph_name, agent_bundle_id, app_id, ancestors
    FROM different
    WHERE session NOT IN (SELECT session FROM mended)
)
SELECT count(*) AS different FROM different;

-- counted_totals
WITH counted AS (
    SELECT owner_user_id, graph_name, agent_bundle_id, app_id, min(ancestors) AS ancestors, count(*) AS passages,
        count(DISTINCT session) AS sessions, sum({{passages.length(terms)}}) AS length, sum(length_before) AS length_before,
        coalesce(sum({{passages.length(terms)}}) FILTER (WHERE place > 0), 0) AS length_after, min(seq) AS first_seq,
        max(seq) AS last_seq, coalesce(array_agg(DISTINCT author) FILTER (WHERE author <> ''), '{}') AS authors
    FROM context.passage
    WHERE {{in_scope}}
    GROUP BY owner_user_id, graph_name, agent_bundle_id, app_id
), different AS (
    SELECT owner_user_id, graph_name, agent_bundle_id, app_id, c.ancestors, c.passages, c.sessions, c.length,
        c.length_before, c.length_after, c.first_seq, c.last_seq, c.authors
    FROM counted c
        FULL JOIN (SELECT * FROM context.passage_scope WHERE {{in_scope}}) t
            USING (owner_user_id, graph_name, agent_bundle_id, app_id)
    WHERE (coalesce(c.passages, 0), coalesce(c.sessions, 0), coalesce(c.length, 0), coalesce(c.length_before, 0),
            coalesce(c.length_after, 0))
        <> (coalesce(t.passages, 0), coalesce(t.sessions, 0), coalesce(t.length, 0), coalesce(t.length_before, 0),
            coalesce(t.length_after, 0))
        OR c.ancestors <> t.ancestors OR c.first_seq < t.first_seq OR c.last_seq > t.last_seq
        OR (NOT c.authors <@ t.authors AND cardinality(t.authors) < %(authors_max)s)
)

-- count_totals
{{counted_totals}} SELECT count(*) AS different FROM different;

-- mend_totals
-- With the places and authors of passages that are gone.
{{counted_totals}}, emptied AS (
    DELETE FROM context.passage_scope t USING different d
    WHERE t.tenant_id = %(tenant_id)s AND t.scope_id = %(scope_id)s AND t.scope_kind = %(scope_kind)s
        AND d.passages IS NULL AND t.owner_user_id = d.owner_user_id AND t.graph_name = d.graph_name
        AND t.agent_bundle_id = d.agent_bundle_id AND t.app_id = d.app_id
), mended AS (
    INSERT INTO context.passage_scope AS t (
        tenant_id, scope_id, scope_kind, context_id, first_seq, last_seq, passages, sessions, length, length_before,
        length_after, owner_user_id, graph_name, agent_bundle_id, app_id, ancestors, authors
    )
    SELECT %(tenant_id)s, %(scope_id)s, %(scope_kind)s, %(context_id)s, least(first_seq, %(first_seq)s),
        greatest(last_seq, %(last_seq)s), passages, sessions, length, length_before, length_after, owner_user_id,
        graph_name, agent_bundle_id, app_id, ancestors,
        (%(authors)s::text[] || ARRAY(SELECT unnest(authors) EXCEPT SELECT unnest(%(authors)s::text[])))
            [1 : %(authors_max)s::integer]
    FROM different
    WHERE passages IS NOT NULL
    ON CONFLICT (tenant_id, scope_id, scope_kind, owner_user_id, graph_name, agent_bundle_id, app_id) DO UPDATE
        SET first_seq = excluded.first_seq, last_seq = excluded.last_seq, passages = excluded.passages,
            sessions = excluded.sessions, length = excluded.length, length_before = excluded.length_before,
            length_after = excluded.length_after, ancestors = excluded.ancestors, authors = excluded.authors
)
SELECT count(*) AS different FROM different;

-- others
-- Rows of a scope that belong to another user than the scope does. The owner of the scope cannot see them, and could not
-- write others in their place.
{{in_scope}} AND owner_user_id NOT IN ('', %(owner_user_id)s)

-- count_others
SELECT (SELECT count(*) FROM context.passage WHERE {{others}}) AS passages,
    (SELECT count(*) FROM context.passage_session WHERE {{others}}) AS sessions,
    (SELECT count(*) FROM context.passage_scope WHERE {{others}}) AS totals;

-- remove_others
WITH vectors AS (DELETE FROM context.passage_vector WHERE {{others}}),
    passages AS (DELETE FROM context.passage WHERE {{others}} RETURNING true),
    sessions AS (DELETE FROM context.passage_session WHERE {{others}} RETURNING true),
    totals AS (DELETE FROM context.passage_scope WHERE {{others}} RETURNING true)
SELECT (SELECT count(*) FROM passages) AS passages, (SELECT count(*) FROM sessions) AS sessions,
    (SELECT count(*) FROM totals) AS totals;

-- next_scope(table, scope_id)
SELECT p.scope_id FROM {{table}} p
WHERE p.tenant_id = %(tenant_id)s AND p.scope_id > {{scope_id}} ORDER BY p.scope_id LIMIT 1

-- scopes_of(table)
-- The scopes that a table has, one look-up of the primary key each.
WITH RECURSIVE s AS (
    ({{next_scope({{table}}, %(after)s)}})
    UNION ALL
    SELECT n.scope_id FROM s CROSS JOIN LATERAL ({{next_scope({{table}}, s.scope_id)}}) n
)
SELECT o.scope_id, o.scope_kind, o.context_id
FROM (SELECT scope_id FROM s LIMIT %(count)s) s
    CROSS JOIN LATERAL (
        SELECT DISTINCT p.scope_id, p.scope_kind, p.context_id FROM {{table}} p
        WHERE p.tenant_id = %(tenant_id)s AND p.scope_id = s.scope_id
    ) o
ORDER BY o.scope_id;
