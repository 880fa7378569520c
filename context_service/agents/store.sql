-- seen
-- The callers that may name an agent: administrators, the agent itself, the listed callers, and without a list all but
-- other agents. Each statement has this condition, so that an agent that may not be named looks like one that does not
-- exist, also in its cost.
(
    %(is_admin)s OR t.is_template
    OR CASE WHEN %(by_agent)s <> '' THEN
        t.agent_id = %(by_agent)s OR coalesce(t.callers -> 'agent_ids' ? %(by_agent)s, false)
    ELSE
        t.callers IS NULL OR t.callers -> 'user_ids' ? %(by_user)s OR t.callers -> 'subjects' ? %(by_subject)s
    END
)

-- template_body
(
    SELECT u.body FROM context.agent u
    WHERE u.tenant_id = %(tenant_id)s AND u.is_template AND u.agent_id = t.template_id
) AS template_body

-- template
-- A template that an agent has or is getting stays: the put of the agent and the delete of its template take turns.
SELECT FROM context.agent WHERE tenant_id = %s AND is_template AND agent_id = %s FOR UPDATE;

-- in_use
SELECT EXISTS (SELECT FROM context.agent WHERE tenant_id = %s AND template_id = %s) AS is_in_use;
