-- add
-- Write everything or nothing, in one round trip. If another call has written to the window since it was read, write
-- nothing. The row of the window is the lock: a twin of this call waits here, and then finds the window changed.
WITH w AS (
    UPDATE context.context_window
    SET block_count = block_count + %(blocks)s, step_count = step_count + %(steps_added)s,
        reached_seq = %(reached_seq)s, entry_count = entry_count + %(entries)s, updated_at = now(),
        packed_at = CASE WHEN %(packed_seq)s::bigint IS NULL THEN packed_at ELSE now() END,
        packed_seq = coalesce(%(packed_seq)s::bigint, packed_seq),
        speakers = coalesce(%(window_speakers)s::text, speakers)
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND closed_at IS NULL
        AND (epoch, block_count, reached_seq, retracted_count, entry_count) = (
            %(epoch)s, %(block_count)s, %(reached_before)s, %(retracted_count)s, %(entry_count)s
        )
    RETURNING tenant_id, context_id, window_id, ancestors, owner_user_id, app_id, agent_bundle_id, checkpoint_count
), blocks AS (
    INSERT INTO context.window_block (
        tenant_id, context_id, window_id, ancestors, number, tokens, seq_from, seq_to, owner_user_id, app_id,
        agent_bundle_id, pieces, renderer, step, kind, is_error, masked, masked_tokens, units, names, tools, refs,
        later_pieces, later_tokens, later_role, speaker, said, files
    )
    SELECT w.tenant_id, w.context_id, w.window_id, w.ancestors, %(block_count)s + b.n - 1, b.tokens, b.seq_from,
        b.seq_to, w.owner_user_id, w.app_id, w.agent_bundle_id, b.pieces, %(renderer)s, b.step, b.kind, b.is_error,
        b.masked, b.masked_tokens, b.units, b.names, b.tools, b.refs, b.later_pieces, b.later_tokens, b.later_role,
        b.speaker, b.said, b.files
    FROM w, unnest(
        %(tokens)s::integer[], %(seqs_from)s::bigint[], %(seqs_to)s::bigint[], %(pieces)s::text[],
        %(steps)s::integer[], %(kinds)s::text[], %(errors)s::boolean[], %(masked)s::text[],
        %(masked_tokens)s::integer[], %(units)s::text[], %(names)s::text[], %(tools)s::text[],
        %(block_refs)s::text[], %(later_pieces)s::text[], %(later_tokens)s::integer[], %(later_roles)s::text[],
        %(block_speakers)s::text[], %(said)s::text[], %(files)s::text[]
    ) WITH ORDINALITY AS b (
        tokens, seq_from, seq_to, pieces, step, kind, is_error, masked, masked_tokens, units, names, tools, refs,
        later_pieces, later_tokens, later_role, speaker, said, files, n
    )
), ended AS (
    UPDATE context.window_entry e SET ended_at = now(), ended_checkpoint = w.checkpoint_count, ended_seq = (
        SELECT u.seq FROM unnest(%(ended)s::bigint[], %(ended_seqs)s::bigint[]) u (number, seq)
        WHERE u.number = e.number
    )
    FROM w
    WHERE e.tenant_id = %(tenant_id)s AND e.window_id = %(window_id)s AND e.number = ANY (%(ended)s::bigint[])
        AND e.window_id = w.window_id
), entries AS (
    INSERT INTO context.window_entry (
        tenant_id, context_id, window_id, ancestors, number, seq, section, key, text, value, ref, speaker, source,
        is_told, ended_at, ended_seq, owner_user_id, app_id, agent_bundle_id
    )
    SELECT w.tenant_id, w.context_id, w.window_id, w.ancestors, %(entry_count)s + e.n - 1, e.seq, e.section, e.key,
        e.text, e.value, e.ref, e.speaker, %(source)s, %(source)s <> 'caller' OR e.section = 'pin',
        CASE WHEN e.ended_seq IS NOT NULL THEN now() END, e.ended_seq, w.owner_user_id, w.app_id, w.agent_bundle_id
    FROM w, unnest(
        %(entry_seqs)s::bigint[], %(sections)s::text[], %(keys)s::text[], %(texts)s::text[], %(values)s::text[],
        %(refs)s::text[], %(speakers)s::text[], %(at_once)s::bigint[]
    ) WITH ORDINALITY AS e (seq, section, key, text, value, ref, speaker, ended_seq, n)
)
SELECT window_id FROM w;

-- entry
number, seq, section, key, text, value, ref, speaker, source, created_at

-- held_of
-- What an entry may take the place of, answer or take back: values and files of its key; of sections without keys, and
-- of values that a message may contest, the newest.
SELECT {{entry}} FROM context.window_entry
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND ended_at IS NULL AND key <> ''
    AND (section, key) IN (SELECT * FROM unnest(%(sections)s::text[], %(keys)s::text[]))
UNION
SELECT newest.* FROM unnest(%(whole)s::text[]) AS of (section) CROSS JOIN LATERAL (
    SELECT {{entry}} FROM context.window_entry e
    WHERE e.tenant_id = %(tenant_id)s AND e.window_id = %(window_id)s AND e.ended_at IS NULL
        AND e.section = of.section AND e.key = ''
    ORDER BY number DESC LIMIT {{held_of_max}}
) newest
UNION
SELECT newest.* FROM unnest(%(named)s::text[]) AS of (section) CROSS JOIN LATERAL (
    SELECT {{entry}} FROM context.window_entry e
    WHERE e.tenant_id = %(tenant_id)s AND e.window_id = %(window_id)s AND e.ended_at IS NULL
        AND e.section = of.section AND e.key <> ''
    ORDER BY number DESC LIMIT {{held_of_max}}
) newest;

-- held
-- A rule stays, also if thousands of files and errors come after it.
SELECT {{entry}} FROM (
    SELECT {{entry}} FROM context.window_entry
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND ended_at IS NULL AND source <> 'caller'
        AND section = ANY (%(whole)s::text[])
    ORDER BY number DESC LIMIT {{whole_max}}
) whole
UNION ALL
SELECT {{entry}} FROM (
    SELECT {{entry}} FROM context.window_entry
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND ended_at IS NULL AND source <> 'caller'
        AND section <> ALL (%(whole)s::text[])
    ORDER BY number DESC LIMIT {{held_max}}
) newest
UNION ALL
SELECT {{entry}} FROM context.window_entry
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND ended_at IS NULL AND source = 'caller'
ORDER BY number;

-- held_from
SELECT {{entry}} FROM context.window_entry
WHERE tenant_id = %s AND window_id = %s AND ended_at IS NULL AND number >= %s AND number < %s
ORDER BY number
LIMIT %s;

-- held_in
SELECT {{entry}} FROM context.window_entry
WHERE tenant_id = %s AND window_id = %s AND ended_at IS NULL AND section = ANY (%s)
ORDER BY number;

-- ended_of
-- Rules, values and goals of some messages that hold no longer.
SELECT {{entry}}, ended_seq FROM context.window_entry
WHERE tenant_id = %s AND window_id = %s AND ended_at IS NOT NULL AND source <> 'caller'
    AND section IN ('goal', 'constraint', 'value')
    AND seq = ANY (%s)
ORDER BY number DESC LIMIT {{ended_of_max}};

-- now
SELECT {{entry}} FROM context.window_entry
WHERE tenant_id = %s AND window_id = %s AND ended_at IS NULL
    AND (section = 'goal' OR section IN ('value', 'contested') AND key = ANY (%s));

-- renew
-- The prefix breaks: later requests may show the blocks in another form. `tokens` are those of the form that is shown.
WITH w AS (
    UPDATE context.context_window w SET broken_seq = c.last_seq
    FROM context.context c
    WHERE c.tenant_id = %(tenant_id)s AND c.context_id = %(context_id)s
        AND w.tenant_id = %(tenant_id)s AND w.window_id = %(window_id)s
)
UPDATE context.window_block
SET pieces = later_pieces, later_pieces = CASE WHEN later_role <> '' THEN pieces END,
    later_tokens = CASE WHEN later_role <> '' THEN CASE WHEN is_masked THEN masked_tokens ELSE tokens END END,
    tokens = CASE WHEN is_masked THEN tokens ELSE later_tokens END,
    masked_tokens = CASE WHEN is_masked THEN later_tokens ELSE masked_tokens END,
    renewed_epoch = %(epoch)s
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND later_pieces IS NOT NULL AND renewed_epoch IS NULL
    AND later_role = ANY (%(roles)s::text[]);

-- change_head
UPDATE context.context_window
SET epoch = epoch + 1, system_prompt = %(system_prompt)s, tools = %(tools)s::json, goal = %(goal)s,
    head_tokens = %(head_tokens)s, prepared = NULL, updated_at = now()
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s;

-- change_pins
UPDATE context.context_window
SET epoch = epoch + 1, pins_pieces = %(pieces)s, pins_tokens = %(tokens)s, prepared = NULL, updated_at = now()
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s;

-- end_entries
UPDATE context.window_entry e SET ended_at = now(), ended_seq = 0, ended_checkpoint = w.checkpoint_count
FROM context.context_window w
WHERE e.tenant_id = %s AND e.window_id = %s AND e.number = ANY (%s)
    AND w.tenant_id = e.tenant_id AND w.window_id = e.window_id;

-- has_untold
UPDATE context.context_window SET has_untold = true WHERE tenant_id = %s AND window_id = %s;

-- count_said
SELECT count(*) AS held FROM context.window_entry
WHERE tenant_id = %s AND window_id = %s AND ended_at IS NULL AND source = 'caller' AND section <> 'pin';

-- untold
SELECT {{entry}} FROM context.window_entry
WHERE tenant_id = %s AND window_id = %s AND ended_at IS NULL AND source = 'caller' AND NOT is_told
ORDER BY number;

-- told
WITH w AS (
    UPDATE context.context_window SET has_untold = false WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
    RETURNING checkpoint_count
)
UPDATE context.window_entry SET is_told = true, told_checkpoint = w.checkpoint_count
FROM w
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND NOT is_told;

-- seen
-- One statement is one look: the first row says which view it is.
(SELECT 'window' AS kind, epoch AS level, block_count AS step_from, 0 AS step_to, 0 AS seq_from, 0 AS seq_to,
    0 AS tokens, '' AS pieces, 0 AS number, false AS is_error, '' AS refs,
    '' AS method, '' AS verdict, '' AS files, 0 AS zone
FROM context.context_window
WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND window_id = %(window_id)s)
UNION ALL
(SELECT CASE WHEN level <= {{last_words}} THEN 'last_words' WHEN level = {{conversation}} THEN 'conversation'
        ELSE 'summary' END,
    level, step_from, step_to, seq_from, seq_to, tokens, pieces, 0, false, '', method, verdict, '',
    CASE level WHEN {{conversation}} THEN 1 ELSE 2 END
FROM context.window_summary
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND epoch_to IS NULL AND %(number_from)s = 0)
UNION ALL
(SELECT kind, is_masked::integer, step, step, seq_from, seq_to, tokens,
    CASE WHEN is_masked THEN coalesce(masked, pieces) ELSE pieces END, number, is_error, refs, '', '', files, 3
FROM context.window_block
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND epoch_to IS NULL
    AND number >= %(number_from)s::integer)
ORDER BY zone, number, step_from, level

-- tokens
-- The tokens of the shown parts, without head and state.
SELECT coalesce(sum(tokens), 0)::bigint AS tokens
FROM (
    SELECT tokens FROM context.window_block
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND epoch_to IS NULL
    UNION ALL
    SELECT tokens FROM context.window_summary
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND epoch_to IS NULL
) seen;

-- sizes
SELECT number, step, kind, seq_from, seq_to, tokens,
    CASE WHEN is_masked THEN tokens ELSE coalesce(masked_tokens, tokens) END AS masked_tokens, is_masked, is_error,
    '[]' AS units, '[]' AS names, tools, speaker, files, said
FROM context.window_block
WHERE tenant_id = %s AND window_id = %s AND epoch_to IS NULL
ORDER BY number;

-- summaries
SELECT level, step_from, step_to, seq_from, seq_to, tokens, text, kept, method, verdict
FROM context.window_summary
WHERE tenant_id = %s AND window_id = %s AND epoch_to IS NULL
ORDER BY step_from;

-- state_text
SELECT state_text FROM context.context_window WHERE tenant_id = %s AND window_id = %s;

-- mask
-- `tokens` are those of the form that is shown. Both forms stay in the row, so unmasking writes neither again.
UPDATE context.window_block
SET is_masked = true, masked_epoch = %s, tokens = masked_tokens, masked_tokens = tokens
WHERE tenant_id = %s AND window_id = %s AND number = ANY (%s);

-- remove
-- They stay, out of sight, as long as a checkpoint shows them.
UPDATE context.window_block SET epoch_to = %s
WHERE tenant_id = %s AND window_id = %s AND number = ANY (%s)
RETURNING kind, step, seq_from, names, tools;

-- cut
-- Show the newest step in a new block with fewer tokens. The block before stays, out of sight, as long as a checkpoint
-- shows it: a rollback deletes the new block and shows the old one again.
WITH w AS (
    UPDATE context.context_window SET block_count = block_count + 1
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
    RETURNING block_count - 1 AS number
), whole AS (
    UPDATE context.window_block SET epoch_to = %(epoch)s
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND number = %(number)s
    RETURNING {{cut_columns}}
)
INSERT INTO context.window_block ({{cut_columns}}, number, tokens, pieces, renderer)
SELECT {{cut_columns}}, w.number, %(tokens)s, %(pieces)s, %(renderer)s
FROM whole, w;

-- cut_columns
tenant_id, context_id, window_id, ancestors, seq_from, seq_to, owner_user_id, app_id, agent_bundle_id, step, kind,
is_error, masked, masked_tokens, units, names, tools, refs, speaker, said, files

-- tallies
SELECT tallies FROM context.context_window WHERE tenant_id = %s AND window_id = %s;

-- keep_tallies
UPDATE context.context_window SET tallies = %s WHERE tenant_id = %s AND window_id = %s;

-- counted
-- One look at both: of the window, at step 0, what it keeps of steps that no block stands for.
SELECT 'window' AS kind, 0 AS step, 0 AS seq_from, tallies AS names, '' AS tools FROM context.context_window
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
UNION ALL
SELECT kind, step, seq_from, names, tools FROM context.window_block
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND epoch_to IS NULL AND kind = 'step';

-- at_hand
-- The last steps, and the open parts of the goal.
SELECT '' AS text, names FROM (
    SELECT names FROM context.window_block
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND epoch_to IS NULL AND kind = 'step'
    ORDER BY number DESC LIMIT %(count)s
) steps
UNION ALL
SELECT text, '[]' FROM (
    SELECT text FROM context.window_entry
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND ended_at IS NULL AND section = 'sub_goal'
        AND value = 'open'
    ORDER BY number DESC LIMIT %(count)s
) goals;

-- out_of_view
UPDATE context.window_summary SET epoch_to = %s
WHERE tenant_id = %s AND window_id = %s AND epoch_to IS NULL AND (step_from, level) IN (
    SELECT * FROM unnest(%s::integer[], %s::smallint[])
);

-- add_summaries
INSERT INTO context.window_summary (
    tenant_id, context_id, window_id, ancestors, level, step_from, step_to, seq_from, seq_to, tokens, epoch_from,
    owner_user_id, app_id, agent_bundle_id, text, pieces, kept, method, verdict
)
SELECT w.tenant_id, w.context_id, w.window_id, w.ancestors, s.level, s.step_from, s.step_to, s.seq_from, s.seq_to,
    s.tokens, %(epoch)s::integer, w.owner_user_id, w.app_id, w.agent_bundle_id, s.text, s.pieces, s.kept,
    s.method, s.verdict
FROM context.context_window w, unnest(
    %(levels)s::smallint[], %(steps_from)s::integer[], %(steps_to)s::integer[], %(seqs_from)s::bigint[],
    %(seqs_to)s::bigint[], %(tokens)s::integer[], %(texts)s::text[], %(pieces)s::text[], %(kept)s::text[],
    %(methods)s::text[], %(verdicts)s::text[]
) AS s (level, step_from, step_to, seq_from, seq_to, tokens, text, pieces, kept, method, verdict)
WHERE w.tenant_id = %(tenant_id)s AND w.window_id = %(window_id)s;

-- folded
UPDATE context.context_window
SET epoch = epoch + 1, folded_step = step_count, first_number = first_number + %(merged)s,
    left_out_tokens = left_out_tokens + %(merged_tokens)s, state_text = %(state_text)s,
    state_pieces = %(state_pieces)s, state_tokens = %(state_tokens)s, token_factor = %(token_factor)s,
    prepared = NULL, updated_at = now()
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s;

-- prepare
-- Store the prepared fold only if the window is still the one that it was made for; appended messages do not matter.
UPDATE context.context_window SET prepared = %(prepared)s, prepared_epoch = epoch
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND closed_at IS NULL
    AND (epoch, retracted_count, config::text) = (%(epoch)s, %(retracted_count)s, %(config)s)
RETURNING window_id;

-- prepare_written
-- Only if the prepared fold is still the same.
UPDATE context.context_window
SET prepared = CASE WHEN prepared = %(before)s AND prepared_epoch = epoch THEN %(prepared)s ELSE prepared END,
    model_failures = %(failures)s, extractive_to = %(extractive_to)s
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND closed_at IS NULL
RETURNING prepared = %(prepared)s AS is_written;

-- failures
SELECT model_failures, extractive_to FROM context.context_window WHERE tenant_id = %s AND window_id = %s;

-- prepared
SELECT prepared, prepared_epoch FROM context.context_window WHERE tenant_id = %s AND window_id = %s;

-- add_receipt
INSERT INTO context.window_fold (
    tenant_id, context_id, window_id, ancestors, epoch, reason, last_seq, step, tokens_before, tokens_after,
    owner_user_id, app_id, agent_bundle_id, receipt
)
SELECT tenant_id, context_id, window_id, ancestors, epoch, %(reason)s, %(last_seq)s, %(step)s, %(tokens_before)s,
    %(tokens_after)s, owner_user_id, app_id, agent_bundle_id, %(receipt)s::json
FROM context.context_window
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s;

-- receipts
SELECT epoch, created_at, reason, last_seq, step, tokens_before, tokens_after, receipt::text AS receipt
FROM context.window_fold
WHERE tenant_id = %s AND window_id = %s AND (%s::integer IS NULL OR epoch < %s)
ORDER BY epoch DESC
LIMIT %s;

-- receipts_from
SELECT epoch, created_at, reason, last_seq, step, tokens_before, tokens_after, receipt::text AS receipt
FROM context.window_fold
WHERE tenant_id = %s AND window_id = %s AND epoch > %s AND epoch <= %s
ORDER BY epoch
LIMIT %s;

-- forget_pins
-- Pins of a retracted message are deleted, also those that were unpinned.
DELETE FROM context.window_entry e
WHERE e.tenant_id = %(tenant_id)s AND e.window_id = %(window_id)s AND e.section = 'pin' AND e.ref <> ''
    AND NOT EXISTS (
        SELECT FROM context.message m
        WHERE m.tenant_id = e.tenant_id AND m.context_id = %(context_id)s AND m.seq = e.seq AND m.retracted_at IS NULL
    );

-- begin_anew
-- Delete everything that can be read from the log again. Pins, entries of callers and the messages that a fork inherited
-- (of epoch 0) stay. Checkpoints go, too: they may contain words of retracted messages.
WITH blocks AS (
    DELETE FROM context.window_block WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
), checkpoints AS (
    DELETE FROM context.window_checkpoint WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
), summaries AS (
    DELETE FROM context.window_summary
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND epoch_from > 0
), inherited AS (
    UPDATE context.window_summary SET epoch_to = NULL
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND epoch_from = 0
), entries AS (
    DELETE FROM context.window_entry
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND source <> 'caller'
), said AS (
    -- What the log took the place of holds until it does so again; but not if its caller said more of the same.
    UPDATE context.window_entry e SET ended_at = NULL, ended_seq = NULL, is_told = e.section = 'removed'
    WHERE e.tenant_id = %(tenant_id)s AND e.window_id = %(window_id)s AND e.source = 'caller' AND e.section <> 'pin'
        AND (e.ended_at IS NULL OR e.ended_seq > 0) AND NOT EXISTS (
            SELECT FROM context.window_entry l
            WHERE l.tenant_id = e.tenant_id AND l.window_id = e.window_id AND l.source = 'caller'
                AND l.number > e.number AND (
                    (l.section, l.key) = (e.section, e.key)
                    OR (l.section = 'removed' AND l.key IN (
                        e.section || ' ' || e.key, e.section || ' of a caller: ' || e.key
                    ))
                )
        )
    RETURNING e.is_told
)
UPDATE context.context_window
SET epoch = epoch + 1, reached_seq = 0, first_number = 0, block_count = 0, step_count = 0, folded_step = 0,
    left_out_tokens = 0, state_text = '', state_pieces = '[]', state_tokens = 0, tallies = DEFAULT, prepared = NULL,
    pins_pieces = %(pieces)s, pins_tokens = %(tokens)s, retracted_count = %(retracted_count)s, checkpoint_step = 0,
    has_untold = EXISTS (SELECT FROM said WHERE NOT is_told), updated_at = now()
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s;

-- retracted_since
-- Read what was retracted since the window was last read: the newest retractions, as many as were added.
SELECT c.retracted, r.count, r.seq
FROM (
    SELECT last_seq - message_count AS retracted
    FROM context.context WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s
) c CROSS JOIN LATERAL (
    SELECT count(*) AS count, min(newest.seq) AS seq
    FROM (
        SELECT m.seq FROM context.message m
        WHERE m.tenant_id = %(tenant_id)s AND m.context_id = %(context_id)s AND m.retracted_change IS NOT NULL
        ORDER BY m.retracted_change DESC
        LIMIT greatest(c.retracted - %(known)s, 0)
    ) newest
) r;

-- steps
SELECT number, step, seq_from, seq_to FROM context.window_block
WHERE tenant_id = %s AND window_id = %s AND epoch_to IS NULL AND kind = 'step'
ORDER BY number;

-- folded_to
-- Entries that ended before `ended_seq` existed: it is unknown how long they held.
SELECT coalesce((
    SELECT max(seq_to) FROM context.window_summary
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND epoch_to IS NULL
), 0) AS seq, EXISTS (
    SELECT FROM context.window_entry
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND ended_at IS NOT NULL AND ended_seq IS NULL
) AS is_unknown;

-- rewind
WITH blocks AS (
    DELETE FROM context.window_block
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND (number >= %(number)s OR epoch_to IS NOT NULL)
), checkpoints AS (
    DELETE FROM context.window_checkpoint WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
), entries AS (
    DELETE FROM context.window_entry
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND source <> 'caller' AND seq >= %(seq)s
), held AS (
    UPDATE context.window_entry SET ended_at = NULL, ended_seq = NULL
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND ended_seq >= %(seq)s
        AND source <> 'caller' AND seq < %(seq)s
), said AS (
    -- What the log took the place of holds until it does so again; but not if its caller said more of the same.
    UPDATE context.window_entry e SET ended_at = NULL, ended_seq = NULL, is_told = e.section = 'removed'
    WHERE e.tenant_id = %(tenant_id)s AND e.window_id = %(window_id)s AND e.source = 'caller' AND e.section <> 'pin'
        AND (e.ended_at IS NULL OR e.ended_seq >= %(seq)s) AND NOT EXISTS (
            SELECT FROM context.window_entry l
            WHERE l.tenant_id = e.tenant_id AND l.window_id = e.window_id AND l.source = 'caller'
                AND l.number > e.number AND (
                    (l.section, l.key) = (e.section, e.key)
                    OR (l.section = 'removed' AND l.key IN (
                        e.section || ' ' || e.key, e.section || ' of a caller: ' || e.key
                    ))
                )
        )
    RETURNING e.is_told
)
UPDATE context.context_window
SET epoch = epoch + 1, reached_seq = %(seq)s - 1, block_count = %(number)s, step_count = %(step)s - 1,
    checkpoint_step = least(checkpoint_step, %(step)s - 1),
    pins_pieces = %(pieces)s, pins_tokens = %(tokens)s, retracted_count = %(retracted_count)s, prepared = NULL,
    has_untold = EXISTS (SELECT FROM said WHERE NOT is_told), updated_at = now()
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s;
