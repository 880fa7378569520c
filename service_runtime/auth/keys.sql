-- find
SELECT asked.sha256, k.id, k.tenant_id, k.subject, k.scopes, k.user_id, k.agent_id, k.bounds,
    coalesce(k.last_used_at < now() - make_interval(secs => %(noted_s)s), NOT k.is_of_context) AS is_due
FROM unnest(%(sha256s)s::bytea[]) AS asked (sha256) CROSS JOIN LATERAL access.find_key(asked.sha256) k;

-- note_use
UPDATE access.api_key SET last_used_at = now() WHERE id = %(id)s;

-- is_valid
SELECT id FROM access.api_key
WHERE key_sha256 = %(sha256)s AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now());

-- any_key
SELECT EXISTS (SELECT FROM access.api_key) AS any_key;

-- tenant
SELECT id FROM access.tenant WHERE name = %(name)s;

-- add_tenant
WITH made AS (
    INSERT INTO access.tenant (id, name, database) VALUES (%(id)s, %(name)s, nullif(%(database)s, ''))
    ON CONFLICT (name) DO NOTHING RETURNING id, database
)
INSERT INTO access.residence (tenant_id, state, cleaned_at)
SELECT id, CASE WHEN database IS NULL THEN 'HERE' ELSE 'GONE' END, CASE WHEN database IS NOT NULL THEN now() END
FROM made
RETURNING tenant_id;

-- add_key
INSERT INTO access.api_key (
    id, key_sha256, prefix, tenant_id, subject, scopes, user_id, agent_id, app_ids, agent_bundle_id, graph_names,
    expires_at
)
VALUES (%(id)s, %(sha256)s, %(prefix)s, %(tenant_id)s, %(subject)s, %(scopes)s, %(user_id)s, %(agent_id)s, %(app_ids)s,
    %(agent_bundle_id)s, %(graph_names)s, now() + %(lifetime)s);

-- list
SELECT k.prefix, t.name AS tenant, k.subject, k.scopes, k.user_id, k.agent_id, k.app_ids, k.agent_bundle_id,
    k.graph_names, coalesce(p.prefix, '') AS made_by, k.created_at, k.expires_at, k.revoked_at, k.last_used_at
FROM access.api_key k JOIN access.tenant t ON t.id = k.tenant_id LEFT JOIN access.api_key p ON p.id = k.parent_id
WHERE %(tenant)s::text IS NULL OR t.name = %(tenant)s
ORDER BY k.created_at, k.id;

-- revoke
WITH of_contexts AS (
    UPDATE access.context_key SET revoked_at = coalesce(revoked_at, now()) WHERE prefix = %(prefix)s RETURNING id
), others AS (
    UPDATE access.api_key SET revoked_at = coalesce(revoked_at, now()) WHERE prefix = %(prefix)s RETURNING id
)
SELECT id FROM of_contexts UNION ALL SELECT id FROM others;

-- tenants
SELECT id, name, coalesce(database, '') AS database, created_at FROM access.tenant ORDER BY created_at, id;
