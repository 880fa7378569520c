-- findable(settings)
-- Whether searches over several contexts find the context `c`. The narrowest setting applies. `agent_ids` has the first
-- agents of a context only: if it is full, any agent with false counts.
coalesce(
    c.is_findable,
    (
        SELECT bool_and(s.is_findable) FROM {{settings}} s
        WHERE s.subject = ANY (SELECT 'agent ' || a FROM unnest(c.agent_ids) a)
            OR (cardinality(c.agent_ids) >= %(agents_max)s AND NOT s.is_findable AND s.subject LIKE 'agent %%')
    ),
    (SELECT s.is_findable FROM {{settings}} s WHERE s.subject = 'app ' || c.app_id),
    (SELECT s.is_findable FROM {{settings}} s WHERE s.subject = 'tenant'),
    true
)

-- with_findable
-- The settings of the tenant that say whether contexts are findable.
SELECT s.subject, s.is_findable FROM context.context_setting s
WHERE s.tenant_id = %(tenant_id)s AND s.is_findable IS NOT NULL

-- is_findable
-- No row if the caller does not see the context.
SELECT {{findable(({{with_findable}}))}} AS is_findable
FROM context.context c
WHERE c.tenant_id = %(tenant_id)s AND c.context_id = %(context_id)s AND c.deleted_at IS NULL;

-- models_are_off
-- No row if the caller does not see the context. `agent_ids` has the first agents of a context only: if it is full,
-- any agent with "off" counts.
SELECT c.models = 'off' OR EXISTS (
    SELECT FROM context.context_setting s
    WHERE s.tenant_id = c.tenant_id AND s.models = 'off' AND (
        s.subject IN ('tenant', 'app ' || c.app_id)
        OR s.subject = ANY (SELECT 'agent ' || a FROM unnest(c.agent_ids) a)
        OR (cardinality(c.agent_ids) >= %(agents_max)s AND s.subject LIKE 'agent %%')
    )
) AS models_are_off
FROM context.context c
WHERE c.tenant_id = %(tenant_id)s AND c.context_id = %(context_id)s AND c.deleted_at IS NULL;

-- learning
-- No row if the caller does not see the context. OFF anywhere applies, else the narrowest setting, else the service's. If
-- agents of a context have different settings, rules apply, which send no text to a model.
SELECT CASE
    WHEN c.learning = 'off' OR 'off' = ANY (applying.modes) THEN 'off'
    WHEN c.learning <> '' THEN c.learning
    ELSE coalesce(applying.modes[1], %(learning_default)s)
END AS learning
FROM context.context c
    CROSS JOIN LATERAL (
        SELECT array_agg(
            s.learning ORDER BY s.subject LIKE 'agent %%' DESC, s.subject LIKE 'app %%' DESC, s.learning DESC
        ) AS modes
        FROM context.context_setting s
        WHERE s.tenant_id = c.tenant_id AND s.learning <> '' AND (
            s.subject IN ('tenant', 'app ' || c.app_id)
            OR s.subject = ANY (SELECT 'agent ' || a FROM unnest(c.agent_ids) a)
            OR (cardinality(c.agent_ids) >= %(agents_max)s AND s.subject LIKE 'agent %%')
        )
    ) applying
WHERE c.tenant_id = %(tenant_id)s AND c.context_id = %(context_id)s AND c.deleted_at IS NULL;
