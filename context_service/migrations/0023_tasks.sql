-- Tasks: work that is done within a context, each with a state, and messages that belong to it.

ALTER TABLE context.context
    -- Tasks that there are, and the number of the newest change of any of them: what changes takes the next one.
    ADD COLUMN task_count integer NOT NULL DEFAULT 0,
    ADD COLUMN last_change bigint NOT NULL DEFAULT 0;

ALTER TABLE context.message
    ADD COLUMN task_id uuid,
    ADD COLUMN reference_task_ids uuid[];

CREATE TABLE context.task (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    task_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    status_at timestamptz NOT NULL DEFAULT now(),
    change bigint NOT NULL, -- the newest of it
    version bigint NOT NULL DEFAULT 1,
    state text NOT NULL CHECK (state IN (
        'submitted', 'working', 'input_required', 'auth_required', 'completed', 'failed', 'canceled', 'rejected')),
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    created_by text NOT NULL,
    -- Others of the context, which it builds on.
    reference_task_ids uuid[] NOT NULL DEFAULT '{}',
    -- json, not jsonb: they are given back byte for byte.
    status_message json,
    metadata json,
    -- Its id finds it alone: the server makes it.
    PRIMARY KEY (tenant_id, task_id)
);
CREATE INDEX task_newest ON context.task (tenant_id, context_id, task_id);

ALTER TABLE context.task ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON context.task
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY context ON context.task AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_contexts()) OR context_id = (SELECT access.context_seen()), false) IS NOT NULL);
CREATE POLICY subject ON context.task AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_subjects())
        OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL);
CREATE POLICY bounds ON context.task AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR access.context_in_bounds(ancestors, agent_bundle_id, app_id), false) IS NOT NULL);

GRANT SELECT, INSERT, UPDATE, DELETE ON context.task TO :"service_role";

-- What a receipt says of them.
ALTER TABLE context.erasure ADD COLUMN tasks_removed bigint NOT NULL DEFAULT 0;
