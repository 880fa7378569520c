"""The SQL of what a window shows: its blocks, summaries and state, and the account of its folds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

import orjson

from context_service.checkpoints.pure.rewind import Rewound, StepPlace, rewound
from context_service.contexts.room import Log
from context_service.folding.pure.folds import FoldableBlock
from context_service.folding.pure.prepare import Prepared
from context_service.folding.pure.summaries import BY_RULES, SEGMENT, Scored, Summary
from context_service.kernel.rendering import RENDERER, Rendered
from context_service.packing.pure.tallies import StepTally, Tallies, ToolUse, added
from context_service.packing.pure.tallies import loaded as loaded_tallies
from context_service.packing.pure.tallies import stored as stored_tallies
from context_service.packing.pure.task_state import REMOVED, WHOLE, Entry, StateChange, place_of
from context_service.packing.pure.units import Unit
from context_service.windows.store.windows import Window, loaded, stored
from service_runtime.auth import Principal
from service_runtime.copying import copied
from service_runtime.documents import beside_the_loop, check_wanted
from service_runtime.postgres import Row, Tenant, TextArray, Transaction

STEP, RECALLED, NOTE = "step", "recalled", "note"  # kinds of blocks
SUMMARY = "summary"
BY_RULE, BY_MODEL, BY_CALLER = "rule", "model", "caller"  # sources of entries
PIN = "pin"  # the section of what is pinned; its key is the id
# Entries that a state is written of, the newest: of what each pack must have, and of the rest.
_T = TypeVar("_T")

_WHOLE_MAX, _HELD_MAX = 10_000, 5_000
_HELD_OF_MAX = 500  # of a section
_ENDED_OF_MAX = 50  # of what is recalled at once: the newest
_WORTH_BYTES = 30  # of a line that a fold chose from, or did not
_ROW_BYTES = 200  # as long to read as so many bytes to parse
_COUNTING = 8  # times as long as parsing: names are added up
_READING = 2  # times as long: accounts are made of what is parsed
_WRITING = 4  # times as long as parsing: what is stored is written as JSON, and that as JSON
# Sections whose entries have no key, by the section of what may change them.
_CHANGED_BY = {
    "goal": ("goal",),
    "progress": ("progress",),
    "constraint": ("constraint",),
    "lifted": ("constraint",),
    "resolution": ("error",),
    "error": ("error",),
    "answer": ("question",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBlock:
    """A block that is to be written.

    Attributes:
        kind: `STEP`, `RECALLED` or `NOTE`.
        step: Its number as a step, from 1; of the others, that of the step that they stand behind.
        masked: Its pieces, masked, with their tokens; None: a mask is not worth it.
        refs: Of the passages that it recalls.
    """

    kind: str
    step: int
    seq_from: int
    seq_to: int
    tokens: int
    pieces: Sequence[Rendered]
    is_error: bool = False
    masked: tuple[Sequence[Rendered], int] | None = None
    units: Sequence[Unit] = ()
    names: Iterable[str] = ()
    tools: Sequence[ToolUse] = ()
    refs: Sequence[str] = ()


class ViewPart(NamedTuple):
    """A part of what a model sees, in its order."""

    kind: str  # of a block, or `SUMMARY`
    level: int  # of a summary; of a block 0, or 1 if it is masked
    step_from: int
    step_to: int
    seq_from: int
    seq_to: int
    tokens: int
    is_error: bool
    pieces_json: str  # as they are kept: reading many of them takes its time
    refs: Sequence[str] = ()  # of the passages that are recalled
    method: str = ""  # of a summary, as its verdict
    verdict: str = ""

    @classmethod
    def of(cls, block: NewBlock) -> ViewPart:
        """Return what is known of a block that was just written, beside its pieces."""
        place = block.step, block.step, block.seq_from, block.seq_to
        return cls(block.kind, 0, *place, block.tokens, block.is_error, pieces_json="", refs=tuple(block.refs))

    @property
    def pieces(self) -> list[Rendered]:
        """What a model sees."""
        return loaded(self.pieces_json)

    @property
    def zone(self) -> str:
        """In which zone of a pack it is."""
        if self.kind == SUMMARY:
            return "segments" if self.level == SEGMENT else "digests"
        if self.kind == STEP:
            return "masked" if self.level else "verbatim"
        return self.kind


class View(NamedTuple):
    """What a model sees, in its order, without head and state; and which view it is."""

    epoch: int
    block_count: int
    parts: list[ViewPart]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEntry:
    """An entry of the state, as it is kept."""

    number: int
    entry: Entry
    source: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class MadeSummary:
    """Of a summary that a fold made: what it covers, and what it takes."""

    level: int
    step_from: int
    step_to: int
    seq_from: int
    seq_to: int
    tokens: int
    method: str = BY_RULES
    verdict: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What a fold did.

    Attributes:
        rules: Sentences.
        masked_steps: Numbers of the steps that are masked since.
        merged_steps: How many steps are in summaries since.
        dropped_blocks: Notes, and what was recalled, that are seen no longer.
        summaries: New ones.
        state_left_out: Entries for which the state had no room.
        state_added: Entries that the state shows since, and did not show before.
        state_removed: Those that it shows no longer. What they say is in the log, as long as that has it.
        first_change: The zone in which the prefix breaks.
        tokens_kept: In front of that.
        written_again: Tokens behind it, that a vendor's cache takes anew.
        pays_after_steps: When the smaller prompt has paid for that; -1: never.
        token_factor: By which its budget was kept, and is since; 0: it was no fold.
        prepared_seq: How far the window had read when the fold was prepared; 0: it was not.
        checkpoint: The number of the one that it was rolled back to; 0: it was not.
        block_count: Of a rollback: how many blocks the window had behind it.
        left_out: Messages that are left out since, each row of them from one place to another.
        steps_left_out: How many steps are seen and counted no more.
    """

    rules: Sequence[str] = ()
    masked_steps: Sequence[int] = ()
    merged_steps: int = 0
    dropped_blocks: int = 0
    summaries: Sequence[MadeSummary] = ()
    state_tokens: int = 0
    state_left_out: int = 0
    state_added: Sequence[StateChange] = ()
    state_removed: Sequence[StateChange] = ()
    first_change: str = ""
    tokens_kept: int = 0
    written_again: int = 0
    pays_after_steps: int = -1
    token_factor: float = 0.0
    prepared_seq: int = 0
    checkpoint: int = 0
    block_count: int = 0
    left_out: Sequence[Sequence[int]] = ()
    steps_left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The account of a break of the prefix.

    Attributes:
        epoch: Since it.
        reason: Why: `high_mark`, `cache_cold`, `requested`, `goal`, `prepared`, `updated`, `pinned`, `unpinned`,
            `retracted` or `rolled_back`.
        step: How many steps there were.
        account: What was done.
    """

    epoch: int
    reason: str
    last_seq: int
    step: int
    tokens_before: int
    tokens_after: int
    account: Account
    created_at: datetime | None = None


# All of it or nothing, in one round trip. What was worked out is of the window as it was: if another call has written
# meanwhile, nothing is. The row of the window is the lock; a twin waits here, and then finds it otherwise.
_ADD = """
WITH w AS (
    UPDATE context.context_window
    SET block_count = block_count + %(blocks)s, step_count = step_count + %(steps_added)s,
        reached_seq = %(reached_seq)s, entry_count = entry_count + %(entries)s, updated_at = now(),
        packed_at = CASE WHEN %(packed_seq)s::bigint IS NULL THEN packed_at ELSE now() END,
        packed_seq = coalesce(%(packed_seq)s::bigint, packed_seq)
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND closed_at IS NULL
        AND (epoch, block_count, reached_seq, retracted_count, entry_count) = (
            %(epoch)s, %(block_count)s, %(reached_before)s, %(retracted_count)s, %(entry_count)s
        )
    RETURNING tenant_id, context_id, window_id, ancestors, owner_user_id, app_id, agent_bundle_id, checkpoint_count
), blocks AS (
    INSERT INTO context.window_block (
        tenant_id, context_id, window_id, ancestors, number, tokens, seq_from, seq_to, owner_user_id, app_id,
        agent_bundle_id, pieces, renderer, step, kind, is_error, masked, masked_tokens, units, names, tools, refs
    )
    SELECT w.tenant_id, w.context_id, w.window_id, w.ancestors, %(block_count)s + b.n - 1, b.tokens, b.seq_from,
        b.seq_to, w.owner_user_id, w.app_id, w.agent_bundle_id, b.pieces, %(renderer)s, b.step, b.kind, b.is_error,
        b.masked, b.masked_tokens, b.units, b.names, b.tools, b.refs
    FROM w, unnest(
        %(tokens)s::integer[], %(seqs_from)s::bigint[], %(seqs_to)s::bigint[], %(pieces)s::text[],
        %(steps)s::integer[], %(kinds)s::text[], %(errors)s::boolean[], %(masked)s::text[],
        %(masked_tokens)s::integer[], %(units)s::text[], %(names)s::text[], %(tools)s::text[],
        %(block_refs)s::text[]
    ) WITH ORDINALITY AS b (
        tokens, seq_from, seq_to, pieces, step, kind, is_error, masked, masked_tokens, units, names, tools, refs, n
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
        tenant_id, context_id, window_id, ancestors, number, seq, section, key, text, value, ref, source, is_told,
        ended_at, ended_seq, owner_user_id, app_id, agent_bundle_id
    )
    SELECT w.tenant_id, w.context_id, w.window_id, w.ancestors, %(entry_count)s + e.n - 1, e.seq, e.section, e.key,
        e.text, e.value, e.ref, %(source)s, %(source)s <> 'caller' OR e.section = 'pin',
        CASE WHEN e.ended_seq IS NOT NULL THEN now() END, e.ended_seq, w.owner_user_id, w.app_id, w.agent_bundle_id
    FROM w, unnest(
        %(entry_seqs)s::bigint[], %(sections)s::text[], %(keys)s::text[], %(texts)s::text[], %(values)s::text[],
        %(refs)s::text[], %(at_once)s::bigint[]
    ) WITH ORDINALITY AS e (seq, section, key, text, value, ref, ended_seq, n)
)
SELECT window_id FROM w
"""

_ENTRY = "number, seq, section, key, text, value, ref, source, created_at"
# What an entry may take the place of, answer or take back: values and files of its key; of sections that have none, the
# newest.
_HELD_OF = f"""
SELECT {_ENTRY} FROM context.window_entry
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND ended_at IS NULL AND key <> ''
    AND (section, key) IN (SELECT * FROM unnest(%(sections)s::text[], %(keys)s::text[]))
UNION ALL
SELECT newest.* FROM unnest(%(whole)s::text[]) AS of (section) CROSS JOIN LATERAL (
    SELECT {_ENTRY} FROM context.window_entry e
    WHERE e.tenant_id = %(tenant_id)s AND e.window_id = %(window_id)s AND e.ended_at IS NULL
        AND e.section = of.section AND e.key = ''
    ORDER BY number DESC LIMIT {_HELD_OF_MAX}
) newest
"""  # noqa: S608 - constants
# Thousands of files and errors behind a rule do not make it forgotten.
_HELD = f"""
SELECT {_ENTRY} FROM (
    SELECT {_ENTRY} FROM context.window_entry
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND ended_at IS NULL AND source <> 'caller'
        AND section = ANY (%(whole)s::text[])
    ORDER BY number DESC LIMIT {_WHOLE_MAX}
) whole
UNION ALL
SELECT {_ENTRY} FROM (
    SELECT {_ENTRY} FROM context.window_entry
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND ended_at IS NULL AND source <> 'caller'
        AND section <> ALL (%(whole)s::text[])
    ORDER BY number DESC LIMIT {_HELD_MAX}
) newest
UNION ALL
SELECT {_ENTRY} FROM context.window_entry
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND ended_at IS NULL AND source = 'caller'
ORDER BY number
"""  # noqa: S608
_HELD_FROM = f"""
SELECT {_ENTRY} FROM context.window_entry
WHERE tenant_id = %s AND window_id = %s AND ended_at IS NULL AND number >= %s AND number < %s
ORDER BY number
LIMIT %s
"""  # noqa: S608
_HELD_IN = f"""
SELECT {_ENTRY} FROM context.window_entry
WHERE tenant_id = %s AND window_id = %s AND ended_at IS NULL AND section = ANY (%s)
ORDER BY number
"""  # noqa: S608
# Rules, values and goals of some messages that hold no longer.
_ENDED_OF = f"""
SELECT {_ENTRY} FROM context.window_entry
WHERE tenant_id = %s AND window_id = %s AND ended_at IS NOT NULL AND source <> 'caller'
    AND section IN ('goal', 'constraint', 'value')
    AND seq = ANY (%s)
ORDER BY number DESC LIMIT {_ENDED_OF_MAX}
"""  # noqa: S608
_NOW = f"""
SELECT {_ENTRY} FROM context.window_entry
WHERE tenant_id = %s AND window_id = %s AND ended_at IS NULL
    AND (section = 'goal' OR section = 'value' AND key = ANY (%s))
"""  # noqa: S608
_CHANGE_HEAD = """
UPDATE context.context_window
SET epoch = epoch + 1, system_prompt = %(system_prompt)s, tools = %(tools)s::json, goal = %(goal)s,
    head_tokens = %(head_tokens)s, prepared = NULL, updated_at = now()
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
"""
_CHANGE_PINS = """
UPDATE context.context_window
SET epoch = epoch + 1, pins_pieces = %(pieces)s, pins_tokens = %(tokens)s, prepared = NULL, updated_at = now()
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
"""
_END_ENTRIES = """
UPDATE context.window_entry e SET ended_at = now(), ended_seq = 0, ended_checkpoint = w.checkpoint_count
FROM context.context_window w
WHERE e.tenant_id = %s AND e.window_id = %s AND e.number = ANY (%s)
    AND w.tenant_id = e.tenant_id AND w.window_id = e.window_id
"""
_HAS_UNTOLD = """
UPDATE context.context_window SET has_untold = true WHERE tenant_id = %s AND window_id = %s
"""
_COUNT_SAID = """
SELECT count(*) AS held FROM context.window_entry
WHERE tenant_id = %s AND window_id = %s AND ended_at IS NULL AND source = 'caller' AND section <> 'pin'
"""
_UNTOLD = f"""
SELECT {_ENTRY} FROM context.window_entry
WHERE tenant_id = %s AND window_id = %s AND ended_at IS NULL AND source = 'caller' AND NOT is_told
ORDER BY number
"""  # noqa: S608
_TOLD = """
WITH w AS (
    UPDATE context.context_window SET has_untold = false WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
    RETURNING checkpoint_count
)
UPDATE context.window_entry SET is_told = true, told_checkpoint = w.checkpoint_count
FROM w
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND NOT is_told
"""
# One statement is one look: the first row says which view it is.
_SEEN = """
(SELECT 'window' AS kind, epoch AS level, block_count AS step_from, 0 AS step_to, 0 AS seq_from, 0 AS seq_to,
    0 AS tokens, '' AS pieces, 0 AS number, false AS is_error, '' AS refs,
    '' AS method, '' AS verdict, 0 AS zone
FROM context.context_window
WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND window_id = %(window_id)s)
UNION ALL
(SELECT 'summary', level, step_from, step_to, seq_from, seq_to, tokens, pieces, 0, false, '', method, verdict, 1
FROM context.window_summary
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND epoch_to IS NULL AND %(number_from)s = 0)
UNION ALL
(SELECT kind, is_masked::integer, step, step, seq_from, seq_to, tokens,
    CASE WHEN is_masked THEN coalesce(masked, pieces) ELSE pieces END, number, is_error, refs, '', '', 2
FROM context.window_block
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND epoch_to IS NULL
    AND number >= %(number_from)s::integer)
ORDER BY zone, number, step_from
"""
# Of what is seen, without head and state.
_TOKENS = """
SELECT coalesce(sum(tokens), 0)::bigint AS tokens
FROM (
    SELECT tokens FROM context.window_block
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND epoch_to IS NULL
    UNION ALL
    SELECT tokens FROM context.window_summary
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND epoch_to IS NULL
) seen
"""
_SIZES = """
SELECT number, step, kind, seq_from, seq_to, tokens,
    CASE WHEN is_masked THEN tokens ELSE coalesce(masked_tokens, tokens) END AS masked_tokens, is_masked, is_error,
    '[]' AS units, '[]' AS names
FROM context.window_block
WHERE tenant_id = %s AND window_id = %s AND epoch_to IS NULL
ORDER BY number
"""
_BLOCKS = _SIZES.replace("'[]' AS ", "")
_SUMMARIES = """
SELECT level, step_from, step_to, seq_from, seq_to, tokens, text, kept, method, verdict
FROM context.window_summary
WHERE tenant_id = %s AND window_id = %s AND epoch_to IS NULL
ORDER BY step_from
"""
_STATE_TEXT = "SELECT state_text FROM context.context_window WHERE tenant_id = %s AND window_id = %s"
# Its tokens are those of what is seen; both forms stay where they are, for neither is written again then.
_MASK = """
UPDATE context.window_block
SET is_masked = true, masked_epoch = %s, tokens = masked_tokens, masked_tokens = tokens
WHERE tenant_id = %s AND window_id = %s AND number = ANY (%s)
"""
# They stay, out of sight, as long as a checkpoint shows them.
_REMOVE = """
UPDATE context.window_block SET epoch_to = %s
WHERE tenant_id = %s AND window_id = %s AND number = ANY (%s)
RETURNING kind, step, seq_from, names, tools
"""
_TALLIES = "SELECT tallies FROM context.context_window WHERE tenant_id = %s AND window_id = %s"
_KEEP_TALLIES = "UPDATE context.context_window SET tallies = %s WHERE tenant_id = %s AND window_id = %s"
# One look at both: of the window, at step 0, what it keeps of steps that no block stands for.
_COUNTED = """
SELECT 'window' AS kind, 0 AS step, 0 AS seq_from, tallies AS names, '' AS tools FROM context.context_window
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
UNION ALL
SELECT kind, step, seq_from, names, tools FROM context.window_block
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND epoch_to IS NULL AND kind = 'step'
"""
# The last steps, and what is to be done.
_AT_HAND = """
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
) goals
"""
_OUT_OF_VIEW = """
UPDATE context.window_summary SET epoch_to = %s
WHERE tenant_id = %s AND window_id = %s AND epoch_to IS NULL AND (step_from, level) IN (
    SELECT * FROM unnest(%s::integer[], %s::smallint[])
)
"""
_ADD_SUMMARIES = """
INSERT INTO context.window_summary (
    tenant_id, context_id, window_id, ancestors, level, step_from, step_to, seq_from, seq_to, tokens, epoch_from,
    owner_user_id, app_id, agent_bundle_id, text, pieces, kept, method, verdict
)
SELECT w.tenant_id, w.context_id, w.window_id, w.ancestors, s.level, s.step_from, s.step_to, s.seq_from, s.seq_to,
    s.tokens, w.epoch + 1, w.owner_user_id, w.app_id, w.agent_bundle_id, s.text, s.pieces, s.kept,
    s.method, s.verdict
FROM context.context_window w, unnest(
    %(levels)s::smallint[], %(steps_from)s::integer[], %(steps_to)s::integer[], %(seqs_from)s::bigint[],
    %(seqs_to)s::bigint[], %(tokens)s::integer[], %(texts)s::text[], %(pieces)s::text[], %(kept)s::text[],
    %(methods)s::text[], %(verdicts)s::text[]
) AS s (level, step_from, step_to, seq_from, seq_to, tokens, text, pieces, kept, method, verdict)
WHERE w.tenant_id = %(tenant_id)s AND w.window_id = %(window_id)s
"""
_FOLDED = """
UPDATE context.context_window
SET epoch = epoch + 1, folded_step = step_count, first_number = first_number + %(merged)s,
    left_out_tokens = left_out_tokens + %(merged_tokens)s, state_text = %(state_text)s,
    state_pieces = %(state_pieces)s, state_tokens = %(state_tokens)s, token_factor = %(token_factor)s,
    prepared = NULL, updated_at = now()
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
"""
# Of a window that is another one, what was worked out is void; what was appended to it meanwhile changes nothing.
_PREPARE = """
UPDATE context.context_window SET prepared = %(prepared)s, prepared_epoch = epoch
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND closed_at IS NULL
    AND (epoch, retracted_count, config::text) = (%(epoch)s, %(retracted_count)s, %(config)s)
RETURNING window_id
"""
# If it is prepared as it was, by nobody else meanwhile.
_PREPARE_WRITTEN = """
UPDATE context.context_window
SET prepared = CASE WHEN prepared = %(before)s AND prepared_epoch = epoch THEN %(prepared)s ELSE prepared END,
    model_failures = %(failures)s, extractive_to = %(extractive_to)s
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND closed_at IS NULL
RETURNING prepared = %(prepared)s AS is_written
"""
_FAILURES = "SELECT model_failures, extractive_to FROM context.context_window WHERE tenant_id = %s AND window_id = %s"
_PREPARED = "SELECT prepared, prepared_epoch FROM context.context_window WHERE tenant_id = %s AND window_id = %s"
_ADD_RECEIPT = """
INSERT INTO context.window_fold (
    tenant_id, context_id, window_id, ancestors, epoch, reason, last_seq, step, tokens_before, tokens_after,
    owner_user_id, app_id, agent_bundle_id, receipt
)
SELECT tenant_id, context_id, window_id, ancestors, epoch, %(reason)s, %(last_seq)s, %(step)s, %(tokens_before)s,
    %(tokens_after)s, owner_user_id, app_id, agent_bundle_id, %(receipt)s::json
FROM context.context_window
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
"""
_RECEIPTS = """
SELECT epoch, created_at, reason, last_seq, step, tokens_before, tokens_after, receipt::text AS receipt
FROM context.window_fold
WHERE tenant_id = %s AND window_id = %s AND (%s::integer IS NULL OR epoch < %s)
ORDER BY epoch DESC
LIMIT %s
"""
_RECEIPTS_FROM = """
SELECT epoch, created_at, reason, last_seq, step, tokens_before, tokens_after, receipt::text AS receipt
FROM context.window_fold
WHERE tenant_id = %s AND window_id = %s AND epoch > %s AND epoch <= %s
ORDER BY epoch
LIMIT %s
"""
# What is pinned of a message goes with it, also what was pinned once.
_FORGET_PINS = """
DELETE FROM context.window_entry e
WHERE e.tenant_id = %(tenant_id)s AND e.window_id = %(window_id)s AND e.section = 'pin' AND e.ref <> ''
    AND NOT EXISTS (
        SELECT FROM context.message m
        WHERE m.tenant_id = e.tenant_id AND m.context_id = %(context_id)s AND m.seq = e.seq AND m.retracted_at IS NULL
    )
"""
# What is made of the log again; pins, and what callers said, stay. A checkpoint may have words of what was retracted.
_BEGIN_ANEW = """
WITH blocks AS (
    DELETE FROM context.window_block WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
), checkpoints AS (
    DELETE FROM context.window_checkpoint WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
), summaries AS (
    DELETE FROM context.window_summary WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
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
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
"""


# What was taken back since a window looked: of all that was, the newest, as many as are more.
_RETRACTED_SINCE = """
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
) r
"""
_STEPS = """
SELECT number, step, seq_from, seq_to FROM context.window_block
WHERE tenant_id = %s AND window_id = %s AND epoch_to IS NULL AND kind = 'step'
ORDER BY number
"""
# Of entries that ended before it was written by what, nobody knows when they held.
_FOLDED_TO = """
SELECT coalesce((
    SELECT max(seq_to) FROM context.window_summary
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND epoch_to IS NULL
), 0) AS seq, EXISTS (
    SELECT FROM context.window_entry
    WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s AND ended_at IS NOT NULL AND ended_seq IS NULL
) AS is_unknown
"""
_REWIND = """
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
WHERE tenant_id = %(tenant_id)s AND window_id = %(window_id)s
"""


class ViewRows:
    """What windows show. Writers hold the window's lock; readers act for their principal.

    Args:
        log: The contexts.
    """

    def __init__(self, log: Log) -> None:
        self._log = log

    async def add(
        self,
        door: Tenant | Transaction,
        window: Window,
        blocks: Sequence[NewBlock],
        *,
        entries: Sequence[Entry],
        ended: Mapping[int, int],
        reached_seq: int,
        source: str = BY_RULE,
        packed_seq: int | None = None,
    ) -> bool:
        """Write blocks behind those of a window, what they say of the state, and how far it reads now.

        Args:
            door: To the window; or a transaction that holds its lock.
            window: As it is; if it is another one meanwhile, nothing is written.
            blocks: In their order.
            entries: New ones; their numbers go on from the window's.
            ended: Numbers of those that hold no longer, also of new ones, each with the message that ended it.
            reached_seq: Up to which message all are read.
            source: Who says the entries.
            packed_seq: Up to which message it is packed for a model with this; None: it is not.

        Returns:
            Whether it was written.
        """
        size = sum(_ROW_BYTES + sum(len(piece.json) for piece in one.pieces) for one in blocks)
        columns = await beside_the_loop(_WRITING * size, _columns, blocks)
        written = await door.query(
            _ADD,
            {
                "window_id": window.window_id,
                "epoch": window.epoch,
                "block_count": window.block_count,
                "reached_before": window.reached_seq,
                "retracted_count": window.retracted_count,
                "entry_count": window.entry_count,
                "reached_seq": reached_seq,
                "packed_seq": packed_seq,
                "blocks": len(blocks),
                "steps_added": sum(one.kind == STEP for one in blocks),
                **columns,
                "renderer": RENDERER,
                "ended": list(ended),
                "ended_seqs": list(ended.values()),
                "entries": len(entries),
                "at_once": [ended.get(number) for number, _ in enumerate(entries, window.entry_count)],
                "entry_seqs": [one.seq for one in entries],
                "sections": TextArray([one.section for one in entries]),
                "keys": TextArray([one.key for one in entries]),
                "texts": TextArray([one.text for one in entries]),
                "values": TextArray([one.value for one in entries]),
                "refs": TextArray([one.ref for one in entries]),
                "source": source,
            },
        )
        return bool(written)

    async def held_of(
        self, window: Window, entries: Sequence[Entry], *, principal: Principal, without_key: Collection[str] = ()
    ) -> list[StoredEntry]:
        """Return the entries that these may take the place of, or help, and what callers removed there.

        Args:
            window: Whose.
            entries: What is said.
            principal: Who asks.
            without_key: Sections of which those are wanted, too, that have no key.
        """
        door = self._log.of(principal, window.context_id)
        whole = {name for one in entries for name in _CHANGED_BY.get(one.section, ())}
        named = {
            "window_id": window.window_id,
            "sections": TextArray([*(one.section for one in entries), *(REMOVED for _ in entries)]),
            "keys": TextArray([*(one.key for one in entries), *(" ".join(place_of(one)) for one in entries)]),
            "whole": TextArray(whole.union(without_key)),
        }
        rows = await door.query(_HELD_OF, named)
        return sorted(map(_held, rows), key=lambda one: one.number)

    async def held(self, window: Window, *, principal: Principal) -> list[StoredEntry]:
        """Return the entries that hold, in the order of the log."""
        door = self._log.of(principal, window.context_id)
        named = {"window_id": window.window_id, "whole": TextArray(WHOLE)}
        rows = await door.query(_HELD, named)
        return await beside_the_loop(_ROW_BYTES * len(rows), _all_held, rows)

    async def superseded(
        self, window: Window, seqs: Collection[int], *, principal: Principal
    ) -> list[tuple[Entry, Entry | None]]:
        """Return what messages say that holds no longer, each with what holds instead, if anything."""
        door = self._log.of(principal, window.context_id)
        ended = list(map(_held, await door.query(_ENDED_OF, (door.tenant_id, window.window_id, list(seqs)))))
        if not ended:
            return []
        keys = TextArray({one.entry.key for one in ended})
        rows = map(_held, await door.query(_NOW, (door.tenant_id, window.window_id, keys)))
        now = {(one.entry.section, one.entry.key): one.entry for one in rows}
        return [(one.entry, now.get((one.entry.section, one.entry.key))) for one in reversed(ended)]

    async def held_in(self, transaction: Transaction, window: Window, sections: Sequence[str]) -> list[StoredEntry]:
        """Return the entries of sections that hold, in the order in which they were said."""
        named = transaction.tenant_id, window.window_id, TextArray(sections)
        return list(map(_held, await transaction.query(_HELD_IN, named)))

    async def end(self, transaction: Transaction, window: Window, numbers: Sequence[int]) -> None:
        """Let entries hold no longer."""
        await transaction.query(_END_ENTRIES, (transaction.tenant_id, window.window_id, list(numbers)))

    async def count_said(self, transaction: Transaction, window: Window) -> int:
        """Return how many entries of callers hold in a window that is locked."""
        (row,) = await transaction.query(_COUNT_SAID, (transaction.tenant_id, window.window_id))
        count: int = row.held
        return count

    async def tell_later(self, transaction: Transaction, window: Window) -> None:
        """Say that a window that is locked has entries of which no model was told."""
        await transaction.query(_HAS_UNTOLD, (transaction.tenant_id, window.window_id))

    async def untold(self, window: Window, *, principal: Principal) -> list[StoredEntry]:
        """Return the entries of callers of which no model was told."""
        door = self._log.of(principal, window.context_id)
        return list(map(_held, await door.query(_UNTOLD, (door.tenant_id, window.window_id))))

    async def told(self, transaction: Transaction, window: Window) -> None:
        """Say that a model is told of all that callers said, in a window that is locked."""
        named = {"window_id": window.window_id}
        await transaction.query(_TOLD, named)

    async def change_head(self, transaction: Transaction, window: Window) -> None:
        """Write what stands in front of all, of a window that is locked."""
        await transaction.query(
            _CHANGE_HEAD,
            {
                "window_id": window.window_id,
                "system_prompt": window.system_prompt,
                "tools": window.tools_json or None,
                "goal": window.goal,
                "head_tokens": window.head_tokens,
            },
        )

    async def change_pins(
        self, transaction: Transaction, window: Window, pieces: Sequence[Rendered], tokens: int
    ) -> None:
        """Write what is pinned, as a model sees it, of a window that is locked."""
        named = {"window_id": window.window_id}
        await transaction.query(_CHANGE_PINS, {**named, "pieces": stored(pieces), "tokens": tokens})

    async def shown(self, window: Window, *, principal: Principal, number_from: int = 0) -> View | None:
        """Return what a model sees; None: the window is gone.

        Args:
            window: Which.
            principal: Who reads.
            number_from: Only blocks from this one on, and no summaries; 0: all.
        """
        door = self._log.of(principal, window.context_id)
        named = {"context_id": window.context_id, "window_id": window.window_id, "number_from": number_from}
        first, *rows = await door.query(_SEEN, named) or [None]
        if first is None:
            return None
        parts = await beside_the_loop(_ROW_BYTES * len(rows), _parts, rows)
        return View(first.level, first.step_from, parts)

    async def tokens(self, window: Window, *, principal: Principal) -> int:
        """Return how many tokens a model sees, without head and state."""
        door = self._log.of(principal, window.context_id)
        (row,) = await door.query(_TOKENS, {"window_id": window.window_id})
        tokens: int = row.tokens
        return tokens

    async def tokens_in(self, transaction: Transaction, window: Window) -> int:
        """Return the same of a window that is locked."""
        named = {"window_id": window.window_id}
        (row,) = await transaction.query(_TOKENS, named)
        tokens: int = row.tokens
        return tokens

    async def blocks(self, window: Window, *, principal: Principal, with_units: bool = True) -> list[FoldableBlock]:
        """Return the blocks as far as folds need them; without units, which are most of them, one that is prepared."""
        door = self._log.of(principal, window.context_id)
        rows = await door.query(_BLOCKS if with_units else _SIZES, (door.tenant_id, window.window_id))
        size = sum(_ROW_BYTES + len(row.units) for row in rows)
        return await beside_the_loop(size, _standings, rows)

    async def summaries(self, window: Window, *, principal: Principal) -> list[Summary]:
        """Return the summaries that are seen, in the order of what they cover."""
        door = self._log.of(principal, window.context_id)
        rows = await door.query(_SUMMARIES, (door.tenant_id, window.window_id))
        return await beside_the_loop(sum(_ROW_BYTES + len(row.kept) for row in rows), _each, _summary, rows)

    async def state_text(self, window: Window, *, principal: Principal) -> str:
        """Return the state as it was written when the window was folded last."""
        door = self._log.of(principal, window.context_id)
        rows = await door.query(_STATE_TEXT, (door.tenant_id, window.window_id))
        return rows[0].state_text if rows else ""

    async def state_text_in(self, transaction: Transaction, window: Window) -> str:
        """Return the same of a window that is locked."""
        (row,) = await transaction.query(_STATE_TEXT, (transaction.tenant_id, window.window_id))
        text: str = row.state_text
        return text

    async def prepare(self, window: Window, fold: Prepared, *, principal: Principal) -> bool:
        """Keep a fold until it is done, in the place of one before; False: the window is another one meanwhile."""
        door = self._log.of(principal, window.context_id)
        size = sum(_ROW_BYTES * (1 + len(one.kept)) for one in fold.made) + _WORTH_BYTES * len(fold.worth)
        named = {
            "window_id": window.window_id,
            "epoch": window.epoch,
            "retracted_count": window.retracted_count,
            "config": window.config_json,
            "prepared": await beside_the_loop(_WRITING * size, _prepared_text, fold),
        }
        return bool(await door.query(_PREPARE, named))

    async def prepare_written(
        self,
        window: Window,
        before: Prepared,
        fold: Prepared,
        *,
        failures: int,
        extractive_to: int,
        principal: Principal,
    ) -> bool:
        """Keep a fold in the place of the same one; False: that is not prepared any more.

        Args:
            window: Of which.
            before: As it is prepared.
            fold: With what a model wrote.
            failures: Of the model, in a row.
            extractive_to: Up to which step it is asked no more.
            principal: Who asks.
        """
        door = self._log.of(principal, window.context_id)
        size = sum(_ROW_BYTES * (1 + len(one.kept)) for one in fold.made) + _WORTH_BYTES * len(fold.worth)
        named = {
            "window_id": window.window_id,
            "before": await beside_the_loop(_WRITING * size, _prepared_text, before),
            "prepared": await beside_the_loop(_WRITING * size, _prepared_text, fold),
            "failures": failures,
            "extractive_to": extractive_to,
        }
        rows = await door.query(_PREPARE_WRITTEN, named)
        return bool(rows and rows[0].is_written)

    async def failures_of_model(self, window: Window, *, principal: Principal) -> tuple[int, int]:
        """Return how often the model failed in a row, and up to which step it is asked no more."""
        door = self._log.of(principal, window.context_id)
        rows = await door.query(_FAILURES, (door.tenant_id, window.window_id))
        return (rows[0].model_failures, rows[0].extractive_to) if rows else (0, 0)

    async def prepared(self, window: Window, *, principal: Principal) -> tuple[Prepared | None, int | None]:
        """Return the fold that is prepared, if there is one, and the epoch that the last one was for, if there was."""
        door = self._log.of(principal, window.context_id)
        rows = await door.query(_PREPARED, (door.tenant_id, window.window_id))
        if not rows or rows[0].prepared_epoch is None:
            return None, None
        text = rows[0].prepared
        fold = await beside_the_loop(len(text), _prepared_of, text) if text else None
        return fold, rows[0].prepared_epoch

    async def tallies(self, window: Window, *, principal: Principal) -> Tallies:
        """Return what is counted of a window's steps."""
        door = self._log.of(principal, window.context_id)
        rows = await door.query(_COUNTED, {"window_id": window.window_id})
        kept = next((row.names for row in rows if row.kind == "window"), "{}")
        return await beside_the_loop(_size_of(rows), _tallies, kept, rows)

    async def at_hand(self, window: Window, *, count: int, principal: Principal) -> tuple[list[str], list[list[str]]]:
        """Return the newest sub-goals that are open, and what the last steps speak of: up to `count` of each."""
        door = self._log.of(principal, window.context_id)
        named = {"window_id": window.window_id, "count": count}
        rows = await door.query(_AT_HAND, named)
        return [row.text for row in rows if row.text], [orjson.loads(row.names) for row in rows if not row.text]

    async def write_fold(
        self,
        transaction: Transaction,
        window: Window,
        *,
        masked: Sequence[int],
        removed: Sequence[int],
        merged: int,
        merged_tokens: int,
        gone: Sequence[Summary],
        made: Sequence[tuple[Summary, Sequence[Rendered]]],
        state: tuple[str, Sequence[Rendered], int],
        receipt: Receipt,
    ) -> None:
        """Write a fold of a window that is locked.

        Args:
            transaction: That holds the lock.
            window: As it was before, with the factor that it has since.
            masked: Numbers of the blocks that are masked.
            removed: Of those that are seen no more.
            merged: How many steps summaries stand for since.
            merged_tokens: Of those, as they were seen.
            gone: Summaries that others took the place of.
            made: New ones, as a model sees them.
            state: Its text, as a model sees it, and its tokens.
            receipt: The account.
        """
        tenant_id, window_id = transaction.tenant_id, window.window_id
        named = {"tenant_id": tenant_id, "window_id": window_id}
        if masked:
            await transaction.query(_MASK, (window.epoch + 1, tenant_id, window_id, list(masked)))
        if removed:
            rows = await transaction.query(_REMOVE, (window.epoch + 1, tenant_id, window_id, list(removed)))
            (kept,) = await transaction.query(_TALLIES, (tenant_id, window_id))
            tallies = await beside_the_loop(_size_of(rows), _tallies, kept.tallies, rows)
            await transaction.query(_KEEP_TALLIES, (stored_tallies(tallies), tenant_id, window_id))
        if gone:
            places = [one.step_from for one in gone], [one.level for one in gone]
            await transaction.query(_OUT_OF_VIEW, (window.epoch + 1, tenant_id, window_id, *places))
        if made:
            summaries = [one for one, _ in made]
            columns = {
                "levels": [one.level for one in summaries],
                "steps_from": [one.step_from for one in summaries],
                "steps_to": [one.step_to for one in summaries],
                "seqs_from": [one.seq_from for one in summaries],
                "seqs_to": [one.seq_to for one in summaries],
                "tokens": [one.tokens for one in summaries],
                "texts": TextArray([one.text for one in summaries]),
                "pieces": TextArray([stored(pieces) for _, pieces in made]),
                "kept": TextArray([_json(list(map(_scored_row, one.kept))) for one in summaries]),
                "methods": TextArray([one.method for one in summaries]),
                "verdicts": TextArray([one.verdict for one in summaries]),
            }
            await transaction.query(_ADD_SUMMARIES, {**named, **columns})
        text, pieces, tokens = state
        await transaction.query(
            _FOLDED,
            {
                **named,
                "merged": merged,
                "merged_tokens": merged_tokens,
                "state_text": text,
                "state_pieces": stored(pieces),
                "state_tokens": tokens,
                "token_factor": window.token_factor,
            },
        )
        await self.account(transaction, window, receipt)

    async def account(self, transaction: Transaction, window: Window, receipt: Receipt) -> None:
        """Write the account of a break of the prefix, behind what it is of."""
        await transaction.query(
            _ADD_RECEIPT,
            {
                "window_id": window.window_id,
                "reason": receipt.reason,
                "last_seq": receipt.last_seq,
                "step": receipt.step,
                "tokens_before": receipt.tokens_before,
                "tokens_after": receipt.tokens_after,
                "receipt": await beside_the_loop(_size_of_account(receipt.account), _account_json, receipt.account),
            },
        )

    async def receipts(self, window: Window, *, principal: Principal, before: int | None, count: int) -> list[Receipt]:
        """Return the accounts of a window, the newest first, of epochs before one."""
        door = self._log.of(principal, window.context_id)
        rows = await door.query(_RECEIPTS, (door.tenant_id, window.window_id, before, before, count))
        return await beside_the_loop(_size_of_receipts(rows), _each, _receipt, rows)

    async def receipt(self, transaction: Transaction, window: Window, epoch: int) -> Receipt:
        """Return the account of an epoch that is written."""
        (row,) = await transaction.query(_RECEIPTS, (transaction.tenant_id, window.window_id, epoch + 1, epoch + 1, 1))
        return _receipt(row)

    async def receipts_since(
        self, window: Window, *, principal: Principal, epoch_after: int, count: int
    ) -> list[Receipt]:
        """Return the accounts of a window behind an epoch and up to its own, the oldest first."""
        door = self._log.of(principal, window.context_id)
        rows = await door.query(_RECEIPTS_FROM, (door.tenant_id, window.window_id, epoch_after, window.epoch, count))
        return await beside_the_loop(_size_of_receipts(rows), _each, _receipt, rows)

    async def held_from(
        self, window: Window, *, principal: Principal, number_from: int, count: int
    ) -> list[StoredEntry]:
        """Return the entries that hold, from a number on and up to those that the window has, in their order."""
        door = self._log.of(principal, window.context_id)
        named = door.tenant_id, window.window_id, number_from, window.entry_count, count
        rows = await door.query(_HELD_FROM, named)
        return await beside_the_loop(_ROW_BYTES * len(rows), _each, _held, rows)

    async def kept_pins(self, transaction: Transaction, window: Window) -> list[StoredEntry]:
        """Remove the pins of messages that are retracted, of a window that is locked, and return the others."""
        named = {"context_id": window.context_id, "window_id": window.window_id}
        await transaction.query(_FORGET_PINS, named)
        return await self.held_in(transaction, window, [PIN])

    async def retracted(self, transaction: Transaction, window: Window) -> tuple[int, Rewound | None]:
        """Return how many messages of the log are retracted now, and where a window that is locked goes back to.

        None: to the beginning.
        """
        key = {"tenant_id": transaction.tenant_id, "window_id": window.window_id}
        named = {**key, "context_id": window.context_id, "known": window.retracted_count}
        (since,) = await transaction.query(_RETRACTED_SINCE, named)
        (folded,) = await transaction.query(_FOLDED_TO, key)
        count: int = since.retracted
        if folded.is_unknown or since.count == 0 or since.count != count - window.retracted_count:
            return count, None
        rows = await transaction.query(_STEPS, (transaction.tenant_id, window.window_id), named=False)
        place = rewound(
            [StepPlace(*row) for row in rows],
            since.seq,
            folded_step=window.folded_step,
            seq_folded=folded.seq,
            end=Rewound(window.block_count, window.step_count + 1, window.reached_seq + 1),
        )
        return count, place

    async def begin_anew(
        self,
        transaction: Transaction,
        window: Window,
        place: Rewound | None,
        *,
        retracted_count: int,
        pins: Sequence[Rendered],
        tokens: int,
    ) -> None:
        """Forget what was made of the log by a window that is locked.

        Args:
            transaction: That holds the lock.
            window: As it is.
            place: From where on; None: all of it.
            retracted_count: Messages of the log that are retracted now.
            pins: What is pinned still, as a model sees it.
            tokens: Of that.
        """
        named: dict[str, Any] = {"window_id": window.window_id}
        named |= {"pieces": stored(pins), "tokens": tokens, "retracted_count": retracted_count}
        await transaction.query(_REWIND if place else _BEGIN_ANEW, named | (place._asdict() if place else {}))


def _parts(rows: Sequence[Row]) -> list[ViewPart]:
    return [copied(ViewPart, row, pieces_json=row.pieces, refs=tuple(row.refs.split())) for row in rows]


def _columns(blocks: Sequence[NewBlock]) -> dict[str, Any]:
    return {
        "tokens": [one.tokens for one in blocks],
        "seqs_from": [one.seq_from for one in blocks],
        "seqs_to": [one.seq_to for one in blocks],
        "pieces": TextArray([stored(one.pieces) for one in blocks]),
        "steps": [one.step for one in blocks],
        "kinds": TextArray([one.kind for one in blocks]),
        "errors": [one.is_error for one in blocks],
        "masked": TextArray([stored(one.masked[0]) if one.masked else None for one in blocks]),
        "masked_tokens": [one.masked[1] if one.masked else None for one in blocks],
        "units": TextArray([_json(list(map(_unit_row, one.units))) for one in blocks]),
        "names": TextArray([_json(sorted(one.names)) for one in blocks]),
        "tools": TextArray([_json(list(map(tuple, one.tools))) for one in blocks]),
        "block_refs": TextArray([" ".join(one.refs) for one in blocks]),
    }


def _each(parsed: Callable[[Row], _T], rows: Sequence[Row]) -> list[_T]:
    """Return what each row says."""
    made = []
    for row in rows:
        check_wanted()
        made.append(parsed(row))
    return made


def _size_of_account(account: Account) -> int:
    return 20 * len(account.masked_steps) + _ROW_BYTES * (
        len(account.summaries) + len(account.state_added) + len(account.state_removed)
    )


def _account_json(account: Account) -> str:
    return _json(asdict(account))


def _size_of_receipts(rows: Sequence[Row]) -> int:
    return sum(_ROW_BYTES + _READING * len(row.receipt) for row in rows)


def _size_of(rows: Sequence[Row]) -> int:
    return sum(_ROW_BYTES + _COUNTING * len(row.names) for row in rows)


def _tallies(kept: str, rows: Sequence[Row]) -> Tallies:
    """Return what is counted of steps: of those that were removed before, and of these."""
    steps = [
        StepTally(
            step=row.step,
            seq=row.seq_from,
            names=orjson.loads(row.names),
            tools=[ToolUse(*one) for one in orjson.loads(row.tools)],
        )
        for row in rows
        if row.kind == STEP
    ]
    return added(loaded_tallies(kept), steps)


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


def _unit_row(unit: Unit) -> tuple[Any, ...]:
    return unit.kind, unit.text, unit.ref, unit.seq, unit.weight


def _unit(row: Sequence[Any]) -> Unit:
    kind, text, ref, seq, weight = row
    return Unit(kind=kind, text=text, ref=ref, seq=seq, weight=weight)


def _scored_row(scored: Scored) -> tuple[Any, ...]:
    return *_unit_row(scored.unit), scored.step, scored.is_error


def _standings(rows: Sequence[Row]) -> list[FoldableBlock]:
    return list(map(_standing, rows))


def _standing(row: Row) -> FoldableBlock:
    return copied(
        FoldableBlock,
        row,
        is_appended=row.kind != STEP,
        units=tuple(map(_unit, orjson.loads(row.units))),
        names=frozenset(orjson.loads(row.names)),
    )


def _summary(row: Row) -> Summary:
    return copied(Summary, row, kept=_kept(orjson.loads(row.kept)))


def _kept(rows: Sequence[Sequence[Any]]) -> tuple[Scored, ...]:
    return tuple(Scored(unit=_unit(one[:5]), step=one[5], is_error=one[6]) for one in rows)


def _prepared_text(fold: Prepared) -> str:
    said = {one.name: getattr(fold, one.name) for one in fields(fold)}
    said["made"] = [
        {one.name: getattr(made, one.name) for one in fields(made)} | {"kept": list(map(_scored_row, made.kept))}
        for made in fold.made
    ]
    return _json(said)


def _prepared_of(text: str) -> Prepared:
    said = orjson.loads(text)
    said["gone"] = [(level, step_from) for level, step_from in said["gone"]]
    said["entries"] = [Entry(**one) for one in said.get("entries", ())]
    said["worth"] = [(worth, is_shown) for worth, is_shown in said["worth"]]
    said["made"] = [Summary(**made | {"kept": _kept(made["kept"])}) for made in said["made"]]
    return Prepared(**said)


def _account(said: dict[str, Any]) -> Account:
    lists = {"summaries": MadeSummary, "state_added": StateChange, "state_removed": StateChange}
    return Account(**said | {name: [of(**one) for one in said.get(name, ())] for name, of in lists.items()})


def _receipt(row: Row) -> Receipt:
    return copied(Receipt, row, account=_account(orjson.loads(row.receipt)))


def _all_held(rows: Sequence[Row]) -> list[StoredEntry]:
    return list(map(_held, rows))


def _held(row: Row) -> StoredEntry:
    entry = copied(Entry, row)
    return copied(StoredEntry, row, entry=entry)
