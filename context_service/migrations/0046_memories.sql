-- Memories: statements about a user, kept across contexts. Each is a document of its own among the passages, in the one scope of its
-- user. What policies read (owner, app, bundle) stands on every row, and never changes.

CREATE TABLE context.memory (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    -- Its place in the scope.
    seq bigint GENERATED ALWAYS AS IDENTITY,
    happened_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    -- The next newer one of its key; null: it holds.
    superseded_by uuid,
    confidence double precision NOT NULL,
    quality double precision,
    version integer NOT NULL DEFAULT 1,
    passage_count integer NOT NULL,
    owner_user_id text NOT NULL CHECK (owner_user_id <> ''),
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    created_by text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('fact', 'preference', 'experience', 'observation')),
    -- What it is about; empty: nothing that another could supersede.
    key text NOT NULL,
    text text NOT NULL,
    -- Of an experience.
    goal text NOT NULL,
    outcome text NOT NULL,
    -- [{"label": …, "uri": …, "context_id": …, "ref": …}], the newest first.
    sources jsonb NOT NULL,
    -- Equal for those that say the same.
    statement_sha256 bytea NOT NULL,
    PRIMARY KEY (tenant_id, memory_id)
);
CREATE UNIQUE INDEX memory_newest ON context.memory (tenant_id, owner_user_id, seq DESC);
CREATE INDEX memory_key ON context.memory (tenant_id, owner_user_id, app_id, agent_bundle_id, key, happened_at, seq) WHERE key <> '';
CREATE INDEX memory_statement ON context.memory (tenant_id, owner_user_id, app_id, agent_bundle_id, statement_sha256);

-- Who writes memories of a user, an app and an agent bundle takes turns at this row, which counts them.
CREATE TABLE context.memory_user (
    tenant_id uuid NOT NULL,
    -- Of all memories of the user: made of tenant and user.
    scope_id uuid NOT NULL,
    owner_user_id text NOT NULL CHECK (owner_user_id <> ''),
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    memory_count bigint NOT NULL,
    PRIMARY KEY (tenant_id, owner_user_id, app_id, agent_bundle_id)
) WITH (fillfactor = 50);
CREATE INDEX memory_user_scope ON context.memory_user (tenant_id, scope_id);

ALTER TABLE context.memory ENABLE ROW LEVEL SECURITY;
ALTER TABLE context.memory_user ENABLE ROW LEVEL SECURITY;

-- Where no user is said there is no row: see 0004_walls.sql of `access`. They are in no graph: a key of a graph sees none.
CREATE POLICY tenant ON context.memory
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY bounds ON context.memory AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.in_bounds('', agent_bundle_id, app_id), false) IS NOT NULL);
CREATE POLICY subject ON context.memory AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_subjects())
        OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL);
CREATE POLICY tenant ON context.memory_user
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY bounds ON context.memory_user AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.in_bounds('', agent_bundle_id, app_id), false) IS NOT NULL);
CREATE POLICY subject ON context.memory_user AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_subjects())
        OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL);

GRANT SELECT, INSERT, UPDATE, DELETE ON context.memory, context.memory_user TO :"service_role";
