-- Pages that are compiled of nodes, facet by facet; on which nodes each depends; and how far compiling is. A page is a view of the graph, for
-- whoever compiled it: `audience_id` is made of the bounds of that key. What policies read (graph, bundle, app) stands on every row. What
-- facets say is found by passages in the tenant's scope of them, at the facet's `seq`.

CREATE TABLE context.compiled_page (
    tenant_id uuid NOT NULL,
    -- Made of definition, node and audience.
    page_id uuid NOT NULL,
    node_id uuid NOT NULL,
    audience_id uuid NOT NULL,
    -- Of the compile that read its node last, and when it did.
    compile_id uuid NOT NULL,
    compiled_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    definition_version integer NOT NULL,
    is_unbound boolean NOT NULL,
    definition_name text NOT NULL,
    -- Those of its node, and the app of its definition.
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    node_type text NOT NULL,
    title text NOT NULL,
    -- Why it may not be what the graph says; empty: nothing is known against it.
    trouble text NOT NULL DEFAULT '',
    aliases text[] NOT NULL,
    -- Of all that is made of the node: the same again is not written again.
    sha256 bytea NOT NULL,
    PRIMARY KEY (tenant_id, page_id)
) WITH (fillfactor = 80);
CREATE INDEX compiled_page_node ON context.compiled_page (tenant_id, node_id);
CREATE INDEX compiled_page_list ON context.compiled_page (tenant_id, definition_name COLLATE "C", page_id);

CREATE TABLE context.facet (
    tenant_id uuid NOT NULL,
    page_id uuid NOT NULL,
    -- Its place among the passages of the tenant's facets.
    seq bigint GENERATED ALWAYS AS IDENTITY,
    -- Of what was compiled.
    compile_id uuid,
    written_at timestamptz NOT NULL DEFAULT now(),
    as_of timestamptz NOT NULL,
    fresh_until timestamptz,
    confidence double precision NOT NULL,
    place integer NOT NULL,
    definition_version integer NOT NULL,
    passage_count integer NOT NULL DEFAULT 0,
    -- Somebody put it; else it was compiled.
    is_put boolean NOT NULL,
    is_cut boolean NOT NULL,
    is_declassified boolean NOT NULL,
    slug text NOT NULL,
    heading text NOT NULL,
    kind text NOT NULL,
    put_by text NOT NULL,
    -- Who may see it may see all that was read for it: the bundle is that of all of these, and of several none.
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    bundles text[] NOT NULL,
    -- [[node, version, edge, version]]; of one that was put [[label, uri]].
    sources json NOT NULL,
    text text NOT NULL,
    PRIMARY KEY (tenant_id, page_id, is_put, slug),
    CHECK (is_declassified OR agent_bundle_id = '' OR bundles <@ ARRAY[agent_bundle_id])
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX facet_seq ON context.facet (tenant_id, seq);

-- Which nodes a page was made of, and for what of them it is to be made again, as bits: the node itself, the edges that leave it, and those
-- that come to it.
CREATE TABLE context.page_dependency (
    tenant_id uuid NOT NULL,
    node_id uuid NOT NULL,
    page_id uuid NOT NULL,
    bits smallint NOT NULL,
    graph_name text NOT NULL,
    agent_bundle_id text NOT NULL,
    app_id text NOT NULL,
    PRIMARY KEY (tenant_id, node_id, page_id)
);
CREATE INDEX page_dependency_of ON context.page_dependency (tenant_id, page_id);

-- How far compiling is, of keys with the same bounds, and which compile is under way: its transactions see to it that it still is.
CREATE TABLE context.compile_state (
    tenant_id uuid NOT NULL,
    audience_id uuid NOT NULL,
    compile_id uuid NOT NULL,
    leased_until timestamptz NOT NULL,
    compiled_at timestamptz,
    bounds text NOT NULL DEFAULT coalesce(current_setting('app.bounds', true), ''),
    -- Behind which changes are not compiled yet; empty: it is not known.
    place text NOT NULL DEFAULT '',
    -- By name, in which version a definition is compiled of all nodes.
    definitions jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (tenant_id, audience_id)
) WITH (fillfactor = 50);

ALTER TABLE context.compiled_page ENABLE ROW LEVEL SECURITY;
ALTER TABLE context.facet ENABLE ROW LEVEL SECURITY;
ALTER TABLE context.page_dependency ENABLE ROW LEVEL SECURITY;
ALTER TABLE context.compile_state ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON context.compiled_page
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY bounds ON context.compiled_page AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.in_bounds(graph_name, agent_bundle_id, app_id), false) IS NOT NULL);
CREATE POLICY tenant ON context.facet
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY bounds ON context.facet AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.in_bounds(graph_name, agent_bundle_id, app_id), false) IS NOT NULL);
CREATE POLICY tenant ON context.page_dependency
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY bounds ON context.page_dependency AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR context.in_bounds(graph_name, agent_bundle_id, app_id), false) IS NOT NULL);
CREATE POLICY tenant ON context.compile_state
    USING (tenant_id = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));
CREATE POLICY bounds ON context.compile_state AS RESTRICTIVE
    USING (nullif((SELECT coalesce(current_setting('app.bounds', true), '') = '')
        OR bounds = (SELECT current_setting('app.bounds', true)), false) IS NOT NULL);

GRANT SELECT, INSERT, UPDATE, DELETE ON context.compiled_page, context.facet, context.page_dependency, context.compile_state
    TO :"service_role";
