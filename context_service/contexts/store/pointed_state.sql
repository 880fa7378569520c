-- owed_from
SELECT context_id, min(seq) AS seq FROM context.message_record
WHERE tenant_id = %(tenant_id)s AND context_id = ANY (%(context_ids)s) AND state = 'PENDING'
GROUP BY context_id;

-- state
-- The condition matches the partial index of rows that are not indexed yet.
SELECT greatest(r.seq, 0) AS seq, a.task_id, coalesce(a.artifact_id, '') AS artifact_id, r.part, r.record_id, r.state,
    r.reason, r.detail, r.created_at
FROM context.message_record r
    LEFT JOIN context.artifact a ON a.tenant_id = r.tenant_id AND a.context_id = r.context_id AND a.place = r.seq
WHERE r.tenant_id = %(tenant_id)s AND r.context_id = %(context_id)s AND r.seq <= %(seq_to)s
    AND r.state IN ('PENDING', 'FAILED') AND r.state <> 'INDEXED' AND r.record_id IS NOT NULL
ORDER BY r.created_at DESC, r.seq DESC, r.part DESC;

-- without_text
SELECT count(*) AS records FROM context.message_record
WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND seq <= %(seq_to)s AND state = 'NO_TEXT'
    AND state <> 'INDEXED' AND record_id IS NOT NULL;
