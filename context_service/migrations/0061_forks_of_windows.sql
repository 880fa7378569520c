-- Forks of windows: a context of its own for a part of the work, below the context that it was forked from. What says so stands with that one,
-- so that a key of the fork does not see it.

CREATE TABLE context.window_fork (
    tenant_id uuid NOT NULL,
    -- What it was forked from.
    context_id uuid NOT NULL,
    window_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    -- From 1, of the context: refs name it.
    number integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Since when nothing of it is awaited: it was merged, or erased.
    ended_at timestamptz,
    fork_context_id uuid NOT NULL,
    fork_window_id uuid NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    -- The message that its result came back as, with its tokens, and whether all of the result is in it; null: it was not merged.
    merged_seq bigint,
    merged_id text,
    merged_tokens integer,
    is_whole boolean,
    PRIMARY KEY (tenant_id, context_id, number)
);
CREATE UNIQUE INDEX window_fork_of ON context.window_fork (tenant_id, fork_context_id);
CREATE INDEX window_fork_awaited ON context.window_fork (tenant_id, context_id) WHERE ended_at IS NULL;

ALTER TABLE context.window_fork ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON context.window_fork
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY context ON context.window_fork AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_contexts()) OR context_id = (SELECT access.context_seen()), false) IS NOT NULL);
CREATE POLICY subject ON context.window_fork AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_subjects())
        OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL);
CREATE POLICY bounds ON context.window_fork AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR access.context_in_bounds(ancestors, agent_bundle_id, app_id), false) IS NOT NULL);

GRANT SELECT, INSERT, UPDATE, DELETE ON context.window_fork TO :"service_role";

-- What goes with a context: those below it, by the first of their ancestors. Contexts that nobody forked are not in it.
CREATE INDEX context_forked ON context.context (tenant_id, (ancestors[1]), context_id) WHERE ancestors[2] IS NOT NULL;
