-- rows
SELECT r.seq, r.part, r.record_id, coalesce(m.session, a.place) AS session,
    coalesce(m.said_at, a.created_at) AS said_at, coalesce(m.role, '{{artifact_role}}') AS role,
    coalesce(m.name, '') AS name, coalesce(m.task_id, a.task_id) AS task_id, p.ordinal, p.text,
    c.ancestors, c.owner_user_id, c.agent_bundle_id, c.app_id
FROM (
    SELECT tenant_id, context_id, ancestors, owner_user_id, agent_bundle_id, app_id FROM context.context
    WHERE tenant_id = %(tenant_id)s AND context_id = %(scope_id)s AND deleted_at IS NULL
) c
LEFT JOIN (
    SELECT r.seq, r.part, r.record_id
    FROM context.message_record r
    WHERE r.tenant_id = %(tenant_id)s AND r.context_id = %(scope_id)s AND r.seq IN (
        SELECT DISTINCT seq FROM context.message_record
        WHERE tenant_id = %(tenant_id)s AND context_id = %(scope_id)s AND seq > %(after)s
        ORDER BY seq
        LIMIT %(count)s
    )
) r ON true
LEFT JOIN context.message m
    ON m.tenant_id = c.tenant_id AND m.context_id = c.context_id AND m.seq = r.seq AND m.retracted_at IS NULL
LEFT JOIN context.artifact a
    ON a.tenant_id = c.tenant_id AND a.context_id = c.context_id AND a.place = r.seq AND a.is_newest
LEFT JOIN context.passage p
    ON p.tenant_id = c.tenant_id AND p.scope_id = c.context_id AND p.scope_kind = %(scope_kind)s
        AND p.seq = coalesce(m.seq, a.place)
        AND p.kind = %(kind)s AND p.ordinal / {{ordinals_of_part}} = r.part AND p.source_id = r.record_id
ORDER BY r.seq, p.ordinal;
