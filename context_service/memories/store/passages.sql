-- lock
SELECT owner_user_id FROM context.memory_user
WHERE tenant_id = %s AND scope_id = %s
ORDER BY app_id, agent_bundle_id
FOR UPDATE;

-- rows
SELECT m.seq, m.happened_at, m.quality, m.owner_user_id, m.app_id, m.agent_bundle_id, m.kind, m.key, m.text, m.goal,
    m.outcome
FROM context.memory m
WHERE m.tenant_id = %(tenant_id)s AND m.seq > %(after)s AND m.owner_user_id IN (
    SELECT u.owner_user_id FROM context.memory_user u
    WHERE u.tenant_id = %(tenant_id)s AND u.scope_id = %(scope_id)s
)
ORDER BY m.seq
LIMIT %(count)s;
