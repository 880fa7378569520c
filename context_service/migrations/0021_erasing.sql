-- Erasing: a context that is deleted, or past its time, is gone at once for every caller, and removed in steps behind that.

ALTER TABLE context.context ADD COLUMN deleted_at timestamptz;
-- What belongs to a user is found when the user is erased.
CREATE INDEX context_owner ON context.context (tenant_id, owner_user_id) WHERE owner_user_id <> '';

-- The context whose messages an answer names: the answer goes with it. No wall asks it: a repeated call that began a context does not
-- know which.
ALTER TABLE context.request ADD COLUMN about_id uuid;

-- The receipts: what is being removed of which context, and what was. Numbers and times, and nothing of what was said.
CREATE TABLE context.erasure (
    tenant_id uuid NOT NULL,
    erasure_id uuid NOT NULL,
    context_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    -- How far the removal of messages is: what goes on looks at none that is gone.
    last_seq_removed bigint NOT NULL DEFAULT 0,
    message_count bigint NOT NULL, -- of the log, retracted ones too
    messages_removed bigint NOT NULL DEFAULT 0,
    passages_removed bigint NOT NULL DEFAULT 0,
    vectors_removed bigint NOT NULL DEFAULT 0,
    external_ids_removed bigint NOT NULL DEFAULT 0,
    answers_removed bigint NOT NULL DEFAULT 0,
    keys_ended bigint NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    -- Empty: it was past its time.
    requested_by text NOT NULL,
    PRIMARY KEY (tenant_id, context_id)
);
CREATE UNIQUE INDEX erasure_id ON context.erasure (tenant_id, erasure_id);
-- Those that are not finished, and those that are old.
CREATE INDEX erasure_finished ON context.erasure (tenant_id, finished_at, context_id);

ALTER TABLE context.erasure ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON context.erasure
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY context ON context.erasure AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_contexts()) OR context_id = (SELECT access.context_seen()), false) IS NOT NULL);
CREATE POLICY subject ON context.erasure AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_subjects())
        OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL);
CREATE POLICY bounds ON context.erasure AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR access.context_in_bounds(ancestors, agent_bundle_id, app_id), false) IS NOT NULL);

GRANT SELECT, INSERT, UPDATE, DELETE ON context.erasure TO :"service_role";
