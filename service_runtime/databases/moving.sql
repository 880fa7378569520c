-- listed
SELECT id, coalesce(database, '') AS database FROM access.tenant WHERE name = %s;

-- state
SELECT state FROM access.residence WHERE tenant_id = %s;

-- move
SELECT source, horizon, copied, is_whole FROM access.move WHERE tenant_id = %s;

-- horizon
SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon;

-- migrations
SELECT 'access' AS schema, version, sha256 FROM access.migration
UNION ALL SELECT 'context', version, sha256 FROM context.migration
UNION ALL SELECT 'entity', version, sha256 FROM entity.migration
ORDER BY 1, 2;

-- settings
-- Rows are compared as texts, which settings change.
SELECT count(set_config(name, value, false)) FROM (VALUES
    ('TimeZone', 'UTC'), ('DateStyle', 'ISO'), ('IntervalStyle', 'postgres'), ('extra_float_digits', '1'),
    ('bytea_output', 'hex'), ('jit', 'off'), ('app.moving', 'on'), ('app.tenant', %s), ('app.context', '*'),
    ('app.subject', '*')
) AS setting (name, value);

-- tables
-- The tables of tenants, each after the tables that it refers to.
SELECT c.oid, n.nspname AS schema, c.relname AS name,
    array_agg(a.attname::text ORDER BY a.attnum) FILTER (WHERE a.attgenerated = '') AS columns,
    (
        SELECT array_agg(k.attname::text ORDER BY array_position(i.indkey::int2[], k.attnum))
        FROM pg_index i JOIN pg_attribute k ON k.attrelid = c.oid AND k.attnum = ANY (i.indkey)
        WHERE i.indrelid = c.oid AND i.indisprimary
    ) AS key,
    (
        SELECT bool_and(k.atttypid = 'uuid'::regtype) AND count(*) = 2
        FROM pg_index i JOIN pg_attribute k ON k.attrelid = c.oid AND k.attnum = ANY (i.indkey)
        WHERE i.indrelid = c.oid AND i.indisprimary
    ) AS has_id,
    array_agg(a.attname::text) FILTER (
        WHERE NOT a.attnotnull AND a.attgenerated = '' AND EXISTS (
            SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique AND a.attnum = ANY (i.indkey)
        ) AND NOT EXISTS (
            SELECT FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'c' AND a.attnum = ANY (k.conkey)
        )
    ) AS unique_names,
    ARRAY(SELECT f.confrelid FROM pg_constraint f WHERE f.conrelid = c.oid AND f.contype = 'f') AS refers_to
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE n.nspname IN ('access', 'context', 'entity') AND c.relkind = 'r'
    AND c.oid NOT IN (
        'access.api_key'::regclass, 'access.context_key'::regclass, 'access.residence'::regclass,
        'access.move'::regclass
    )
GROUP BY c.oid, n.nspname, c.relname
HAVING bool_or(a.attname = 'tenant_id')
ORDER BY n.nspname, c.relname;

-- comes
WITH listed AS (
    INSERT INTO access.tenant (id, name) VALUES (%(id)s, %(name)s) ON CONFLICT (id) DO UPDATE SET name = excluded.name
), arriving AS (
    INSERT INTO access.residence (tenant_id, state) VALUES (%(id)s, 'ARRIVING')
    ON CONFLICT (tenant_id) DO UPDATE SET state = 'ARRIVING', until = NULL, changed_at = now()
)
INSERT INTO access.move (tenant_id, source, horizon) VALUES (%(id)s, %(source)s, %(horizon)s);

-- leaves
INSERT INTO access.residence AS r (tenant_id, state, until)
VALUES (%(id)s, 'LEAVING', clock_timestamp() + make_interval(secs => %(stopped_s)s))
ON CONFLICT (tenant_id) DO UPDATE SET state = excluded.state, until = excluded.until, changed_at = now()
WHERE r.state IN ('HERE', 'LEAVING')
RETURNING until;

-- stays
-- If another mover let the tenant stay and leave again meanwhile, the time differs.
UPDATE access.residence SET state = 'HERE', until = NULL, changed_at = now()
WHERE tenant_id = %(id)s AND state = 'LEAVING' AND until = %(until)s;

-- is_gone
UPDATE access.residence SET state = 'GONE', until = NULL, changed_at = now(), cleaned_at = NULL
WHERE tenant_id = %(id)s AND state = 'LEAVING' AND until = %(until)s AND until > clock_timestamp() RETURNING tenant_id;

-- is_clean
UPDATE access.residence SET cleaned_at = now() WHERE tenant_id = %s AND state = 'GONE';

-- is_listed
UPDATE access.tenant SET database = nullif(%(target)s, '') WHERE id = %(id)s;

-- is_here
WITH moved AS (DELETE FROM access.move WHERE tenant_id = %(id)s)
UPDATE access.residence SET state = 'HERE', until = NULL, changed_at = now() WHERE tenant_id = %(id)s;

-- under_way
-- Transactions of services that may have begun before the source said LEAVING. Each locks its tenant from its
-- first statement on; one that holds none yet may be in that statement.
SELECT l.virtualtransaction AS number
FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid JOIN pg_roles r ON r.oid = a.usesysid
WHERE l.locktype = 'virtualxid' AND l.granted AND NOT r.rolsuper AND r.rolname <> current_user
    AND a.datid = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND has_function_privilege(r.oid, 'access.enter(uuid)', 'EXECUTE');

-- still_under_way
SELECT v.virtualtransaction AS number FROM pg_locks v
WHERE v.locktype = 'virtualxid' AND v.virtualtransaction = ANY (%(numbers)s) AND NOT EXISTS (
    SELECT FROM pg_locks t
    WHERE t.virtualtransaction = v.virtualtransaction AND t.locktype = 'advisory' AND t.classid = %(tenants)s
        AND t.objsubid = 2 AND t.objid <> (uuid_hash(%(id)s)::bigint & 4294967295)::oid
);

-- each_alone
DO $$
DECLARE
    one record;
    let_in bigint := 1;
BEGIN
    WHILE let_in > 0 LOOP
        let_in := 0;
        FOR one IN SELECT ctid AS place FROM {staged} LOOP
            BEGIN
                {put};
                DELETE FROM {staged} WHERE ctid = one.place;
                let_in := let_in + 1;
            EXCEPTION WHEN unique_violation OR foreign_key_violation THEN NULL;
            END;
        END LOOP;
    END LOOP;
END
$$;

-- numbers
SELECT to_regclass('access.numbers_' || replace(%s::text, '-', ''))::text AS name;
