-- is_off
-- No row if the caller does not see the context. `agent_ids` has the first agents of a context only: if it is full,
-- any agent with "off" counts.
SELECT c.models = 'off' OR EXISTS (
    SELECT FROM context.context_setting s
    WHERE s.tenant_id = c.tenant_id AND s.models = 'off' AND (
        s.subject IN ('tenant', 'app ' || c.app_id)
        OR s.subject = ANY (SELECT 'agent ' || a FROM unnest(c.agent_ids) a)
        OR (cardinality(c.agent_ids) >= %(agents_max)s AND s.subject LIKE 'agent %%')
    )
) AS is_off
FROM context.context c
WHERE c.tenant_id = %(tenant_id)s AND c.context_id = %(context_id)s AND c.deleted_at IS NULL;
