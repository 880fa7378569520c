-- marks
SELECT w.window_id AS watched_id, w.epoch, w.entry_count, w.reached_seq, w.updated_at
FROM context.context_window w CROSS JOIN LATERAL (
    SELECT FROM context.context
    WHERE tenant_id = w.tenant_id AND context_id = w.context_id AND {{log.alive}}
    LIMIT 1  -- by its key: planned while there are few, a join would go through all of the tenant for ever
) c
WHERE w.tenant_id = %s AND w.window_id = ANY (%s);
