-- columns
id, kind, started_at, updated_at, finished_at, started_by, error, options, progress,
CASE WHEN state = 'RUNNING' AND updated_at < now() - make_interval(secs => %(silent_s)s) THEN 'LOST' ELSE state END
    AS state

-- start
WITH old AS (
    DELETE FROM context.job WHERE tenant_id = %(tenant_id)s AND id IN (
        SELECT id FROM context.job WHERE tenant_id = %(tenant_id)s ORDER BY id DESC OFFSET %(kept)s
    )
)
INSERT INTO context.job (tenant_id, id, kind, started_by, options)
VALUES (%(tenant_id)s, %(id)s, %(kind)s, %(started_by)s, %(options)s::jsonb);

-- tell
UPDATE context.job SET progress = %(progress)s::jsonb, updated_at = now()
WHERE tenant_id = %(tenant_id)s AND id = %(id)s;

-- end
UPDATE context.job SET progress = coalesce(%(progress)s::jsonb, progress), state = %(state)s, error = %(error)s,
    updated_at = now(), finished_at = now()
WHERE tenant_id = %(tenant_id)s AND id = %(id)s;

-- read
SELECT {{columns}} FROM context.job WHERE tenant_id = %(tenant_id)s AND id = %(id)s;

-- list
SELECT {{columns}} FROM context.job
WHERE tenant_id = %(tenant_id)s AND (%(before_id)s::uuid IS NULL OR id < %(before_id)s::uuid)
ORDER BY id DESC LIMIT %(count)s;
