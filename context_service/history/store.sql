-- fields
app_id, name, rules, rules_version, version, created_at, updated_at

-- columns
{{fields}}, imported::text AS imported_json

-- find
SELECT {{columns}} FROM context.mapping
WHERE tenant_id = %(tenant_id)s AND name = %(name)s AND app_id = ANY(%(app_ids)s);

-- list
-- One extra row tells whether there are more, and the window ends the page at a number of bytes, after one
-- row at least.
SELECT {{fields}}, imported_json, found
FROM (
    SELECT
        m.*, count(*) OVER () AS found, row_number() OVER by_name AS place,
        sum(octet_length(m.rules::text)) OVER by_name AS bytes_so_far
    FROM (
        SELECT {{columns}} FROM context.mapping
        WHERE tenant_id = %(tenant_id)s
            AND (%(app_ids)s::text[] IS NULL OR app_id = ANY(%(app_ids)s))
            AND (app_id, name) > (%(after_app_id)s, %(after_name)s)
        ORDER BY app_id, name LIMIT %(count_max)s + 1
    ) m
    WINDOW by_name AS (ORDER BY m.app_id, m.name ROWS UNBOUNDED PRECEDING)
) page
WHERE place <= %(count_max)s AND (bytes_so_far <= %(bytes_max)s OR place = 1)
ORDER BY app_id, name;

-- apps
SELECT app_id FROM context.mapping WHERE tenant_id = %(tenant_id)s AND name = %(name)s ORDER BY app_id LIMIT 20;

-- insert
-- Fifty replicas register at once: one inserts, the others find its row and wait for it here.
INSERT INTO context.mapping (tenant_id, app_id, name, rules, rules_version, created_by)
VALUES (%(tenant_id)s, %(app_id)s, %(name)s, %(rules)s, %(rules_version)s, %(created_by)s)
ON CONFLICT (tenant_id, app_id, name) DO NOTHING
RETURNING {{columns}};

-- lock
SELECT {{columns}} FROM context.mapping
WHERE tenant_id = %(tenant_id)s AND app_id = %(app_id)s AND name = %(name)s FOR UPDATE;

-- update
UPDATE context.mapping
SET rules = %(rules)s, rules_version = %(rules_version)s, version = version + %(changed)s::boolean::integer,
    updated_at = greatest(now(), updated_at),
    imported = CASE WHEN %(changed)s::boolean THEN NULL ELSE imported END
WHERE tenant_id = %(tenant_id)s AND app_id = %(app_id)s AND name = %(name)s
RETURNING {{columns}};

-- delete
DELETE FROM context.mapping
WHERE tenant_id = %(tenant_id)s AND app_id = %(app_id)s AND name = %(name)s
RETURNING {{columns}};

-- count
SELECT count(*) AS mappings FROM context.mapping WHERE tenant_id = %(tenant_id)s AND app_id = %(app_id)s;

-- bump
-- Last in its transaction, so that the row is locked for a moment only.
UPDATE context.mapping_revision SET revision = revision + 1;

-- revision
SELECT revision FROM context.mapping_revision;
