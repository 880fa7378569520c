-- lock
SELECT true FROM context.context WHERE tenant_id = %s AND context_id = %s FOR UPDATE;

-- contexts
SELECT count(*) FROM context.context WHERE tenant_id = %(tenant_id)s AND deleted_at IS NULL;

-- rows
-- A context without messages gives a row without any; one that is gone gives none.
SELECT m.*, c.ancestors, c.owner_user_id, c.agent_bundle_id, c.app_id
FROM (
    SELECT tenant_id, context_id, ancestors, owner_user_id, agent_bundle_id, app_id FROM context.context
    WHERE tenant_id = %(tenant_id)s AND context_id = %(scope_id)s AND deleted_at IS NULL
) c
LEFT JOIN LATERAL (
    SELECT seq, session, said_at, retracted_at IS NOT NULL AS is_gone, message_id, role, name, content,
        parts::text AS parts, task_id, is_imported
    FROM (
        SELECT *, sum(size_bytes) OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING) AS upto,
            row_number() OVER (ORDER BY seq) AS place
        FROM (
            SELECT * FROM context.message m
            WHERE m.tenant_id = c.tenant_id AND m.context_id = c.context_id AND m.seq > %(after)s
            ORDER BY seq
            LIMIT %(count)s
        ) wanted
    ) counted
    WHERE upto <= %(bytes_max)s OR place = 1
) m ON true
ORDER BY seq;
