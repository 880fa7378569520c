-- task
t.task_id, t.context_id, t.state, t.status_message::text AS status_message, t.status_at, t.reference_task_ids,
t.metadata::text AS metadata, t.version, t.created_by, t.created_at, t.updated_at,
t.imported::text AS imported_json

-- create
WITH header AS (
    UPDATE context.context
    SET task_count = task_count + 1, last_change = last_change + 1, updated_at = now()
    WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND closed_at IS NULL AND {{log.alive}}
        AND task_count < %(tasks_max)s
    RETURNING *
)
INSERT INTO context.task AS t (
    tenant_id, context_id, task_id, ancestors, change, state, owner_user_id, app_id, agent_bundle_id, created_by,
    reference_task_ids, status_message, metadata
)
SELECT tenant_id, context_id, %(task_id)s, ancestors, last_change, %(state)s, owner_user_id, app_id, agent_bundle_id,
    %(created_by)s, %(reference_task_ids)s::uuid[], %(status_message)s::json, %(metadata)s::json
FROM header
RETURNING {{task}};

-- lock
SELECT {{task}} FROM context.task t WHERE t.tenant_id = %s AND t.context_id = %s AND t.task_id = %s FOR UPDATE;

-- update
WITH header AS (
    UPDATE context.context SET last_change = last_change + 1, updated_at = now()
    WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND closed_at IS NULL AND {{log.alive}}
    RETURNING last_change
)
UPDATE context.task t
SET change = h.last_change, version = t.version + 1, updated_at = now(), state = %(state)s,
    status_message = %(status_message)s::json, metadata = %(metadata)s::json,
    status_at = CASE WHEN %(is_status)s THEN now() ELSE t.status_at END
FROM header h
WHERE t.tenant_id = %(tenant_id)s AND t.context_id = %(context_id)s AND t.task_id = %(task_id)s
RETURNING {{task}};

-- read
-- Joined to the header: if only the task is missing, there is a row; if the context is missing, there is none.
SELECT {{task}}, c.closed_at
FROM (
    SELECT tenant_id, context_id, closed_at FROM context.context
    WHERE tenant_id = %s AND context_id = %s AND {{log.alive}}
) c
LEFT JOIN context.task t ON t.tenant_id = c.tenant_id AND t.context_id = c.context_id AND t.task_id = %s;

-- list
-- As many as fit the bytes of a page.
SELECT {{task}}, c.closed_at
FROM (
    SELECT tenant_id, context_id, closed_at FROM context.context
    WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND {{log.alive}}
) c
LEFT JOIN LATERAL (
    SELECT *
    FROM (
        SELECT *, sum(size_bytes) OVER (ORDER BY task_id DESC ROWS UNBOUNDED PRECEDING) AS upto,
            row_number() OVER (ORDER BY task_id DESC) AS place
        FROM (
            SELECT *,
                1024 + octet_length(metadata::text) + coalesce(octet_length(status_message::text), 0) AS size_bytes
            FROM context.task t
            WHERE t.tenant_id = c.tenant_id AND t.context_id = c.context_id
                AND (%(before)s::uuid IS NULL OR t.task_id < %(before)s)
                AND (%(states)s::text[] IS NULL OR t.state = ANY (%(states)s))
            ORDER BY task_id DESC
            LIMIT %(count)s
        ) wanted
    ) counted
    WHERE upto <= %(bytes_max)s OR place = 1
) t ON true
ORDER BY t.task_id DESC;

-- changed
SELECT {{task}}, t.change FROM context.task t
WHERE t.tenant_id = %s AND t.context_id = %s AND t.change > %s AND t.change <= %s
ORDER BY t.change
LIMIT %s;

-- context_of
SELECT t.context_id
FROM context.task t
JOIN context.context c ON c.tenant_id = t.tenant_id AND c.context_id = t.context_id
WHERE t.tenant_id = %s AND t.task_id = %s AND c.deleted_at IS NULL AND (c.expires_at IS NULL OR c.expires_at > now());

-- hold
-- Until the transaction ends, none of them ends. In the order of their ids: two that hold several wait for each other.
SELECT task_id, state FROM context.task
WHERE tenant_id = %s AND context_id = %s AND task_id = ANY (%s)
ORDER BY task_id
FOR SHARE;
