-- lock
SELECT pg_advisory_xact_lock(hashtextextended('definitions of ' || %s::text, 0));

-- columns
d.name, d.version, d.state, d.rules, d.created_by, d.created_at, d.approved_by, d.approved_at, d.retired_at,
d.imported::text AS imported_json

-- read
SELECT {{columns}} FROM context.definition d
WHERE d.tenant_id = %(tenant_id)s AND d.name = %(name)s AND (%(version)s = 0 OR d.version = %(version)s)
ORDER BY d.state = 'APPROVED' DESC, d.version DESC
LIMIT 1;

-- newest
SELECT {{columns}} FROM context.definition d
WHERE d.tenant_id = %(tenant_id)s AND d.name = %(name)s
ORDER BY d.version DESC
LIMIT 1;

-- approved
SELECT {{columns}} FROM context.definition d
WHERE d.tenant_id = %(tenant_id)s AND d.state = 'APPROVED'
ORDER BY d.name COLLATE "C";

-- list
SELECT {{columns}} FROM context.definition d
WHERE d.tenant_id = %(tenant_id)s AND (%(states)s::text[] = '{}' OR d.state = ANY (%(states)s::text[]))
    AND (d.name COLLATE "C" > %(after)s OR (d.name COLLATE "C" = %(after)s AND d.version < %(before)s))
ORDER BY d.name COLLATE "C", d.version DESC
LIMIT %(count)s;

-- insert
INSERT INTO context.definition AS d (tenant_id, name, version, app_id, created_by, rules)
VALUES (%(tenant_id)s, %(name)s, %(version)s, %(app_id)s, %(by)s, %(rules)s::jsonb)
RETURNING {{columns}};

-- forget
DELETE FROM context.definition d
WHERE d.tenant_id = %(tenant_id)s AND d.name = %(name)s AND d.version <= %(version)s::integer - %(kept)s::integer
    AND d.state <> 'APPROVED';

-- names
SELECT count(DISTINCT name) AS definitions FROM context.definition WHERE tenant_id = %s;

-- approve
UPDATE context.definition d SET state = 'APPROVED', approved_at = now(), approved_by = %(by)s, retired_at = NULL
WHERE d.tenant_id = %(tenant_id)s AND d.name = %(name)s AND d.version = %(version)s
RETURNING {{columns}};

-- retire
UPDATE context.definition d SET state = 'RETIRED', retired_at = now()
WHERE d.tenant_id = %(tenant_id)s AND d.name = %(name)s
    AND CASE WHEN %(version)s = 0 THEN d.state = 'APPROVED' ELSE d.version = %(version)s END
RETURNING {{columns}};
