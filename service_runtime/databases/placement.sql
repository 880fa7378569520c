-- is_empty
SELECT NOT EXISTS (SELECT FROM access.api_key) AND NOT EXISTS (SELECT FROM access.context_key)
    AND NOT EXISTS (SELECT FROM access.tenant WHERE name <> 'default' OR database IS NOT NULL) AS is_empty;

-- tenant
SELECT id, coalesce(database, '') AS database FROM access.tenant WHERE name = %s;

-- settles_here
-- The row of a tenant that may have come meanwhile, or is on its way, stays as it is.
WITH listed AS (INSERT INTO access.tenant (id, name) VALUES (%(id)s, %(name)s) ON CONFLICT DO NOTHING)
INSERT INTO access.residence (tenant_id, state) VALUES (%(id)s, 'HERE') ON CONFLICT (tenant_id) DO NOTHING;

-- size
SELECT pg_database_size(current_database()) AS bytes;

-- lives_elsewhere
WITH listed AS (UPDATE access.tenant SET database = %(database)s WHERE id = %(id)s)
INSERT INTO access.residence (tenant_id, state) VALUES (%(id)s, 'GONE')
ON CONFLICT (tenant_id) DO UPDATE SET state = 'GONE', until = NULL, changed_at = now(), cleaned_at = NULL;

-- lives_here
WITH listed AS (
    INSERT INTO access.tenant (id, name) VALUES (%(id)s, %(name)s) ON CONFLICT (id) DO UPDATE SET name = excluded.name
)
INSERT INTO access.residence (tenant_id, state) VALUES (%(id)s, 'HERE')
ON CONFLICT (tenant_id) DO UPDATE SET state = 'HERE', until = NULL, changed_at = now();
