-- Tests of sources, as administrators ran them: the question, and the whole answer, to look at and to compare. What an answer holds is the user's
-- on whose behalf it was asked. Keys that are bound see none.

CREATE TABLE context.source_test (
    tenant_id uuid NOT NULL,
    test_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    replay_of uuid,
    -- Which contexts were asked: with one of them the test goes.
    context_ids uuid[] NOT NULL,
    owner_user_id text NOT NULL,
    created_by text NOT NULL,
    label text NOT NULL,
    warnings text[] NOT NULL,
    -- How it went: {"hits": [{"ref": …, "title": …}], "providers": [{"id": …, "state": …, "duration_ms": …, …}], "duration_ms": …}.
    outcome jsonb NOT NULL,
    question bytea NOT NULL,
    answer bytea NOT NULL,
    PRIMARY KEY (tenant_id, test_id)
);
CREATE INDEX source_test_newest ON context.source_test (tenant_id, created_at DESC, test_id DESC);

ALTER TABLE context.source_test ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON context.source_test
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY bounds ON context.source_test AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);
CREATE POLICY subject ON context.source_test AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_subjects())
        OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL);

GRANT SELECT, INSERT, UPDATE, DELETE ON context.source_test TO :"service_role";
