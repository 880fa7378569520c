-- Folds: what becomes of a window's steps when there are too many, and the account of it. All of it can be made again from the log
-- but pins, and what callers say of the state.

ALTER TABLE context.context_window
    ADD COLUMN profile text NOT NULL DEFAULT 'general',
    -- What else was said when it was opened: a JSON object.
    ADD COLUMN config json NOT NULL DEFAULT '{}',
    ADD COLUMN step_count integer NOT NULL DEFAULT 0,
    ADD COLUMN entry_count bigint NOT NULL DEFAULT 0,
    -- The last step when it was folded last, and the state as it was written then.
    ADD COLUMN folded_step integer NOT NULL DEFAULT 0,
    ADD COLUMN state_text text NOT NULL DEFAULT '',
    ADD COLUMN state_pieces text NOT NULL DEFAULT '[]',
    ADD COLUMN state_tokens integer NOT NULL DEFAULT 0,
    -- What is pinned, as a model sees it.
    ADD COLUMN pins_pieces text NOT NULL DEFAULT '[]',
    ADD COLUMN pins_tokens integer NOT NULL DEFAULT 0;

ALTER TABLE context.window_block
    ADD COLUMN step integer NOT NULL DEFAULT 0,
    -- step, recalled or note: what is appended behind a step is none.
    ADD COLUMN kind text NOT NULL DEFAULT 'step',
    ADD COLUMN is_error boolean NOT NULL DEFAULT false,
    ADD COLUMN is_masked boolean NOT NULL DEFAULT false,
    -- As `pieces`, masked; null where a mask is not worth it, or is what `pieces` has.
    ADD COLUMN masked text,
    ADD COLUMN masked_tokens integer,
    -- What a summary may be made of, and which things are spoken of: JSON.
    ADD COLUMN units text NOT NULL DEFAULT '[]',
    ADD COLUMN names text NOT NULL DEFAULT '[]';

-- Segments of steps, and digests of segments.
CREATE TABLE context.window_summary (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    window_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    level smallint NOT NULL,
    step_from integer NOT NULL,
    step_to integer NOT NULL,
    seq_from bigint NOT NULL,
    seq_to bigint NOT NULL,
    tokens integer NOT NULL,
    -- The epoch in which it came into view, and the one in which a deeper one took its place.
    epoch_from integer NOT NULL,
    epoch_to integer,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    text text NOT NULL,
    -- As a model sees it; and the best lines of what it covers, to make a deeper one of.
    pieces text NOT NULL,
    kept text NOT NULL,
    PRIMARY KEY (tenant_id, window_id, step_from, level)
);
CREATE INDEX window_summary_context ON context.window_summary (tenant_id, context_id);
CREATE INDEX window_summary_seen ON context.window_summary (tenant_id, window_id) WHERE epoch_to IS NULL;

-- What the log, or a caller, says of the state; and pins.
CREATE TABLE context.window_entry (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    window_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    number bigint NOT NULL,
    seq bigint NOT NULL,
    section text NOT NULL,
    -- Empty: of nothing in particular.
    key text NOT NULL,
    text text NOT NULL,
    value text NOT NULL,
    ref text NOT NULL,
    -- rule or caller.
    source text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- The one that took its place, and when it held no longer.
    superseded_by bigint,
    ended_at timestamptz,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    PRIMARY KEY (tenant_id, window_id, number)
);
CREATE INDEX window_entry_context ON context.window_entry (tenant_id, context_id);
CREATE INDEX window_entry_holds ON context.window_entry (tenant_id, window_id, section, key) WHERE ended_at IS NULL;

-- Every break of the prefix, with what was done and why.
CREATE TABLE context.window_fold (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    window_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    epoch integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    reason text NOT NULL,
    last_seq bigint NOT NULL,
    step integer NOT NULL,
    tokens_before integer NOT NULL,
    tokens_after integer NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    receipt json NOT NULL,
    PRIMARY KEY (tenant_id, window_id, epoch)
);
CREATE INDEX window_fold_context ON context.window_fold (tenant_id, context_id);

ALTER TABLE context.window_summary ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON context.window_summary
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY context ON context.window_summary AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_contexts()) OR context_id = (SELECT access.context_seen()), false) IS NOT NULL);
CREATE POLICY subject ON context.window_summary AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_subjects())
        OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL);
CREATE POLICY bounds ON context.window_summary AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR access.context_in_bounds(ancestors, agent_bundle_id, app_id), false) IS NOT NULL);

ALTER TABLE context.window_entry ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON context.window_entry
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY context ON context.window_entry AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_contexts()) OR context_id = (SELECT access.context_seen()), false) IS NOT NULL);
CREATE POLICY subject ON context.window_entry AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_subjects())
        OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL);
CREATE POLICY bounds ON context.window_entry AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR access.context_in_bounds(ancestors, agent_bundle_id, app_id), false) IS NOT NULL);

ALTER TABLE context.window_fold ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON context.window_fold
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY context ON context.window_fold AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_contexts()) OR context_id = (SELECT access.context_seen()), false) IS NOT NULL);
CREATE POLICY subject ON context.window_fold AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_subjects())
        OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL);
CREATE POLICY bounds ON context.window_fold AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR access.context_in_bounds(ancestors, agent_bundle_id, app_id), false) IS NOT NULL);

GRANT SELECT, INSERT, UPDATE, DELETE
    ON context.window_summary, context.window_entry, context.window_fold TO :"service_role";
