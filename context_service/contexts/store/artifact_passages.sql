-- rows
-- The header next to each: a context without any gives one row, one that is gone gives none. Versions that were
-- replaced are read, too: they say how far the scope goes.
SELECT a.*, a.place AS seq, c.ancestors, c.owner_user_id, c.agent_bundle_id, c.app_id
FROM (
    SELECT tenant_id, context_id, ancestors, owner_user_id, agent_bundle_id, app_id FROM context.context
    WHERE tenant_id = %(tenant_id)s AND context_id = %(scope_id)s AND deleted_at IS NULL
) c
LEFT JOIN LATERAL (
    SELECT context_id, task_id, artifact_id, version, name, description, is_complete, is_newest, part_count,
        passage_count, tokens, size_bytes, place, created_by, created_at, updated_at, parts::text AS parts,
        metadata::text AS metadata, imported::text AS imported_json
    FROM context.artifact a
    WHERE a.tenant_id = c.tenant_id AND a.context_id = c.context_id AND a.place > %(after)s
    ORDER BY place
    LIMIT %(count)s
) a ON true
ORDER BY a.place;
