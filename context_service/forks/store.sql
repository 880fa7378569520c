-- fork
number, context_id, window_id, fork_context_id, fork_window_id, created_at, ended_at, merged_seq, merged_id,
merged_tokens, is_whole

-- next
-- Of a context whose header is locked.
SELECT coalesce(max(number), 0) + 1 AS number, (
    SELECT count(*) FROM context.window_fork
    WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND ended_at IS NULL
) AS awaited
FROM context.window_fork WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s;

-- add
INSERT INTO context.window_fork (
    tenant_id, context_id, window_id, ancestors, number, fork_context_id, fork_window_id, owner_user_id, app_id,
    agent_bundle_id
)
SELECT tenant_id, context_id, window_id, ancestors, %(number)s, %(fork_context_id)s, %(fork_window_id)s,
    owner_user_id, app_id, agent_bundle_id
FROM context.context_window
WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND window_id = %(window_id)s;

-- read
SELECT {{fork}} FROM context.window_fork WHERE tenant_id = %s AND context_id = %s AND number = %s;

-- lock
{{read}} FOR UPDATE;

-- of_context
SELECT {{fork}} FROM context.window_fork WHERE tenant_id = %s AND context_id = %s AND fork_context_id = %s;

-- list
SELECT {{fork}} FROM context.window_fork
WHERE tenant_id = %s AND context_id = %s AND window_id = %s
ORDER BY number DESC
LIMIT {{listed_max}};

-- merged
UPDATE context.window_fork
SET ended_at = now(), merged_seq = %(seq)s, merged_id = %(message_id)s, merged_tokens = %(tokens)s,
    is_whole = %(is_whole)s
WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND number = %(number)s
RETURNING ended_at;

-- newest
-- Read the entries that hold: all entries of the sections that every pack shows whole, and the newest few of each other
-- section. A long log has many of the latter, and most of them are never shown.
SELECT number, seq, section, key, text, value, ref, speaker FROM context.window_entry
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND ended_at IS NULL AND section = ANY (%(whole)s::text[])
UNION ALL
SELECT number, seq, section, key, text, value, ref, speaker
FROM (
    SELECT e.*, row_number() OVER (PARTITION BY e.section ORDER BY e.number DESC) AS place
    FROM (
        SELECT number, seq, section, key, text, value, ref, speaker FROM context.window_entry
        WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND ended_at IS NULL
        ORDER BY number DESC
        LIMIT {{looked_at}}
    ) e
) e JOIN unnest(%(sections)s::text[], %(counts)s::integer[]) s (section, most) USING (section)
WHERE place <= most
ORDER BY number;

-- run_of
-- The window with which a run began: the one that is forked, or that with which its own began.
SELECT coalesce(run_context_id, context_id) AS context_id, coalesce(run_window_id, window_id) AS window_id
FROM context.context_window WHERE tenant_id = %s AND context_id = %s AND window_id = %s;

-- inherit
-- The state text at the front of the pack tells the model about all of them.
WITH w AS (
    UPDATE context.context_window
    SET entry_count = %(count)s, state_text = %(state_text)s, state_pieces = %(state_pieces)s,
        state_tokens = %(state_tokens)s, pins_pieces = %(pins_pieces)s, pins_tokens = %(pins_tokens)s,
        run_context_id = %(run_context_id)s, run_window_id = %(run_window_id)s
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
    RETURNING tenant_id, context_id, window_id, ancestors, owner_user_id, app_id, agent_bundle_id
)
INSERT INTO context.window_entry (
    tenant_id, context_id, window_id, ancestors, number, seq, section, key, text, value, ref, speaker, source, is_told,
    owner_user_id, app_id, agent_bundle_id
)
SELECT w.tenant_id, w.context_id, w.window_id, w.ancestors, e.n - 1, 0, e.section, e.key, e.text, e.value, '',
    e.speaker, 'caller', true, w.owner_user_id, w.app_id, w.agent_bundle_id
FROM w, unnest(
    %(sections)s::text[], %(keys)s::text[], %(texts)s::text[], %(values)s::text[], %(speakers)s::text[]
) WITH ORDINALITY AS e (section, key, text, value, speaker, n);
