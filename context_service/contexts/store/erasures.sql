-- blank_answer
UPDATE context.request SET about_id = NULL, {{erased}}

-- receipt
erasure_id, context_id, created_at, finished_at, message_count, messages_removed, passages_removed,
vectors_removed, external_ids_removed, answers_removed, keys_ended, tasks_removed, artifacts_removed,
windows_removed, window_steps_removed, requested_by

-- standing(which)
-- Contexts for which a condition holds, and on which there is no hold. The condition says how they are locked.
--
-- An update alone would not wait for a transaction that locks the header to make a key of its context.
SELECT tenant_id, context_id, ancestors FROM context.context
WHERE tenant_id = %(tenant_id)s AND deleted_at IS NULL
    AND NOT EXISTS (SELECT FROM context.holds_of(context_id)) AND {{which}}

-- marking(due, erasure_id, more, answers)
-- marks contexts and their descendants as deleted, and returns their receipts.
--
-- Args:
--     due: A query for the contexts.
--     erasure_id: Of the receipts.
--     more: Further common table expressions, which may use `receipt`.
--     answers: The condition of the receipts that it returns.
WITH due AS ({{due}}), below AS ({{log.below(due, deleted_at)}}), marked AS (
    UPDATE context.context c
    SET deleted_at = now(), only_system = NULL, only_id = NULL
    FROM (SELECT tenant_id, context_id FROM due UNION SELECT tenant_id, context_id FROM below) gone
    WHERE c.tenant_id = gone.tenant_id AND c.context_id = gone.context_id AND c.deleted_at IS NULL
    RETURNING c.tenant_id, c.context_id, c.ancestors, c.last_seq, c.owner_user_id, c.app_id, c.agent_bundle_id
), receipt AS (
    INSERT INTO context.erasure (
        tenant_id, erasure_id, context_id, ancestors, message_count, keys_ended, owner_user_id, app_id,
        agent_bundle_id, requested_by
    )
    SELECT tenant_id, {{erasure_id}}, context_id, ancestors, last_seq, access.end_context_keys(context_id),
        owner_user_id, app_id, agent_bundle_id, %(requested_by)s
    FROM marked
    RETURNING {{receipt}}
), unlearned AS (
    -- The worker that learns memories also forgets those that only deleted contexts have taught.
    INSERT INTO context.outbox (tenant_id, id, topic, subject_id, payload)
    SELECT tenant_id, gen_random_uuid(), 'learning', context_id, jsonb_build_object('seq', last_seq)
    FROM marked WHERE owner_user_id <> ''
    ON CONFLICT (tenant_id, topic, subject_id) DO UPDATE SET due_at = now()
){{more}}
SELECT {{receipt}} FROM receipt WHERE {{answers}}

-- this
context_id = %(context_id)s

-- begin_more
, answered AS (
            INSERT INTO context.request (tenant_id, request_id, rpc, fingerprint, answer, subject)
            SELECT %(tenant_id)s, %(request_key)s, %(rpc)s, %(fingerprint)s,
                jsonb_build_object('erasure_id', erasure_id), %(subject)s
            FROM receipt
            WHERE %(request_key)s::uuid IS NOT NULL AND context_id = %(context_id)s
        )

-- begin
{{marking(
    {{standing({{this}} FOR UPDATE)}},
    CASE WHEN {{this}} THEN %(erasure_id)s::uuid ELSE gen_random_uuid() END,
    {{begin_more}},
    {{this}}
)}};

-- held
SELECT h.hold_id FROM context.context c CROSS JOIN LATERAL context.holds_of(c.context_id) h (hold_id)
WHERE c.tenant_id = %(tenant_id)s AND c.context_id = %(context_id)s AND c.deleted_at IS NULL
ORDER BY h.hold_id
LIMIT 20;

-- read_of
SELECT {{receipt}} FROM context.erasure WHERE tenant_id = %s AND context_id = %s;

-- read
SELECT {{receipt}} FROM context.erasure WHERE tenant_id = %s AND erasure_id = %s;

-- mark_expired
{{marking(
    {{standing(expires_at <= now() ORDER BY expires_at LIMIT %(count)s FOR UPDATE SKIP LOCKED)}},
    gen_random_uuid(),
    ,
    true
)}};

-- mark_owned
{{marking(
    {{standing(owner_user_id = %(user_id)s AND owner_user_id <> '' LIMIT %(count)s FOR UPDATE)}},
    gen_random_uuid(),
    ,
    true
)}};

-- mark_below_due
SELECT tenant_id, context_id, ancestors FROM context.erasure
WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s

-- mark_below
-- Contexts that were forked while their ancestor was deleted.
{{marking({{mark_below_due}}, gen_random_uuid(), , true)}};

-- find_below
-- The deepest first, so that a context is removed after all its descendants.
SELECT context_id FROM context.erasure
WHERE tenant_id = %(tenant_id)s AND finished_at IS NULL AND %(context_id)s = ANY (ancestors)
    AND context_id <> %(context_id)s
ORDER BY cardinality(ancestors) DESC, context_id;

-- unfinished
SELECT context_id FROM context.erasure
WHERE tenant_id = %(tenant_id)s AND finished_at IS NULL AND context_id > %(after)s
ORDER BY finished_at, context_id
LIMIT %(count)s;

-- mine
-- The receipt, unless another replica is at it just now. One that was at it when the statement began may be done when
-- this is read: then rows are found that are gone by now, and nothing is removed. So a table is empty when nothing is
-- found.
SELECT tenant_id, context_id, last_seq_removed FROM context.erasure
WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND finished_at IS NULL
FOR UPDATE SKIP LOCKED

-- remove_messages
WITH mine AS ({{mine}}), step AS (
    SELECT max(seq) AS last_seq
    FROM (
        SELECT seq, sum(size_bytes) OVER (ORDER BY seq) AS bytes_upto, row_number() OVER (ORDER BY seq) AS place
        FROM mine CROSS JOIN LATERAL (
            SELECT m.seq, m.size_bytes FROM context.message m
            WHERE m.tenant_id = mine.tenant_id AND m.context_id = mine.context_id AND m.seq > mine.last_seq_removed
            ORDER BY m.seq
            LIMIT %(rows)s
        ) one
    ) counted
    WHERE bytes_upto <= %(bytes)s OR place = 1
), gone AS (
    DELETE FROM context.message m USING mine, step
    WHERE m.tenant_id = mine.tenant_id AND m.context_id = mine.context_id
        AND m.seq > mine.last_seq_removed AND m.seq <= step.last_seq
    RETURNING true
), pointed AS (
    DELETE FROM context.message_record r USING mine, step
    WHERE r.tenant_id = mine.tenant_id AND r.context_id = mine.context_id
        AND r.seq > mine.last_seq_removed AND r.seq <= step.last_seq
)
UPDATE context.erasure e
SET messages_removed = e.messages_removed + (SELECT count(*) FROM gone),
    last_seq_removed = coalesce((SELECT last_seq FROM step), e.last_seq_removed)
FROM mine
WHERE e.tenant_id = mine.tenant_id AND e.context_id = mine.context_id
RETURNING (SELECT last_seq IS NOT NULL FROM step) AS found, (SELECT count(*) FROM gone) AS removed;

-- removing(table, whose, counter, size_bytes, returning, more, remove)
-- Removes the rows of a context from another table, as many as fit a step.
--
-- Args:
--     table: The table.
--     whose: Its column that names the context.
--     counter: The column of the receipt that counts them.
--     size_bytes: Of a row, where rows may be large.
--     returning: Columns of the removed rows that `more` needs.
--     more: Further common table expressions, which may use the removed rows, `gone`.
--     remove: The statement that removes the rows; empty deletes them.
WITH mine AS ({{mine}}), found AS MATERIALIZED (
    SELECT row_at
    FROM (
        SELECT row_at, sum(size_bytes) OVER (ORDER BY row_at) AS bytes_upto,
            row_number() OVER (ORDER BY row_at) AS place
        FROM (
            SELECT t.ctid AS row_at, {{size_bytes}} AS size_bytes
            FROM mine JOIN {{table}} t ON t.tenant_id = mine.tenant_id AND t.{{whose}} = mine.context_id
            WHERE t.{{whose}} IS NOT NULL
            LIMIT %(rows)s
        ) one
    ) counted
    WHERE bytes_upto <= %(bytes)s OR place = 1
), gone AS (
    {{remove}} WHERE ctid = ANY (ARRAY(SELECT row_at FROM found))
    RETURNING {{returning}}
){{more}}
UPDATE context.erasure e SET {{counter}} = e.{{counter}} + (SELECT count(*) FROM gone)
FROM mine
WHERE e.tenant_id = mine.tenant_id AND e.context_id = mine.context_id
RETURNING EXISTS (SELECT FROM found) AS found, (SELECT count(*) FROM gone) AS removed

-- remove_artifacts_more
, pointed AS (
            DELETE FROM context.message_record r USING gone
            WHERE r.tenant_id = gone.tenant_id AND r.context_id = gone.context_id AND r.seq = gone.place
        )

-- remove_artifacts_returning
tenant_id, context_id, place

-- remove_artifacts
{{removing(
    context.artifact,
    context_id,
    artifacts_removed,
    t.size_bytes,
    {{remove_artifacts_returning}},
    {{remove_artifacts_more}},
    DELETE FROM context.artifact
)}};

-- remove_tasks
{{removing(context.task, context_id, tasks_removed, 0, true, , DELETE FROM context.task)}};

-- remove_windows
-- Before the blocks and other rows of the windows, and by id: their writers lock the row of the window, and a row that
-- changed meanwhile has another ctid. After the windows are removed, no more such rows are written.
WITH mine AS ({{mine}}), found AS MATERIALIZED (
    SELECT one.window_id FROM context.context_window one
    WHERE one.tenant_id = %(tenant_id)s AND one.context_id = %(context_id)s
    LIMIT %(rows)s
), gone AS (
    DELETE FROM context.context_window w USING mine
    WHERE w.tenant_id = mine.tenant_id AND w.context_id = mine.context_id
        AND w.window_id IN (SELECT window_id FROM found)
    RETURNING true
)
UPDATE context.erasure e SET windows_removed = e.windows_removed + (SELECT count(*) FROM gone)
FROM mine
WHERE e.tenant_id = mine.tenant_id AND e.context_id = mine.context_id
RETURNING EXISTS (SELECT FROM found) AS found, (SELECT count(*) FROM gone) AS removed;

-- remove_blocks
{{removing(
    context.window_block,
    context_id,
    window_steps_removed,
    pg_column_size(t.pieces),
    true,
    ,
    DELETE FROM context.window_block
)}};

-- remove_summaries
{{removing(
    context.window_summary,
    context_id,
    window_steps_removed,
    pg_column_size(t.kept),
    true,
    ,
    DELETE FROM context.window_summary
)}};

-- remove_entries
{{removing(context.window_entry, context_id, window_steps_removed, 0, true, , DELETE FROM context.window_entry)}};

-- remove_folds
{{removing(
    context.window_fold,
    context_id,
    window_steps_removed,
    pg_column_size(t.receipt),
    true,
    ,
    DELETE FROM context.window_fold
)}};

-- remove_usage
{{removing(context.window_usage, context_id, window_steps_removed, 0, true, , DELETE FROM context.window_usage)}};

-- remove_checkpoints
{{removing(
    context.window_checkpoint,
    context_id,
    window_steps_removed,
    pg_column_size(t.state_pieces) + pg_column_size(t.tallies),
    true,
    ,
    DELETE FROM context.window_checkpoint
)}};

-- remove_forks
{{removing(context.window_fork, context_id, window_steps_removed, 0, true, , DELETE FROM context.window_fork)}};

-- remove_answers
-- A retry of an answered call gets an error that says so, as long as answers are kept.
{{removing(context.request, about_id, answers_removed, 0, true, , {{blank_answer}})}};

-- count_passages
UPDATE context.erasure
SET passages_removed = passages_removed + %(passages)s, vectors_removed = vectors_removed + %(vectors)s
WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s;

-- count_keys
UPDATE context.erasure SET keys_ended = keys_ended + %(ended)s
WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s;

-- finish
WITH mine AS ({{mine}}), names AS (
    DELETE FROM context.context_external_id e USING mine
    WHERE e.tenant_id = mine.tenant_id AND e.context_id = mine.context_id
    RETURNING true
), header AS (
    DELETE FROM context.context c USING mine
    WHERE c.tenant_id = mine.tenant_id AND c.context_id = mine.context_id
), tests AS (
    DELETE FROM context.source_test t USING mine
    WHERE t.tenant_id = mine.tenant_id AND mine.context_id = ANY (t.context_ids)
), awaited AS (
    UPDATE context.window_fork f SET ended_at = coalesce(f.ended_at, now()) FROM mine
    WHERE f.tenant_id = mine.tenant_id AND f.fork_context_id = mine.context_id
)
UPDATE context.erasure e SET finished_at = now(), external_ids_removed = (SELECT count(*) FROM names)
FROM mine
WHERE e.tenant_id = mine.tenant_id AND e.context_id = mine.context_id
RETURNING true AS is_finished;

-- forget_receipts
DELETE FROM context.erasure WHERE tenant_id = %s AND finished_at < now() - %s::interval;

-- remove_answers_about
-- Answers about data of a user that belongs to no context.
{{blank_answer}}
WHERE ctid = ANY (ARRAY(SELECT ctid FROM context.request WHERE tenant_id = %s AND about_id = %s LIMIT %s))
RETURNING request_id;

-- count_unfinished
SELECT count(*) AS unfinished FROM context.erasure
WHERE tenant_id = %(tenant_id)s AND finished_at IS NULL AND owner_user_id = %(user_id)s;

-- unlist
-- Agents belong to the tenant, and list the users that may name them. A list that becomes empty admits no further users:
-- only a list that is NULL admits all. The subject of a token is its user.
WITH unlisted AS (
    UPDATE context.agent
    SET callers = callers || jsonb_build_object(
            'user_ids', (callers -> 'user_ids') - %(user_id)s, 'subjects', (callers -> 'subjects') - %(user_id)s
        )
    WHERE tenant_id = %(tenant_id)s
        AND (callers -> 'user_ids' ? %(user_id)s OR callers -> 'subjects' ? %(user_id)s)
    RETURNING true
)
SELECT count(*) AS unlisted FROM unlisted;

-- count_owned(table)
SELECT count(*) AS owned FROM {{table}} WHERE tenant_id = %(tenant_id)s AND owner_user_id = %(user_id)s;
