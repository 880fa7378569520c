-- Contexts: isolated conversations. A header each, its messages in an order without gaps, and the ids that other systems have for it.
-- What policies read (owner, ancestors, app, bundle) stands on every row, and never changes.

CREATE TABLE context.context (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    -- It and those that it was forked from, the oldest first.
    ancestors uuid[] NOT NULL,
    entity_node_id uuid,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    closed_at timestamptz,
    -- Of the newest message: where it stands, when it was said, and its session. Sessions count from 0; the name is the sender's.
    last_seq bigint NOT NULL DEFAULT 0,
    last_said_at timestamptz NOT NULL,
    last_session bigint NOT NULL DEFAULT 0,
    message_count bigint NOT NULL DEFAULT 0,
    token_count bigint NOT NULL DEFAULT 0,
    last_session_name text NOT NULL DEFAULT '',
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    created_by text NOT NULL,
    title text NOT NULL DEFAULT '',
    recall_profile text NOT NULL DEFAULT '',
    -- The id of another system for which the owner has this one context; both null of most.
    only_system text,
    only_id text,
    agent_ids text[] NOT NULL DEFAULT '{}',
    -- [{"system": …, "id": …}], in the order in which they were given; `context_external_id` finds by them.
    external_ids jsonb NOT NULL DEFAULT '[]',
    metadata jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (tenant_id, context_id),
    CHECK ((only_system IS NULL) = (only_id IS NULL)),
    CHECK (ancestors[cardinality(ancestors)] = context_id)
) WITH (fillfactor = 80);  -- each message changes its header, in its page
CREATE INDEX context_newest ON context.context (tenant_id, created_at DESC, context_id DESC);
-- App and agent bundle count, too: a key that is bound to others must not learn that there is one.
CREATE UNIQUE INDEX context_only ON context.context (tenant_id, owner_user_id, app_id, agent_bundle_id, only_system, only_id)
    WHERE only_system IS NOT NULL;
CREATE INDEX context_expiry ON context.context (tenant_id, expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE context.context_external_id (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    system text NOT NULL,
    id text NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    PRIMARY KEY (tenant_id, system, id, context_id)
);
CREATE INDEX context_external_id_of ON context.context_external_id (tenant_id, context_id);

-- No foreign key: the statement that writes messages holds the lock of their header.
CREATE TABLE context.message (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    seq bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    said_at timestamptz NOT NULL,
    retracted_at timestamptz,
    session bigint NOT NULL,
    tokens integer NOT NULL,
    size_bytes integer NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    message_id text NOT NULL,
    role text NOT NULL CHECK (role IN ('user', 'assistant', 'system', 'tool')),
    name text NOT NULL DEFAULT '',
    agent_id text NOT NULL DEFAULT '',
    content text NOT NULL DEFAULT '',
    -- Of what the sender said, secrets taken out: the same id with other content is refused.
    content_sha256 bytea NOT NULL,
    -- json, not jsonb: they are given back byte for byte.
    parts json,
    metadata json,
    PRIMARY KEY (tenant_id, context_id, seq)
);
CREATE UNIQUE INDEX message_id ON context.message (tenant_id, context_id, message_id);

ALTER TABLE context.context ENABLE ROW LEVEL SECURITY;
ALTER TABLE context.context_external_id ENABLE ROW LEVEL SECURITY;
ALTER TABLE context.message ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON context.context
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY tenant ON context.context_external_id
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY tenant ON context.message
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));

-- As migrations/0004_walls.sql of `access` says: where no context or no subject is set, there is no row.
CREATE POLICY context ON context.context AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_contexts()) OR context_id = (SELECT access.context_seen()), false) IS NOT NULL);
CREATE POLICY context ON context.context_external_id AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_contexts()) OR context_id = (SELECT access.context_seen()), false) IS NOT NULL);
CREATE POLICY context ON context.message AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_contexts()) OR context_id = (SELECT access.context_seen()), false) IS NOT NULL);
CREATE POLICY subject ON context.context AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_subjects())
        OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL);
CREATE POLICY subject ON context.context_external_id AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_subjects())
        OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL);
CREATE POLICY subject ON context.message AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_subjects())
        OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL);
CREATE POLICY bounds ON context.context AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR access.context_in_bounds(ancestors, agent_bundle_id, app_id), false) IS NOT NULL);
CREATE POLICY bounds ON context.context_external_id AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR access.context_in_bounds(ancestors, agent_bundle_id, app_id), false) IS NOT NULL);
CREATE POLICY bounds ON context.message AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR access.context_in_bounds(ancestors, agent_bundle_id, app_id), false) IS NOT NULL);

GRANT SELECT, INSERT, UPDATE, DELETE ON context.context, context.context_external_id TO :"service_role";
-- The log is written once: of a message only its retraction changes.
GRANT SELECT, INSERT, DELETE ON context.message TO :"service_role";
GRANT UPDATE (retracted_at) ON context.message TO :"service_role";
