-- owe
-- Records that were purged since they were checked are left out. Others are locked until this is written, so that a purge
-- finds the messages that point at them.
INSERT INTO context.message_record (
    tenant_id, context_id, ancestors, seq, part, record_id, entity_node_id, owner_user_id, app_id, agent_bundle_id
)
SELECT %(tenant_id)s, %(context_id)s, %(ancestors)s::uuid[], said.seq, said.part, r.id, r.entity_node_id,
    %(owner_user_id)s, %(app_id)s, %(agent_bundle_id)s
FROM unnest(%(seqs)s::bigint[], %(parts)s::integer[], %(record_ids)s::uuid[]) said (seq, part, record_id)
    JOIN context.wm_record r ON r.tenant_id = %(tenant_id)s AND r.id = said.record_id
FOR KEY SHARE OF r;

-- count_queued
-- Rows of purged records are not counted: they come from a deletion, which is never refused.
SELECT count(*) AS queued FROM (
    SELECT FROM context.message_record
    WHERE tenant_id = %(tenant_id)s AND state = 'PENDING' AND record_id IS NOT NULL
    LIMIT %(count_max)s
) q;

-- claim
WITH due AS (
    SELECT tenant_id, context_id, seq, part FROM context.message_record
    WHERE tenant_id = %(tenant_id)s AND (state = 'PENDING' OR record_id IS NULL) AND due_at <= now()
    ORDER BY due_at
    LIMIT 1
    FOR UPDATE SKIP LOCKED
)
UPDATE context.message_record r SET due_at = now() + %(lease)s, attempts = r.attempts + 1
FROM due
WHERE r.tenant_id = due.tenant_id AND r.context_id = due.context_id AND r.seq = due.seq AND r.part = due.part
RETURNING r.context_id, r.seq, r.part, r.record_id, r.attempts, r.passages, r.owner_user_id;

-- hold
SELECT ancestors, owner_user_id, app_id, agent_bundle_id FROM context.context
WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND deleted_at IS NULL
FOR KEY SHARE;

-- ours
tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND seq = %(seq)s AND part = %(part)s

-- lock
SELECT passages FROM context.message_record
WHERE {{ours}} AND record_id IS NOT NULL AND state = 'PENDING'
FOR UPDATE;

-- pointing
-- A message, or below zero an artifact, which is a session of its own.
SELECT role, name, session, said_at, task_id FROM context.message
WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND seq = %(seq)s AND retracted_at IS NULL
UNION ALL
SELECT '{{artifact_role}}', '', place, created_at, task_id FROM context.artifact
WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND place = %(seq)s AND is_newest;

-- go_on
UPDATE context.message_record SET passages = %(passages)s, due_at = now() + %(lease)s WHERE {{ours}};

-- renew
-- One that is due is another worker's by now, or its record was purged.
UPDATE context.message_record SET due_at = now() + %(lease)s
WHERE {{ours}} AND attempts = %(attempts)s AND due_at > now();

-- finish
UPDATE context.message_record SET state = %(state)s, reason = %(reason)s, detail = %(detail)s, due_at = now()
WHERE {{ours}} AND state = 'PENDING';

-- postpone
UPDATE context.message_record SET due_at = now() + %(delay)s, reason = %(reason)s, detail = %(detail)s
WHERE {{ours}} AND state = 'PENDING';

-- forget
DELETE FROM context.message_record WHERE {{ours}};

-- forget_all
DELETE FROM context.message_record
WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND seq = %(seq)s
RETURNING part;
