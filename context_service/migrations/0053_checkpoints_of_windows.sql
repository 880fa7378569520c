-- Checkpoints of windows: what a window was, in one row each. Its blocks, summaries and entries say since when they are as they are, so that going
-- back to a checkpoint undoes what came behind it.

ALTER TABLE context.context_window
    -- The newest checkpoint, as a number from 1 that is never given again, and the step
    -- behind which the last one was made for so many steps.
    ADD COLUMN checkpoint_count integer NOT NULL DEFAULT 0,
    ADD COLUMN checkpoint_step integer NOT NULL DEFAULT 0,
    -- The epoch since which it was rolled back last; 0: never.
    ADD COLUMN rolled_back_epoch integer NOT NULL DEFAULT 0,
    -- Messages that rollbacks left out: it reads its log without them, whenever it reads it.
    ADD COLUMN left_out int8multirange NOT NULL DEFAULT '{}';

ALTER TABLE context.window_block
    -- The epoch since which it is masked, and what it was before: to go back to.
    ADD COLUMN masked_epoch integer,
    ADD COLUMN verbatim text,
    ADD COLUMN verbatim_tokens integer,
    -- The epoch since which it is seen no more; it stays as long as a checkpoint shows it.
    ADD COLUMN epoch_to integer;
CREATE INDEX window_block_seen ON context.window_block (tenant_id, window_id, number) WHERE epoch_to IS NULL;

ALTER TABLE context.window_entry
    -- The newest checkpoint when it ended, and when a model was told of it.
    ADD COLUMN ended_checkpoint integer,
    ADD COLUMN told_checkpoint integer;

CREATE TABLE context.window_checkpoint (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    window_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    number integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- As the window had them: see context.context_window.
    epoch integer NOT NULL,
    reached_seq bigint NOT NULL,
    entry_count bigint NOT NULL,
    block_count integer NOT NULL,
    step_count integer NOT NULL,
    folded_step integer NOT NULL,
    first_number integer NOT NULL,
    left_out_tokens bigint NOT NULL,
    state_tokens integer NOT NULL,
    has_untold boolean NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    -- steps, fold or caller: why it was made.
    reason text NOT NULL,
    created_by text NOT NULL,
    label text NOT NULL,
    state_text text NOT NULL,
    state_pieces text NOT NULL,
    tallies text NOT NULL,
    PRIMARY KEY (tenant_id, window_id, number)
);
CREATE INDEX window_checkpoint_context ON context.window_checkpoint (tenant_id, context_id);

ALTER TABLE context.window_checkpoint ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON context.window_checkpoint
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY context ON context.window_checkpoint AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_contexts()) OR context_id = (SELECT access.context_seen()), false) IS NOT NULL);
CREATE POLICY subject ON context.window_checkpoint AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_subjects())
        OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL);
CREATE POLICY bounds ON context.window_checkpoint AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR access.context_in_bounds(ancestors, agent_bundle_id, app_id), false) IS NOT NULL);

GRANT SELECT, INSERT, UPDATE, DELETE ON context.window_checkpoint TO :"service_role";
