-- turn
SELECT pg_advisory_xact_lock(hashtextextended('facets of ' || %s::text, 0));

-- known
SELECT p.page_id, p.sha256, p.definition_version FROM context.compiled_page p
WHERE p.tenant_id = %(tenant_id)s AND p.page_id = ANY (%(page_ids)s);

-- stand
UPDATE context.compiled_page
SET compile_id = %(compile_id)s, compiled_at = now() - make_interval(secs => %(read_ago_s)s), trouble = ''
WHERE tenant_id = %(tenant_id)s AND page_id = ANY (%(page_ids)s);

-- troubled
UPDATE context.compiled_page p
SET compile_id = %(compile_id)s, trouble = t.trouble
FROM json_to_recordset(%(troubles)s::json) t (page_id uuid, trouble text)
WHERE p.tenant_id = %(tenant_id)s AND p.page_id = t.page_id;

-- unseen
-- Pages that this compile did not come by: of its own audience each, of others those of nodes that it has not seen.
SELECT p.page_id, p.node_id, p.audience_id FROM context.compiled_page p
WHERE p.tenant_id = %(tenant_id)s AND p.definition_name COLLATE "C" = %(definition_name)s AND p.page_id > %(after)s
    AND p.compile_id <> %(compile_id)s
    AND (
        p.audience_id = %(audience_id)s
        OR NOT EXISTS (
            SELECT FROM context.compiled_page made
            WHERE made.tenant_id = p.tenant_id AND made.node_id = p.node_id AND made.compile_id = %(compile_id)s
        )
    )
ORDER BY p.page_id
LIMIT %(count)s;

-- put_pages
INSERT INTO context.compiled_page AS p (
    tenant_id, page_id, node_id, audience_id, compile_id, compiled_at, definition_version, is_unbound, definition_name,
    graph_name, agent_bundle_id, app_id, node_type, title, aliases, sha256
)
SELECT %(tenant_id)s, n.page_id, n.node_id, %(audience_id)s, %(compile_id)s,
    now() - make_interval(secs => %(read_ago_s)s), n.definition_version, %(is_unbound)s,
    n.definition_name, n.graph_name, n.agent_bundle_id, n.app_id, n.node_type, n.title,
    ARRAY(SELECT json_array_elements_text(n.aliases)), decode(n.sha256, 'hex')
FROM json_to_recordset(%(pages)s::json) n (
    page_id uuid, node_id uuid, definition_version integer, definition_name text, graph_name text,
    agent_bundle_id text, app_id text, node_type text, title text, aliases json, sha256 text
)
ON CONFLICT (tenant_id, page_id) DO UPDATE
    SET compile_id = excluded.compile_id, compiled_at = excluded.compiled_at,
        definition_version = excluded.definition_version, graph_name = excluded.graph_name,
        agent_bundle_id = excluded.agent_bundle_id, app_id = excluded.app_id, node_type = excluded.node_type,
        title = excluded.title, trouble = '', aliases = excluded.aliases, sha256 = excluded.sha256;

-- move_put
-- Those that were put stay, with the walls that their page has now.
UPDATE context.facet f
SET graph_name = p.graph_name, agent_bundle_id = p.agent_bundle_id, app_id = p.app_id,
    bundles = ARRAY[p.agent_bundle_id]
FROM context.compiled_page p
WHERE f.tenant_id = %(tenant_id)s AND f.page_id = ANY (%(page_ids)s) AND f.is_put AND p.tenant_id = f.tenant_id
    AND p.page_id = f.page_id
RETURNING f.page_id, f.slug, f.heading, f.text, f.seq, f.written_at, f.graph_name, f.agent_bundle_id, f.app_id,
    p.title, p.aliases;

-- found_by
SELECT seq FROM context.facet
WHERE tenant_id = %(tenant_id)s AND page_id = ANY (%(page_ids)s) AND passage_count > 0;

-- drop_compiled
DELETE FROM context.facet WHERE tenant_id = %(tenant_id)s AND page_id = ANY (%(page_ids)s) AND NOT is_put;

-- put_facets
INSERT INTO context.facet AS f (
    tenant_id, page_id, compile_id, as_of, fresh_until, confidence, place, definition_version, passage_count, is_put,
    is_cut, is_declassified, slug, heading, kind, put_by, graph_name, agent_bundle_id, app_id, bundles, sources, text
)
SELECT %(tenant_id)s, n.page_id, n.compile_id, coalesce(n.as_of, now()), n.fresh_until, n.confidence, n.place,
    n.definition_version, n.passage_count, n.is_put, n.is_cut, n.is_declassified, n.slug, n.heading, n.kind, n.put_by,
    n.graph_name, n.agent_bundle_id, n.app_id, ARRAY(SELECT json_array_elements_text(n.bundles)), n.sources, n.text
FROM json_to_recordset(%(facets)s::json) n (
    page_id uuid, compile_id uuid, as_of timestamptz, fresh_until timestamptz, confidence double precision,
    place integer, definition_version integer, passage_count integer, is_put boolean, is_cut boolean,
    is_declassified boolean, slug text, heading text, kind text, put_by text, graph_name text, agent_bundle_id text,
    app_id text, bundles json, sources json, text text
)
RETURNING f.page_id, f.slug, f.seq, f.written_at;

-- drop_dependencies
DELETE FROM context.page_dependency WHERE tenant_id = %(tenant_id)s AND page_id = ANY (%(page_ids)s);

-- put_dependencies
INSERT INTO context.page_dependency (
    tenant_id, node_id, page_id, bits, node_owner_id, graph_name, agent_bundle_id, app_id
)
SELECT %(tenant_id)s, n.node_id, n.page_id, n.bits, n.node_owner_id, n.graph_name, n.agent_bundle_id, n.app_id
FROM json_to_recordset(%(dependencies)s::json) n (
    node_id uuid, page_id uuid, bits smallint, node_owner_id text, graph_name text, agent_bundle_id text, app_id text
);

-- drop_pages
WITH facets AS (
    DELETE FROM context.facet WHERE tenant_id = %(tenant_id)s AND page_id = ANY (%(page_ids)s)
)
DELETE FROM context.compiled_page WHERE tenant_id = %(tenant_id)s AND page_id = ANY (%(page_ids)s) RETURNING page_id;

-- saying
-- Who wrote what they say is not known of pages that an older release compiled: they may say anybody's.
SELECT d.page_id, bool_or(d.node_owner_id IS NOT NULL AND d.node_id = p.node_id) AS is_own,
    bool_or(d.node_owner_id IS NULL AND d.node_id = p.node_id) AS may_be_own
FROM context.page_dependency d
JOIN context.compiled_page p ON p.tenant_id = d.tenant_id AND p.page_id = d.page_id
WHERE d.ctid >= %(first)s::tid AND d.ctid < %(end)s::tid AND d.tenant_id = %(tenant_id)s
    AND (d.node_owner_id = %(owner_id)s OR d.node_owner_id IS NULL)
GROUP BY d.page_id;

-- empty
-- The dependencies of the page stay, so the next compile compiles it again; the hash is that of no page.
WITH facets AS (
    UPDATE context.facet SET passage_count = 0
    WHERE tenant_id = %(tenant_id)s AND page_id = ANY (%(page_ids)s) AND is_put
), dependencies AS (
    UPDATE context.page_dependency SET node_owner_id = ''
    WHERE tenant_id = %(tenant_id)s AND page_id = ANY (%(page_ids)s)
        AND (node_owner_id = %(owner_id)s OR node_owner_id IS NULL)
)
UPDATE context.compiled_page
SET sha256 = '', trouble = %(trouble)s,
    title = CASE WHEN page_id = ANY (%(unnamed_ids)s) THEN node_type ELSE title END,
    aliases = CASE WHEN page_id = ANY (%(unnamed_ids)s) THEN '{}' ELSE aliases END
WHERE tenant_id = %(tenant_id)s AND page_id = ANY (%(page_ids)s)
RETURNING page_id;

-- of_nodes
SELECT page_id FROM context.compiled_page WHERE tenant_id = %(tenant_id)s AND node_id = ANY (%(node_ids)s::uuid[]);

-- not_approved
SELECT p.page_id FROM context.compiled_page p
WHERE p.tenant_id = %(tenant_id)s AND p.definition_name <> ALL (%(names)s::text[])
LIMIT %(count)s;

-- dependent
SELECT DISTINCT p.definition_name, p.node_id
FROM json_to_recordset(%(touched)s::json) t (node_id uuid, bits integer)
    JOIN context.page_dependency d ON d.tenant_id = %(tenant_id)s AND d.node_id = t.node_id AND d.bits & t.bits <> 0
    JOIN context.compiled_page p ON p.tenant_id = d.tenant_id AND p.page_id = d.page_id
WHERE p.audience_id = %(audience_id)s;

-- approved
-- Only pages of approved definitions are shown.
JOIN context.definition d ON d.tenant_id = p.tenant_id AND d.name = p.definition_name AND d.state = 'APPROVED'

-- declassified
-- An approval declassifies what its own version wrote. A facet of another version is shown as if it were not
-- declassified: to keys that see all that it read.
(NOT f.is_declassified OR f.definition_version = d.version OR coalesce(current_setting('app.bounds', true), '') = ''
    OR context.in_bounds(
        f.graph_name, CASE WHEN cardinality(f.bundles) = 1 THEN f.bundles[1] ELSE '' END, f.app_id
    ))

-- page_columns
p.page_id, p.definition_name, p.definition_version, p.node_id, p.node_type, p.title, p.aliases, p.trouble,
p.graph_name, p.agent_bundle_id, p.app_id, p.compile_id, p.compiled_at, p.created_at, d.version AS approved_version

-- facet_columns
f.slug, f.heading, f.kind, f.text, f.is_cut, f.confidence, f.as_of, f.fresh_until, f.fresh_until < now() AS is_past,
f.sources, f.bundles, f.is_declassified, f.definition_version, f.compile_id, f.put_by, f.is_put, f.written_at

-- read
SELECT {{page_columns}} FROM context.compiled_page p {{approved}}
WHERE p.tenant_id = %(tenant_id)s AND p.page_id = %(page_id)s;

-- lock
{{read}} FOR UPDATE OF p;

-- facets
SELECT {{facet_columns}} FROM context.facet f
    JOIN context.compiled_page p ON p.tenant_id = f.tenant_id AND p.page_id = f.page_id
    {{approved}}
WHERE f.tenant_id = %(tenant_id)s AND f.page_id = %(page_id)s AND {{declassified}}
ORDER BY f.is_put, f.place, f.slug COLLATE "C";

-- stale_by
ARRAY(
    SELECT f.fresh_until FROM context.facet f
    WHERE f.tenant_id = p.tenant_id AND f.page_id = p.page_id AND f.fresh_until < now()
    ORDER BY f.fresh_until
    LIMIT 1
) AS past

-- list
SELECT {{page_columns}}, {{stale_by}}
FROM context.compiled_page p {{approved}}
WHERE p.tenant_id = %(tenant_id)s AND (%(definition_name)s = '' OR p.definition_name = %(definition_name)s)
    AND (%(node_id)s::uuid IS NULL OR p.node_id = %(node_id)s)
    AND (p.definition_name COLLATE "C", p.page_id) > (%(after)s, %(after_id)s::uuid)
ORDER BY p.definition_name COLLATE "C", p.page_id
LIMIT %(count)s;

-- drop_put
DELETE FROM context.facet
WHERE tenant_id = %(tenant_id)s AND page_id = %(page_id)s AND is_put AND slug = %(slug)s
RETURNING seq, passage_count;

-- count_put
SELECT count(*) AS facets FROM context.facet WHERE tenant_id = %(tenant_id)s AND page_id = %(page_id)s AND is_put;

-- passages
UPDATE context.facet f SET passage_count = n.passage_count
FROM json_to_recordset(%(counts)s::json) n (seq bigint, passage_count integer)
WHERE f.tenant_id = %(tenant_id)s AND f.seq = n.seq;
