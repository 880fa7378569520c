-- Vectors of passages, made behind what is written: of each passage one, of the model that makes them now. A table beside the passages:
-- a vector is as long as a text, comes later, and is thrown away with its model. What is owed is a row of the outbox for each scope, whose
-- payload says from which `seq` on vectors may be lacking.

CREATE TABLE context.passage_vector (
    tenant_id uuid NOT NULL,
    scope_id uuid NOT NULL,
    context_id uuid,
    seq bigint NOT NULL,
    -- What was said before it in its session, if that has a vector, and how near the two are: both together are compared, too.
    previous_seq bigint,
    ordinal integer NOT NULL,
    previous_ordinal integer,
    previous_cosine real,
    scope_kind text NOT NULL,
    owner_user_id text NOT NULL,
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    ancestors uuid[] NOT NULL,
    model text NOT NULL,
    -- Why the model has none for this text; empty of all others.
    error text NOT NULL DEFAULT '',
    -- Of unit length, and of the model's own size.
    vector public.halfvec,
    -- With the model, so that what it has is counted in the index.
    PRIMARY KEY (tenant_id, scope_id, scope_kind, seq, ordinal) INCLUDE (model),
    CONSTRAINT passage_vector_context_check CHECK (
        CASE WHEN context_id IS NULL THEN scope_kind <> 'context' AND ancestors = '{}' ELSE context_id = ANY (ancestors) END
        AND (scope_kind <> 'context' OR context_id = scope_id)),
    CONSTRAINT passage_vector_made_check CHECK ((vector IS NULL) = (error <> ''))
);
-- Read as a whole with their scope: not out of line.
ALTER TABLE context.passage_vector ALTER COLUMN vector SET STORAGE PLAIN;
CREATE INDEX passage_vector_failed ON context.passage_vector (tenant_id, scope_id, scope_kind) WHERE error <> '';

ALTER TABLE context.passage_vector ENABLE ROW LEVEL SECURITY;

-- Those of passages: see 0018.
CREATE POLICY tenant ON context.passage_vector
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY bounds ON context.passage_vector AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.passage_in_bounds(context_id, ancestors, graph_name, agent_bundle_id, app_id), false) IS NOT NULL);
CREATE POLICY context ON context.passage_vector AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_contexts())
        OR context_id IS NULL OR context_id = (SELECT access.context_seen()), false) IS NOT NULL);
CREATE POLICY subject ON context.passage_vector AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_subjects())
        OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL);

GRANT SELECT, INSERT, UPDATE, DELETE ON context.passage_vector TO :"service_role";
