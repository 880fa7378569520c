-- marks
SELECT context_id AS watched_id, last_seq, last_change, header_change, closed_at IS NOT NULL AS is_closed
FROM context.context
WHERE tenant_id = %s AND context_id = ANY (%s) AND {{log.alive}};
