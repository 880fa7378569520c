-- Artifacts: what a task makes. A row for each version; what is found is the newest.

ALTER TABLE context.context ADD COLUMN artifact_count integer NOT NULL DEFAULT 0; -- versions

CREATE TABLE context.artifact (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    task_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    change bigint NOT NULL, -- of the context's changes, the newest of it
    -- Where its passages stand: the change that began it, below zero, where no message is.
    place bigint NOT NULL CHECK (place < 0),
    version integer NOT NULL,
    part_count integer NOT NULL,
    passage_count integer NOT NULL, -- that its parts gave
    tokens integer NOT NULL,
    size_bytes integer NOT NULL,
    is_newest boolean NOT NULL DEFAULT true,
    is_complete boolean NOT NULL, -- its last chunk came
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    created_by text NOT NULL,
    artifact_id text NOT NULL, -- the sender's, of the task
    name text NOT NULL DEFAULT '',
    description text NOT NULL DEFAULT '',
    -- json, not jsonb: they are given back byte for byte.
    parts json NOT NULL,
    metadata json,
    PRIMARY KEY (tenant_id, task_id, artifact_id, version)
);
CREATE UNIQUE INDEX artifact_place ON context.artifact (tenant_id, context_id, place);
CREATE UNIQUE INDEX artifact_newest ON context.artifact (tenant_id, task_id, artifact_id) WHERE is_newest;

ALTER TABLE context.artifact ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON context.artifact
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY context ON context.artifact AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_contexts()) OR context_id = (SELECT access.context_seen()), false) IS NOT NULL);
CREATE POLICY subject ON context.artifact AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_subjects())
        OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL);
CREATE POLICY bounds ON context.artifact AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR access.context_in_bounds(ancestors, agent_bundle_id, app_id), false) IS NOT NULL);

GRANT SELECT, INSERT, UPDATE, DELETE ON context.artifact TO :"service_role";

-- What a receipt says of them.
ALTER TABLE context.erasure ADD COLUMN artifacts_removed bigint NOT NULL DEFAULT 0;
