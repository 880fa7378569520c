-- What windows teach about profiles: counts, and the versions of profiles that follow from them.

-- Of a profile as windows have it ("coding", "mine@3"), and an app. No text, no ref, no id of a context or of anybody: it stays when they go.
CREATE TABLE context.window_learning (
    tenant_id uuid NOT NULL,
    profile text NOT NULL,
    app_id text NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    -- By kinds of lines, and by rules of results: how many folds took out of sight, and how many were looked up then.
    counts jsonb NOT NULL DEFAULT '{}',
    -- Contexts in which something was looked up.
    context_count integer NOT NULL DEFAULT 0,
    is_frozen boolean NOT NULL DEFAULT false,
    -- Of the profile, that windows get; 0: none yet. It was learned from so many contexts.
    version integer NOT NULL DEFAULT 0,
    learned_count integer NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, profile, app_id)
);
ALTER TABLE context.window_learning ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON context.window_learning
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
-- Whoever is bound sees none: what others asked for is not his.
CREATE POLICY bounds ON context.window_learning AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '') OR false, false) IS NOT NULL);
GRANT SELECT, INSERT, UPDATE, DELETE ON context.window_learning TO :"service_role";

-- A version that was learned has no text: it is its base, with other numbers.
ALTER TABLE context.window_profile_version
    ADD COLUMN base text NOT NULL DEFAULT '',
    ADD COLUMN app_id text NOT NULL DEFAULT '',
    ADD COLUMN context_count integer NOT NULL DEFAULT 0,
    ADD COLUMN learned jsonb,
    -- The counts that it follows from.
    ADD COLUMN evidence jsonb;
-- One that was learned of an app is that app's to read.
ALTER POLICY bounds ON context.window_profile_version
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR (app_id = '' AND (SELECT context.knows_bounds(nullif(current_setting('app.bounds', true), '')::jsonb)))
        OR context.app_in_bounds(app_id), false) IS NOT NULL);

-- How often something was looked up in it that counted: one window teaches so much and no more.
ALTER TABLE context.context_window ADD COLUMN taught_count integer NOT NULL DEFAULT 0;
