-- lock
SELECT pg_advisory_xact_lock(hashtextextended('wiki of ' || %s::text, 0));

-- named
SELECT n.name_id, n.page_id, p.slug
FROM context.wiki_page_name n
JOIN context.wiki_page p ON p.tenant_id = n.tenant_id AND p.page_id = n.page_id
WHERE n.tenant_id = %s AND n.name_id = ANY (%s);

-- newest
SELECT p.page_id, p.version, v.seq, v.passage_count, v.sha256
FROM context.wiki_page p
JOIN context.wiki_page_version v ON v.tenant_id = p.tenant_id AND v.page_id = p.page_id AND v.version = p.version
WHERE p.tenant_id = %s AND p.page_id = %s;

-- count
SELECT count(*) AS pages FROM context.wiki_page WHERE tenant_id = %s AND owner_user_id = %s;

-- holds
UPDATE context.wiki_page SET as_of = now(), fresh_until = %s WHERE tenant_id = %s AND page_id = %s;

-- put
INSERT INTO context.wiki_page (
    tenant_id, page_id, scope_id, fresh_until, version, slug, title, owner_user_id, app_id, agent_bundle_id, created_by
) VALUES (
    %(tenant_id)s, %(page_id)s, %(scope_id)s, %(fresh_until)s, %(version)s, %(slug)s, %(title)s,
    %(owner_user_id)s, %(app_id)s, %(agent_bundle_id)s, %(created_by)s
)
ON CONFLICT (tenant_id, page_id) DO UPDATE
    SET updated_at = now(), as_of = now(), fresh_until = excluded.fresh_until, version = excluded.version,
        title = excluded.title;

-- put_version
INSERT INTO context.wiki_page_version (
    tenant_id, page_id, version, size_bytes, passage_count, owner_user_id, app_id, agent_bundle_id, created_by, sha256,
    title, aliases, memory_ids, sources, headings, markdown
) VALUES (
    %(tenant_id)s, %(page_id)s, %(version)s, %(size_bytes)s, %(passage_count)s, %(owner_user_id)s, %(app_id)s,
    %(agent_bundle_id)s, %(created_by)s, %(sha256)s, %(title)s, %(aliases)s, %(memory_ids)s, %(sources)s::json,
    %(headings)s, %(markdown)s
)
RETURNING seq, created_at;

-- put_names
WITH gone AS (
    DELETE FROM context.wiki_page_name
    WHERE tenant_id = %(tenant_id)s AND page_id = %(page_id)s AND name_id <> ALL (%(name_ids)s::uuid[])
)
INSERT INTO context.wiki_page_name (tenant_id, name_id, page_id, owner_user_id, app_id, agent_bundle_id)
SELECT %(tenant_id)s, n, %(page_id)s, %(owner_user_id)s, %(app_id)s, %(agent_bundle_id)s
FROM unnest(%(name_ids)s::uuid[]) n
ON CONFLICT (tenant_id, name_id) DO NOTHING;

-- put_citations
-- A memory that is not there, or not the caller's to see, gives no row.
WITH gone AS (
    DELETE FROM context.wiki_citation
    WHERE tenant_id = %(tenant_id)s AND page_id = %(page_id)s AND memory_id <> ALL (%(memory_ids)s::uuid[])
)
INSERT INTO context.wiki_citation (
    tenant_id, memory_id, page_id, memory_version, was_superseded, owner_user_id, app_id, agent_bundle_id
)
SELECT m.tenant_id, m.memory_id, %(page_id)s, m.version, m.superseded_by IS NOT NULL, %(owner_user_id)s, %(app_id)s,
    %(agent_bundle_id)s
FROM context.memory m
WHERE m.tenant_id = %(tenant_id)s AND m.owner_user_id = %(owner_user_id)s
    AND m.memory_id = ANY (%(memory_ids)s::uuid[])
ON CONFLICT (tenant_id, memory_id, page_id) DO UPDATE
    SET memory_version = excluded.memory_version, was_superseded = excluded.was_superseded
RETURNING memory_id;

-- forget_versions
-- The newest version stays, whatever it takes.
DELETE FROM context.wiki_page_version v
USING (
    SELECT version, sum(size_bytes) OVER (ORDER BY version DESC) AS bytes_upto,
        row_number() OVER (ORDER BY version DESC) AS place
    FROM context.wiki_page_version
    WHERE tenant_id = %(tenant_id)s AND page_id = %(page_id)s
) one
WHERE v.tenant_id = %(tenant_id)s AND v.page_id = %(page_id)s AND v.version = one.version
    AND one.place > 1 AND (one.place > %(versions_max)s OR one.bytes_upto > %(bytes_max)s);

-- columns
p.page_id, p.slug, v.title, v.version, p.version AS newest_version, v.aliases, v.memory_ids, v.size_bytes,
CASE WHEN v.version = p.version THEN p.as_of ELSE v.created_at END AS as_of,
CASE WHEN v.version = p.version THEN p.fresh_until END AS fresh_until,
CASE WHEN v.version = p.version THEN p.fresh_until < now() END AS is_past,
p.owner_user_id, p.app_id, p.agent_bundle_id, p.created_by, v.created_by AS written_by, p.created_at,
v.created_at AS updated_at, f.gone, f.changed, f.superseded,
CASE WHEN p.imported IS NOT NULL OR v.imported IS NOT NULL THEN jsonb_strip_nulls(
    coalesce(p.imported, '{}') || coalesce(v.imported - 'created_by', '{}')
    || jsonb_build_object('written_by', v.imported -> 'created_by')
)::text END AS imported_json

-- cited
-- What became of the memories that the newest version of the page `p` rests on, since it was put.
LEFT JOIN LATERAL (
    SELECT array_agg(c.memory_id ORDER BY c.memory_id) FILTER (WHERE m.memory_id IS NULL) AS gone,
        array_agg(c.memory_id ORDER BY c.memory_id) FILTER (WHERE m.version <> c.memory_version) AS changed,
        array_agg(c.memory_id ORDER BY c.memory_id)
            FILTER (WHERE m.superseded_by IS NOT NULL AND NOT c.was_superseded) AS superseded
    FROM context.wiki_citation c
    LEFT JOIN context.memory m ON m.tenant_id = c.tenant_id AND m.memory_id = c.memory_id
    WHERE c.tenant_id = p.tenant_id AND c.page_id = p.page_id
) f ON true

-- meant
p.tenant_id = %(tenant_id)s AND p.owner_user_id = %(user_id)s AND p.page_id = coalesce(%(page_id)s::uuid, (
    SELECT n.page_id FROM context.wiki_page_name n WHERE n.tenant_id = %(tenant_id)s AND n.name_id = %(name_id)s
))

-- read
SELECT {{columns}}, v.sources::text AS sources, v.markdown
FROM context.wiki_page p
JOIN context.wiki_page_version v ON v.tenant_id = p.tenant_id AND v.page_id = p.page_id
    AND v.version = CASE WHEN %(version)s = 0 THEN p.version ELSE %(version)s END
{{cited}}
WHERE {{meant}};

-- list
-- No slug has a character after a brace in the order.
SELECT {{columns}}
FROM context.wiki_page p
JOIN context.wiki_page_version v ON v.tenant_id = p.tenant_id AND v.page_id = p.page_id AND v.version = p.version
{{cited}}
WHERE p.tenant_id = %(tenant_id)s AND p.owner_user_id = %(user_id)s
    AND p.slug COLLATE "C" >= %(prefix)s AND p.slug COLLATE "C" < %(prefix)s || '{'
    AND (p.slug COLLATE "C", p.page_id) > (%(after)s, %(after_id)s::uuid)
    AND (%(memory_id)s::uuid IS NULL OR EXISTS (
        SELECT FROM context.wiki_citation c
        WHERE c.tenant_id = p.tenant_id AND c.memory_id = %(memory_id)s AND c.page_id = p.page_id
    ))
ORDER BY p.slug COLLATE "C", p.page_id
LIMIT %(count)s;

-- versions
-- The page itself: it always has a version.
SELECT p.page_id, v.version, v.title, v.created_by, v.created_at, v.size_bytes, CASE WHEN v.imported IS NOT NULL THEN (
        v.imported - 'created_by' || jsonb_build_object('written_by', v.imported -> 'created_by')
    )::text END AS imported_json
FROM context.wiki_page p
JOIN context.wiki_page_version v ON v.tenant_id = p.tenant_id AND v.page_id = p.page_id
WHERE {{meant}} AND (%(before)s = 0 OR v.version < %(before)s)
ORDER BY v.version DESC
LIMIT %(count)s;

-- header
SELECT p.page_id, p.version FROM context.wiki_page p WHERE {{meant}} FOR UPDATE;

-- delete
WITH page AS (
    DELETE FROM context.wiki_page WHERE tenant_id = %(tenant_id)s AND page_id = %(page_id)s
), names AS (
    DELETE FROM context.wiki_page_name WHERE tenant_id = %(tenant_id)s AND page_id = %(page_id)s
), cited AS (
    DELETE FROM context.wiki_citation WHERE tenant_id = %(tenant_id)s AND page_id = %(page_id)s
)
DELETE FROM context.wiki_page_version WHERE tenant_id = %(tenant_id)s AND page_id = %(page_id)s;
