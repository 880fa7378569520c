-- owe(table, id, state, owed)
INSERT INTO context.outbox (tenant_id, id, topic, subject_id)
SELECT r.tenant_id, gen_random_uuid(), %(topic)s, r.{{id}} FROM context.{{table}} r
WHERE r.tenant_id = %(tenant_id)s AND r.{{id}} = ANY (%(ids)s::uuid[]) AND r.{{state}} = '{{owed}}'
ON CONFLICT (tenant_id, topic, subject_id) DO NOTHING;

-- unindexed
SELECT id FROM context.wm_record
WHERE tenant_id = %(tenant_id)s AND id = ANY (%(ids)s::uuid[]) AND terms_version = 0 AND context_id IS NULL;

-- here
SELECT id::text AS id FROM context.wm_record WHERE tenant_id = %s AND id = ANY (%s::uuid[]);

-- count_memories
INSERT INTO context.memory_user (tenant_id, scope_id, owner_user_id, app_id, agent_bundle_id, memory_count)
SELECT m.tenant_id, u.scope_id, m.owner_user_id, m.app_id, m.agent_bundle_id, count(*)
FROM unnest(%(users)s::text[], %(scopes)s::uuid[]) u (user_id, scope_id)
    JOIN context.memory m ON m.tenant_id = %(tenant_id)s AND m.owner_user_id = u.user_id
GROUP BY m.tenant_id, u.scope_id, m.owner_user_id, m.app_id, m.agent_bundle_id
ON CONFLICT (tenant_id, owner_user_id, app_id, agent_bundle_id) DO UPDATE SET memory_count = excluded.memory_count;

-- pages
SELECT p.page_id, p.slug, p.owner_user_id, p.app_id, p.agent_bundle_id, v.aliases
FROM context.wiki_page p
    JOIN context.wiki_page_version v ON v.tenant_id = p.tenant_id AND v.page_id = p.page_id AND v.version = p.version
WHERE p.tenant_id = %s AND p.page_id = ANY (%s::uuid[]);

-- name_page
INSERT INTO context.wiki_page_name (tenant_id, name_id, page_id, owner_user_id, app_id, agent_bundle_id)
SELECT %(tenant_id)s, n, %(page_id)s, %(owner_user_id)s, %(app_id)s, %(agent_bundle_id)s
FROM unnest(%(name_ids)s::uuid[]) n
ON CONFLICT (tenant_id, name_id) DO NOTHING;

-- named
SELECT count(*) AS others FROM context.wiki_page_name
WHERE tenant_id = %s AND name_id = ANY (%s) AND page_id <> %s;

-- bump_mappings
UPDATE context.mapping_revision SET revision = revision + 1;
