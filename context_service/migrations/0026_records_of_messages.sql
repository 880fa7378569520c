-- Records that messages point at: what they say is found in the context, too. A row is written with its message, and is the work that
-- this owes; behind that it says what became of it.

CREATE TABLE context.message_record (
    tenant_id uuid NOT NULL,
    context_id uuid NOT NULL,
    ancestors uuid[] NOT NULL,
    seq bigint NOT NULL,
    part integer NOT NULL, -- of the message, from 1
    -- Null: the record is gone for good, and what it said is to go.
    record_id uuid,
    created_at timestamptz NOT NULL DEFAULT now(),
    due_at timestamptz NOT NULL DEFAULT now(),
    attempts integer NOT NULL DEFAULT 0,
    passages integer NOT NULL DEFAULT 0, -- written so far
    state text NOT NULL DEFAULT 'PENDING' CHECK (state IN ('PENDING', 'INDEXED', 'FAILED')),
    -- Why there is no text of its file; of what is pending, what went wrong the last time.
    reason text NOT NULL DEFAULT '',
    detail text NOT NULL DEFAULT '',
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    PRIMARY KEY (tenant_id, context_id, seq, part),
    -- The constraint sees records behind all walls: whoever removes one for good need not see the contexts that point at it.
    FOREIGN KEY (tenant_id, record_id) REFERENCES context.wm_record (tenant_id, id) ON DELETE SET NULL (record_id)
);
CREATE INDEX message_record_of ON context.message_record (tenant_id, record_id) WHERE record_id IS NOT NULL;
CREATE INDEX message_record_due ON context.message_record (tenant_id, due_at) WHERE state = 'PENDING' OR record_id IS NULL;
-- Few of those of a context: what is said of it, and what waits for it, asks for these alone.
CREATE INDEX message_record_open ON context.message_record (tenant_id, context_id, seq) WHERE state <> 'INDEXED';

ALTER TABLE context.message_record ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON context.message_record
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY context ON context.message_record AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_contexts()) OR context_id = (SELECT access.context_seen()), false) IS NOT NULL);
CREATE POLICY subject ON context.message_record AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_subjects())
        OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL);
CREATE POLICY bounds ON context.message_record AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR access.context_in_bounds(ancestors, agent_bundle_id, app_id), false) IS NOT NULL);

GRANT SELECT, INSERT, UPDATE, DELETE ON context.message_record TO :"service_role";
