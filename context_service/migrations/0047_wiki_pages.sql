-- Wiki pages: what agents or people compiled for a user, version by version. A header each, the versions that are kept, the names that
-- lead to it, and the memories that its newest version rests on. What policies read (owner, app, bundle) stands on every row, and never
-- changes. What is said in the newest version is found by passages in the scope of the owner's pages, at the version's `seq`.

CREATE TABLE context.wiki_page (
    tenant_id uuid NOT NULL,
    page_id uuid NOT NULL,
    -- Of what its owner's pages say.
    scope_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Of the newest version: when it was written, and when it was last said to hold.
    updated_at timestamptz NOT NULL DEFAULT now(),
    as_of timestamptz NOT NULL DEFAULT now(),
    fresh_until timestamptz,
    version integer NOT NULL,
    slug text NOT NULL,
    title text NOT NULL,
    owner_user_id text NOT NULL CHECK (owner_user_id <> ''),
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    created_by text NOT NULL,
    PRIMARY KEY (tenant_id, page_id)
) WITH (fillfactor = 80);
-- A user's pages, whatever the app.
CREATE INDEX wiki_page_list ON context.wiki_page (tenant_id, owner_user_id, slug COLLATE "C", page_id);
CREATE INDEX wiki_page_scope ON context.wiki_page (tenant_id, scope_id);

CREATE TABLE context.wiki_page_version (
    tenant_id uuid NOT NULL,
    page_id uuid NOT NULL,
    version integer NOT NULL,
    -- Its place among the owner's passages: no two versions have one, so that what stands at a place never changes.
    seq bigint GENERATED ALWAYS AS IDENTITY,
    created_at timestamptz NOT NULL DEFAULT now(),
    size_bytes integer NOT NULL,
    passage_count integer NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    created_by text NOT NULL,
    -- Of all that was put but for how long it is fresh: the same again is no new version.
    sha256 bytea NOT NULL,
    title text NOT NULL,
    aliases text[] NOT NULL,
    memory_ids uuid[] NOT NULL,
    -- [[label, uri, id]], as they were given.
    sources json NOT NULL,
    -- Of its sections: a passage says by its `part` in which of them it stands.
    headings text[] NOT NULL,
    markdown text NOT NULL,
    PRIMARY KEY (tenant_id, page_id, version)
);

-- The slug and the aliases, each of which leads to one page of its owner. App and agent bundle count, too: a key that is bound to others
-- must not learn that there is one.
CREATE TABLE context.wiki_page_name (
    tenant_id uuid NOT NULL,
    -- Made of all that counts: names may be longer than an index takes.
    name_id uuid NOT NULL,
    page_id uuid NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    PRIMARY KEY (tenant_id, name_id)
);
CREATE INDEX wiki_page_name_of ON context.wiki_page_name (tenant_id, page_id);

-- The memories that the newest version rests on, each as it was when the page was last put. One that is gone leaves its line here.
CREATE TABLE context.wiki_citation (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    page_id uuid NOT NULL,
    memory_version integer NOT NULL,
    was_superseded boolean NOT NULL,
    owner_user_id text NOT NULL,
    app_id text NOT NULL,
    agent_bundle_id text NOT NULL,
    PRIMARY KEY (tenant_id, memory_id, page_id)
);
CREATE INDEX wiki_citation_of ON context.wiki_citation (tenant_id, page_id);

ALTER TABLE context.wiki_page ENABLE ROW LEVEL SECURITY;
ALTER TABLE context.wiki_page_version ENABLE ROW LEVEL SECURITY;
ALTER TABLE context.wiki_page_name ENABLE ROW LEVEL SECURITY;
ALTER TABLE context.wiki_citation ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON context.wiki_page
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY bounds ON context.wiki_page AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.in_bounds('', agent_bundle_id, app_id), false) IS NOT NULL);
CREATE POLICY subject ON context.wiki_page AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_subjects())
        OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL);
CREATE POLICY tenant ON context.wiki_page_version
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY bounds ON context.wiki_page_version AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.in_bounds('', agent_bundle_id, app_id), false) IS NOT NULL);
CREATE POLICY subject ON context.wiki_page_version AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_subjects())
        OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL);
CREATE POLICY tenant ON context.wiki_page_name
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY bounds ON context.wiki_page_name AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.in_bounds('', agent_bundle_id, app_id), false) IS NOT NULL);
CREATE POLICY subject ON context.wiki_page_name AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_subjects())
        OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL);
CREATE POLICY tenant ON context.wiki_citation
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY bounds ON context.wiki_citation AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.in_bounds('', agent_bundle_id, app_id), false) IS NOT NULL);
CREATE POLICY subject ON context.wiki_citation AS RESTRICTIVE
    USING (nullif((SELECT access.sees_all_subjects())
        OR owner_user_id = ANY ((SELECT access.owners_seen())::text[]), false) IS NOT NULL);

GRANT SELECT, INSERT, UPDATE, DELETE ON context.wiki_page, context.wiki_page_name, context.wiki_citation TO :"service_role";
-- A version is written once.
GRANT SELECT, INSERT, DELETE ON context.wiki_page_version TO :"service_role";
