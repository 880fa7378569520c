-- Passages: pieces of text that are found by their words, of whatever has texts. What is searched together is a scope: a
-- context, the records of a node, the memories of a user. Rows carry what policies read, so that no search joins for it.
--
-- `terms` are the numbers that stand for the terms of the text in its order, each made of the scope and the term: one index
-- serves all scopes, whatever their number, and the scope is asked of each row again.

CREATE TABLE context.passage (
    tenant_id uuid NOT NULL,
    scope_id uuid NOT NULL,
    -- Whose it is, if it is a context's or of what belongs to one.
    context_id uuid,
    task_id uuid,
    -- What it was cut out of, beside its place in the log: an artifact, a record, a document.
    source_id uuid,
    seq bigint NOT NULL,
    session bigint NOT NULL,
    said_at timestamptz NOT NULL,
    ordinal integer NOT NULL,
    part integer NOT NULL,
    -- The number of what was said in its session, from 0; null: nobody said it (a tool's result, a file).
    place integer,
    -- Terms of what was said before it in its session: of the one before, whose row may not be read.
    length_before integer NOT NULL,
    marks smallint NOT NULL,
    scope_kind text NOT NULL,
    kind text NOT NULL,
    role text NOT NULL,
    author text NOT NULL,
    owner_user_id text NOT NULL,
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    ancestors uuid[] NOT NULL,
    terms integer[] NOT NULL,
    text text NOT NULL,
    PRIMARY KEY (tenant_id, scope_id, scope_kind, seq, ordinal),
    -- What belongs to no context is behind no wall of contexts: what belongs to one says so.
    CONSTRAINT passage_context_check CHECK (
        CASE WHEN context_id IS NULL THEN scope_kind <> 'context' AND ancestors = '{}' ELSE context_id = ANY (ancestors) END
        AND (scope_kind <> 'context' OR context_id = scope_id))
);
-- What was inserted since the last clean-up is searched one by one; it shall not be much.
CREATE INDEX passage_terms ON context.passage USING gin (terms) WITH (gin_pending_list_limit = 512);

-- What the passages of a session are together: it is a document, too. Nothing that a session had numbers again.
CREATE TABLE context.passage_session (
    tenant_id uuid NOT NULL,
    scope_id uuid NOT NULL,
    context_id uuid,
    session bigint NOT NULL,
    passages bigint NOT NULL,
    length bigint NOT NULL, -- terms of all
    places integer NOT NULL, -- said so far, with what is gone
    last_length integer NOT NULL, -- of what was said last
    length_before_last integer NOT NULL, -- of what was said last before what was written last
    scope_kind text NOT NULL,
    owner_user_id text NOT NULL,
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    ancestors uuid[] NOT NULL,
    PRIMARY KEY (tenant_id, scope_id, scope_kind, session),
    CONSTRAINT passage_session_context_check CHECK (
        CASE WHEN context_id IS NULL THEN scope_kind <> 'context' AND ancestors = '{}' ELSE context_id = ANY (ancestors) END
        AND (scope_kind <> 'context' OR context_id = scope_id))
) WITH (fillfactor = 50);

-- What the passages of a scope are together, of each audience: what one may see, the same may count.
CREATE TABLE context.passage_scope (
    tenant_id uuid NOT NULL,
    scope_id uuid NOT NULL,
    context_id uuid,
    first_seq bigint NOT NULL, -- there was, and
    last_seq bigint NOT NULL,
    passages bigint NOT NULL,
    sessions bigint NOT NULL, -- that have passages
    length bigint NOT NULL, -- terms of all
    length_before bigint NOT NULL, -- of what was said before each, together
    length_after bigint NOT NULL, -- of what was said after each, together
    scope_kind text NOT NULL,
    owner_user_id text NOT NULL,
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    ancestors uuid[] NOT NULL,
    authors text[] NOT NULL,
    PRIMARY KEY (tenant_id, scope_id, scope_kind, owner_user_id, graph_name, agent_bundle_id, app_id),
    CONSTRAINT passage_scope_context_check CHECK (
        CASE WHEN context_id IS NULL THEN scope_kind <> 'context' AND ancestors = '{}' ELSE context_id = ANY (ancestors) END
        AND (scope_kind <> 'context' OR context_id = scope_id))
) WITH (fillfactor = 50);

-- What is a context's has the bounds of contexts, and what is not the others'. Without a context, or a user, being said, there is
-- no row that belongs to one; see 0004_walls.sql of `access`. Not for parallel plans: a call takes one process.
CREATE FUNCTION context.passage_in_bounds(
    context_id uuid, ancestors uuid[], graph_name text, agent_bundle_id text, app_id text
) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF context_id IS NULL THEN
        RETURN context.in_bounds(graph_name, agent_bundle_id, app_id);
    END IF;
    RETURN access.context_in_bounds(ancestors, agent_bundle_id, app_id);
END
$$;

ALTER TABLE context.passage ENABLE ROW LEVEL SECURITY;
ALTER TABLE context.passage_session ENABLE ROW LEVEL SECURITY;
ALTER TABLE context.passage_scope ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON context.passage
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY tenant ON context.passage_session
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY tenant ON context.passage_scope
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));

CREATE POLICY bounds ON context.passage AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.passage_in_bounds(context_id, ancestors, graph_name, agent_bundle_id, app_id), false) IS NOT NULL);
CREATE POLICY bounds ON context.passage_session AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.passage_in_bounds(context_id, ancestors, graph_name, agent_bundle_id, app_id), false) IS NOT NULL);
CREATE POLICY bounds ON context.passage_scope AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.passage_in_bounds(context_id, ancestors, graph_name, agent_bundle_id, app_id), false) IS NOT NULL);

CREATE POLICY context ON context.passage AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_contexts())
        OR context_id IS NULL OR context_id = (SELECT access.context_seen()), false) IS NOT NULL);
CREATE POLICY context ON context.passage_session AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_contexts())
        OR context_id IS NULL OR context_id = (SELECT access.context_seen()), false) IS NOT NULL);
CREATE POLICY context ON context.passage_scope AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_contexts())
        OR context_id IS NULL OR context_id = (SELECT access.context_seen()), false) IS NOT NULL);

CREATE POLICY subject ON context.passage AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_subjects())
        OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL);
CREATE POLICY subject ON context.passage_session AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_subjects())
        OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL);
CREATE POLICY subject ON context.passage_scope AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_subjects())
        OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL);

-- What searches read: see 0006. The conditions are those of the policies. That of the tenant is said so that no planner serves
-- it by the primary key: beside what the terms find, it would read all that a tenant has.
CREATE VIEW context.passage_of_tenant AS
SELECT tenant_id, scope_id, context_id, task_id, source_id, seq, session, said_at, ordinal, part, place, length_before, marks,
    scope_kind, kind, role, author, owner_user_id, graph_name, agent_bundle_id, app_id, ancestors, terms, text
FROM context.passage
WHERE nullif(tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid), false) IS NOT NULL
    AND nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.passage_in_bounds(context_id, ancestors, graph_name, agent_bundle_id, app_id), false) IS NOT NULL
    AND nullif((SELECT access.sees_all_contexts())
        OR context_id IS NULL OR context_id = (SELECT access.context_seen()), false) IS NOT NULL
    AND nullif((SELECT access.sees_all_subjects())
        OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL;

GRANT SELECT, INSERT, UPDATE, DELETE ON context.passage, context.passage_session, context.passage_scope TO :"service_role";
GRANT SELECT ON context.passage_of_tenant TO :"service_role";
