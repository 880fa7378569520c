-- name
-- The row of the name is the lock: a twin of this call waits here.
INSERT INTO context.window_profile (tenant_id, name) VALUES (%s, %s) ON CONFLICT (tenant_id, name) DO NOTHING
RETURNING name;

-- lock
SELECT version, version_count FROM context.window_profile WHERE tenant_id = %s AND name = %s FOR UPDATE;

-- count
-- Of those that come with the service a name stands for no version.
SELECT count(*) AS profiles FROM context.window_profile WHERE tenant_id = %s AND (version > 0 OR name = %s);

-- count_versions
SELECT count(*) AS versions FROM context.window_profile_version
WHERE tenant_id = %s AND name = %s AND (base <> '') = %s;

-- same
SELECT version FROM context.window_profile_version WHERE tenant_id = %s AND name = %s AND sha256 = %s;

-- insert
INSERT INTO context.window_profile_version (tenant_id, name, version, sha256, created_by, text)
VALUES (%s, %s, %s, %s, %s, %s);

-- put
UPDATE context.window_profile SET version = %s, version_count = greatest(version_count, %s)
WHERE tenant_id = %s AND name = %s;

-- insert_learned
INSERT INTO context.window_profile_version (
    tenant_id, name, version, sha256, created_by, text, base, app_id, context_count, learned, evidence
)
VALUES (%s, %s, %s, %s, 'learning', '', %s, %s, %s, %s, %s);

-- count_learned
UPDATE context.window_profile SET version_count = %s WHERE tenant_id = %s AND name = %s;

-- columns
v.name, v.version, v.created_by, v.created_at, v.base, v.app_id, v.context_count, v.learned, v.evidence,
v.imported::text AS imported_json

-- read
SELECT {{columns}}, v.text
FROM context.window_profile_version v
WHERE v.tenant_id = %s AND v.name = %s AND v.version = %s;

-- current
SELECT version FROM context.window_profile WHERE tenant_id = %s AND name = %s AND version > 0;

-- list
SELECT {{columns}}, CASE WHEN %(with_text)s THEN v.text ELSE '' END AS text
FROM context.window_profile p
JOIN context.window_profile_version v ON v.tenant_id = p.tenant_id AND v.name = p.name AND v.version = p.version
WHERE p.tenant_id = %(tenant_id)s AND p.name COLLATE "C" > %(after)s AND v.tenant_id = %(tenant_id)s
ORDER BY p.name COLLATE "C"
LIMIT %(count)s;

-- versions
SELECT {{columns}}, CASE WHEN %(with_text)s THEN v.text ELSE '' END AS text
FROM context.window_profile_version v
WHERE v.tenant_id = %(tenant_id)s AND v.name = %(name)s AND (%(before)s = 0 OR v.version < %(before)s)
ORDER BY v.version DESC
LIMIT %(count)s;
