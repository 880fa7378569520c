"""The SQL of the parts that a window shows: its blocks, summaries and state, and the receipts of its folds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, TypeVar

import orjson

from context_service.checkpoints.pure.rewind import Rewound, StepPlace, rewound
from context_service.contexts.room import Log
from context_service.folding.pure.folds import CutStep, FoldableBlock
from context_service.folding.pure.prepare import Prepared
from context_service.folding.pure.summaries import CONVERSATION, LAST_WORDS, Scored, Summary
from context_service.kernel.files.limits import NO_FILES, FileUse
from context_service.kernel.rendering import RENDERER, Rendered
from context_service.packing.model import (
    BY_RULE,
    NOTICE,
    PIN,
    STEP,
    FoldAccount,
    FoldSummary,
    NewBlock,
    Receipt,
    ShownView,
    StoredEntry,
    ViewPart,
)
from context_service.packing.pure.state.recall_marks import Superseded
from context_service.packing.pure.state.task_state import (
    CONTESTED,
    OTHER_RULE,
    REMOVED,
    SUCCESS,
    WHOLE,
    Entry,
    StateChange,
    as_stated,
    place_of,
)
from context_service.packing.pure.steps.forms import shared_roles
from context_service.packing.pure.texts.tallies import StepTally, Tallies, ToolUse, add_tallies
from context_service.packing.pure.texts.tallies import parse_tallies as loaded_tallies
from context_service.packing.pure.texts.tallies import tallies_json as stored_tallies
from context_service.packing.pure.texts.units import Unit
from context_service.windows.model import Window
from context_service.windows.pure.pieces import pieces_json
from service_runtime.inputs.documents import beside_the_loop, check_wanted
from service_runtime.postgres import Row, Tenant, TextArray, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied

_T = TypeVar("_T")

# The most entries from which the state's text is written, the newest: of the sections that each pack shows whole, and
# of the others.
_WHOLE_MAX, _HELD_MAX = 10_000, 5_000
_HELD_OF_MAX = 500  # the most current entries of a section that new entries are compared with
_ENDED_OF_MAX = 50  # the most ended entries that are reported for the passages of one recall, the newest
_WORTH_BYTES = 30  # the size of the record whether a fold chose a line
_ROW_BYTES = 200  # reading a row costs as much as parsing this many bytes
_COUNTING = 8  # times as long as parsing: names are added up
_READING = 2  # times the cost of parsing: accounts are built from the JSON
_WRITING = 4  # times the cost of parsing: values are written as JSON inside JSON
# Sections whose entries have no key, by the section of the entries that may change them.
_CHANGED_BY = {
    "goal": ("goal",),
    "progress": ("progress",),
    "constraint": ("constraint", CONTESTED),
    OTHER_RULE: (OTHER_RULE,),
    "lifted": ("constraint", CONTESTED),
    "resolution": ("error",),
    "error": ("error",),
    "answer": ("question",),
    "reply": ("question", "error", "constraint", CONTESTED),
    "next": ("next",),
}
# Sections whose entries have keys that the entries which may change them do not have, in the same form.
_NAMED_CHANGED_BY = {
    "reply": ("value", CONTESTED, "error"),
    "resolution": ("error",),
    "error": ("error",),
    "value": ("value", CONTESTED),
}


SQL = SqlFile.of(
    __file__,
    conversation=CONVERSATION,
    ended_of_max=_ENDED_OF_MAX,
    held_max=_HELD_MAX,
    held_of_max=_HELD_OF_MAX,
    last_words=LAST_WORDS,
    whole_max=_WHOLE_MAX,
)
_ADD = SQL["add"]
_HELD_OF = SQL["held_of"]
_HELD = SQL["held"]
_HELD_FROM = SQL["held_from"]
_HELD_IN = SQL["held_in"]
_ENDED_OF = SQL["ended_of"]
_NOW = SQL["now"]
_CHANGE_HEAD = SQL["change_head"]
_CHANGE_PINS = SQL["change_pins"]
_END_ENTRIES = SQL["end_entries"]
_HAS_UNTOLD = SQL["has_untold"]
_COUNT_SAID = SQL["count_said"]
_UNTOLD = SQL["untold"]
_TOLD = SQL["told"]
_SEEN = SQL["seen"]
_TOKENS = SQL["tokens"]
_SIZES = SQL["sizes"]
_SUMMARIES = SQL["summaries"]
_STATE_TEXT = SQL["state_text"]
_MASK = SQL["mask"]
_REMOVE = SQL["remove"]
_CUT = SQL["cut"]
_TALLIES = SQL["tallies"]
_KEEP_TALLIES = SQL["keep_tallies"]
_COUNTED = SQL["counted"]
_AT_HAND = SQL["at_hand"]
_OUT_OF_VIEW = SQL["out_of_view"]
_ADD_SUMMARIES = SQL["add_summaries"]
_FOLDED = SQL["folded"]
_PREPARE = SQL["prepare"]
_PREPARE_WRITTEN = SQL["prepare_written"]
_FAILURES = SQL["failures"]
_PREPARED = SQL["prepared"]
_ADD_RECEIPT = SQL["add_receipt"]
_RECEIPTS = SQL["receipts"]
_RECEIPTS_FROM = SQL["receipts_from"]
_FORGET_PINS = SQL["forget_pins"]
_BEGIN_ANEW = SQL["begin_anew"]
_RETRACTED_SINCE = SQL["retracted_since"]
_STEPS = SQL["steps"]
_FOLDED_TO = SQL["folded_to"]
_REWIND = SQL["rewind"]
_RENEW = SQL["renew"]

_BLOCKS = _SIZES.replace("'[]' AS ", "")


class ViewRows:
    """The stored parts and state of windows. Writers hold the window's lock; readers act for their principal.

    Args:
        log: The contexts that the windows belong to.
    """

    def __init__(self, log: Log) -> None:
        self._log = log

    async def add(
        self,
        connection: Tenant | Transaction,
        window: Window,
        blocks: Sequence[NewBlock],
        *,
        entries: Sequence[Entry],
        ended: Mapping[int, int],
        reached_seq: int,
        source: str = BY_RULE,
        packed_seq: int | None = None,
        speakers: Sequence[str] | None = None,
    ) -> bool:
        """Append blocks to a window, with their changes of the state and the last message that it has read.

        Args:
            connection: The connection for the window, or a transaction that holds its lock.
            window: The window as the caller read it. If it changed meanwhile, nothing is written.
            blocks: The blocks, in their order.
            entries: New entries; their numbers follow those of the window.
            ended: Numbers of entries that end, also of new ones, each with the message that ends it.
            reached_seq: The last message that the window has read.
            source: Where the entries come from: rules, a caller or an extension.
            packed_seq: The last message of the log if the window is packed for a model next, or None if it is not.
            speakers: The first speakers of each role, including those of the blocks. None keeps the stored ones.

        Returns:
            Whether the blocks were written; False if the window has changed since the caller read it.
        """
        size = sum(_ROW_BYTES + len(block.said) + sum(len(piece.json) for piece in block.pieces) for block in blocks)
        columns = await beside_the_loop(_WRITING * size, _columns, blocks)
        rows = await connection.query(
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
                "window_speakers": None if speakers is None else "\n".join(speakers),
                "blocks": len(blocks),
                "steps_added": sum(block.kind == STEP for block in blocks),
                **columns,
                "renderer": RENDERER,
                "ended": list(ended),
                "ended_seqs": list(ended.values()),
                "entries": len(entries),
                "at_once": [ended.get(number) for number, _ in enumerate(entries, window.entry_count)],
                "entry_seqs": [entry.seq for entry in entries],
                "sections": TextArray([entry.section for entry in entries]),
                "keys": TextArray([entry.key for entry in entries]),
                "texts": TextArray([entry.text for entry in entries]),
                "values": TextArray([entry.value for entry in entries]),
                "refs": TextArray([entry.ref for entry in entries]),
                "speakers": TextArray([entry.speaker for entry in entries]),
                "source": source,
            },
        )
        return bool(rows)

    async def entries_at(
        self, window: Window, entries: Sequence[Entry], *, principal: Principal, without_key: Collection[str] = ()
    ) -> list[StoredEntry]:
        """Return the current entries that new entries may replace or resolve, and callers' removals of such entries.

        Args:
            window: The window that has the entries.
            entries: The new entries, not yet stored.
            principal: The caller; it must be allowed to see the window.
            without_key: Sections whose entries are all returned, because a removal names a text and no key.
        """
        tenant = self._log.of(principal, window.context_id)
        whole = {name for entry in entries for name in _CHANGED_BY.get(entry.section, ())}
        of_values = {name for entry in entries for name in _NAMED_CHANGED_BY.get(entry.section, ())}
        places = [(entry.section, entry.key) for entry in entries]
        places += [(REMOVED, " ".join(place_of(entry))) for entry in entries]
        places += [("error", entry.key) for entry in entries if entry.section == SUCCESS]
        parameters = {
            "window_id": window.window_id,
            "sections": TextArray([section for section, _ in places]),
            "keys": TextArray([key for _, key in places]),
            "whole": TextArray(whole.union(without_key)),
            "named": TextArray(of_values.union(without_key)),
        }
        rows = await tenant.query(_HELD_OF, parameters)
        return sorted(map(_stored_entry, rows), key=lambda stored: stored.number)

    async def entries(self, window: Window, *, principal: Principal) -> list[StoredEntry]:
        """Return the current entries of a window, in the order of the log."""
        tenant = self._log.of(principal, window.context_id)
        parameters = {"window_id": window.window_id, "whole": TextArray(WHOLE)}
        rows = await tenant.query(_HELD, parameters)
        return await beside_the_loop(_ROW_BYTES * len(rows), _all_held, rows)

    async def superseded(self, window: Window, seqs: Collection[int], *, principal: Principal) -> list[Superseded]:
        """Return the entries of some messages that no longer hold, oldest first."""
        tenant = self._log.of(principal, window.context_id)
        rows = await tenant.query(_ENDED_OF, (tenant.tenant_id, window.window_id, list(seqs)))
        if not rows:
            return []
        ended_entries = [(_stored_entry(row).entry, row.ended_seq or 0) for row in reversed(rows)]
        keys = TextArray({entry.key for entry, _ in ended_entries})
        rows = await tenant.query(_NOW, (tenant.tenant_id, window.window_id, keys))
        now = {place_of(as_stated(entry)): entry for entry in (_stored_entry(row).entry for row in rows)}
        return [Superseded(entry, now.get(place_of(entry)), by_seq) for entry, by_seq in ended_entries]

    async def entries_in(self, transaction: Transaction, window: Window, sections: Sequence[str]) -> list[StoredEntry]:
        """Return the current entries of sections, oldest first."""
        parameters = transaction.tenant_id, window.window_id, TextArray(sections)
        return list(map(_stored_entry, await transaction.query(_HELD_IN, parameters)))

    async def end(self, transaction: Transaction, window: Window, numbers: Sequence[int]) -> None:
        """End entries, so that they no longer hold."""
        await transaction.query(_END_ENTRIES, (transaction.tenant_id, window.window_id, list(numbers)))

    async def count_said(self, transaction: Transaction, window: Window) -> int:
        """Return how many current entries of a locked window were set by callers."""
        (row,) = await transaction.query(_COUNT_SAID, (transaction.tenant_id, window.window_id))
        count: int = row.held
        return count

    async def tell_later(self, transaction: Transaction, window: Window) -> None:
        """Mark a locked window: callers changed its state, and no pack has shown the changes to the model yet."""
        await transaction.query(_HAS_UNTOLD, (transaction.tenant_id, window.window_id))

    async def untold(self, window: Window, *, principal: Principal) -> list[StoredEntry]:
        """Return the entries of callers that no pack has shown to the model yet."""
        tenant = self._log.of(principal, window.context_id)
        return list(map(_stored_entry, await tenant.query(_UNTOLD, (tenant.tenant_id, window.window_id))))

    async def clear_tell_later(self, transaction: Transaction, window: Window) -> None:
        """Remove the mark of `tell_later` from a locked window, because a note now shows callers' changes."""
        parameters = {"window_id": window.window_id}
        await transaction.query(_TOLD, parameters)

    async def change_head(self, transaction: Transaction, window: Window) -> None:
        """Write the system prompt, the tools and the goal of a locked window."""
        await self.renew(transaction, window)
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

    async def renew(self, transaction: Transaction, window: Window) -> None:
        """Replace the blocks of a locked window by their later form, because its prefix breaks anyway.

        See `packing.pure.steps.forms`: the later form has speakers' names, or has no reasoning.
        """
        roles = TextArray(["", *shared_roles(window.speakers)])
        parameters = {
            "context_id": window.context_id,
            "window_id": window.window_id,
            "roles": roles,
            "epoch": window.epoch + 1,
        }
        await transaction.query(_RENEW, parameters)

    async def change_pins(
        self, transaction: Transaction, window: Window, pieces: Sequence[Rendered], tokens: int
    ) -> None:
        """Write the rendered pins of a locked window."""
        await self.renew(transaction, window)
        parameters = {"window_id": window.window_id}
        await transaction.query(_CHANGE_PINS, {**parameters, "pieces": pieces_json(pieces), "tokens": tokens})

    async def view(self, window: Window, *, principal: Principal, number_from: int = 0) -> ShownView | None:
        """Return the parts that a window shows, or None if the window is gone.

        Args:
            window: The window whose parts are read.
            principal: The caller; it must be allowed to see the window.
            number_from: The first block to return. Summaries are returned only if this is 0.
        """
        tenant = self._log.of(principal, window.context_id)
        parameters = {"context_id": window.context_id, "window_id": window.window_id, "number_from": number_from}
        first, *rows = await tenant.query(_SEEN, parameters) or [None]
        if first is None:
            return None
        parts = await beside_the_loop(_ROW_BYTES * len(rows), _parts, rows)
        return ShownView(first.level, first.step_from, parts)

    async def tokens(self, window: Window, *, principal: Principal) -> int:
        """Return the tokens of all parts that a model sees, without head and state."""
        tenant = self._log.of(principal, window.context_id)
        (row,) = await tenant.query(_TOKENS, {"window_id": window.window_id})
        tokens: int = row.tokens
        return tokens

    async def tokens_in(self, transaction: Transaction, window: Window) -> int:
        """Do the same as `tokens` for a locked window, within the transaction that holds the lock."""
        parameters = {"window_id": window.window_id}
        (row,) = await transaction.query(_TOKENS, parameters)
        tokens: int = row.tokens
        return tokens

    async def blocks(self, window: Window, *, principal: Principal, with_units: bool = True) -> list[FoldableBlock]:
        """Return the blocks of a window with the fields that folds need.

        Args:
            window: The window that has the blocks.
            principal: The caller; it must be allowed to see the window.
            with_units: Read the units and names, too. A prepared fold does not need them, because its lines are chosen
                already.
        """
        tenant = self._log.of(principal, window.context_id)
        rows = await tenant.query(_BLOCKS if with_units else _SIZES, (tenant.tenant_id, window.window_id))
        size = sum(_ROW_BYTES + len(row.units) + len(row.said) for row in rows)
        return await beside_the_loop(size, _standings, rows)

    async def summaries(self, window: Window, *, principal: Principal) -> list[Summary]:
        """Return the summaries that a pack shows, and the blocks of its conversation, in the order of their steps."""
        tenant = self._log.of(principal, window.context_id)
        rows = await tenant.query(_SUMMARIES, (tenant.tenant_id, window.window_id))
        return await beside_the_loop(sum(_ROW_BYTES + len(row.kept) for row in rows), _each, _summary, rows)

    async def state_text(self, window: Window, *, principal: Principal) -> str:
        """Return the state's text, as the last fold of the window wrote it."""
        tenant = self._log.of(principal, window.context_id)
        rows = await tenant.query(_STATE_TEXT, (tenant.tenant_id, window.window_id))
        return rows[0].state_text if rows else ""

    async def state_text_in(self, transaction: Transaction, window: Window) -> str:
        """Do the same as `state_text` for a locked window, within the transaction that holds the lock."""
        (row,) = await transaction.query(_STATE_TEXT, (transaction.tenant_id, window.window_id))
        text: str = row.state_text
        return text

    async def prepare(self, window: Window, fold: Prepared, *, principal: Principal) -> bool:
        """Store a planned fold, in place of an earlier one; return False if the window has changed meanwhile."""
        tenant = self._log.of(principal, window.context_id)
        size = sum(_ROW_BYTES * (1 + len(summary.kept)) for summary in fold.made) + _WORTH_BYTES * len(fold.worth)
        parameters = {
            "window_id": window.window_id,
            "epoch": window.epoch,
            "retracted_count": window.retracted_count,
            "config": window.config_json,
            "prepared": await beside_the_loop(_WRITING * size, _prepared_text, fold),
        }
        return bool(await tenant.query(_PREPARE, parameters))

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
        """Store a planned fold with the texts of a model; return False if that fold is no longer the stored one.

        Args:
            window: The window that the fold is planned for.
            before: The fold, as it is stored now.
            fold: The same fold, with the texts that a model wrote.
            failures: The number of failures of the model in a row.
            extractive_to: The step up to which the model is not asked again; rules write these summaries.
            principal: The caller; it must be allowed to see the window.
        """
        tenant = self._log.of(principal, window.context_id)
        size = sum(_ROW_BYTES * (1 + len(summary.kept)) for summary in fold.made) + _WORTH_BYTES * len(fold.worth)
        parameters = {
            "window_id": window.window_id,
            "before": await beside_the_loop(_WRITING * size, _prepared_text, before),
            "prepared": await beside_the_loop(_WRITING * size, _prepared_text, fold),
            "failures": failures,
            "extractive_to": extractive_to,
        }
        rows = await tenant.query(_PREPARE_WRITTEN, parameters)
        return bool(rows and rows[0].is_written)

    async def failures_of_model(self, window: Window, *, principal: Principal) -> tuple[int, int]:
        """Return the number of failures of the model in a row, and the step up to which no call asks it."""
        tenant = self._log.of(principal, window.context_id)
        rows = await tenant.query(_FAILURES, (tenant.tenant_id, window.window_id))
        return (rows[0].model_failures, rows[0].extractive_to) if rows else (0, 0)

    async def prepared_fold(self, window: Window, *, principal: Principal) -> tuple[Prepared | None, int | None]:
        """Return the planned fold, if there is one, and the epoch of the last planned fold, if there was one."""
        tenant = self._log.of(principal, window.context_id)
        rows = await tenant.query(_PREPARED, (tenant.tenant_id, window.window_id))
        if not rows or rows[0].prepared_epoch is None:
            return None, None
        text = rows[0].prepared
        fold = await beside_the_loop(len(text), _prepared_of, text) if text else None
        return fold, rows[0].prepared_epoch

    async def tallies(self, window: Window, *, principal: Principal) -> Tallies:
        """Return the counts of tools and entities over the steps of a window."""
        tenant = self._log.of(principal, window.context_id)
        rows = await tenant.query(_COUNTED, {"window_id": window.window_id})
        stored_names = next((row.names for row in rows if row.kind == "window"), "{}")
        return await beside_the_loop(_size_of(rows), _tallies, stored_names, rows)

    async def at_hand(self, window: Window, *, count: int, principal: Principal) -> tuple[list[str], list[list[str]]]:
        """Return the newest open sub-goals, and the names that the last steps mention: up to `count` of each."""
        tenant = self._log.of(principal, window.context_id)
        parameters = {"window_id": window.window_id, "count": count}
        rows = await tenant.query(_AT_HAND, parameters)
        return [row.text for row in rows if row.text], [orjson.loads(row.names) for row in rows if not row.text]

    async def write_fold(
        self,
        transaction: Transaction,
        window: Window,
        *,
        masked_numbers: Sequence[int],
        removed_numbers: Sequence[int],
        cut_step: CutStep | None,
        merged_to: int,
        merged_tokens: int,
        removed_summaries: Sequence[Summary],
        new_summaries: Sequence[tuple[Summary, Sequence[Rendered]]],
        state: tuple[str, Sequence[Rendered], int],
        receipt: Receipt,
    ) -> None:
        """Write a fold of a locked window.

        Args:
            transaction: The transaction that holds the window's lock.
            window: The window before the fold, but with its new token factor.
            masked_numbers: The numbers of the blocks that are masked from now on.
            removed_numbers: The numbers of the blocks that are no longer shown.
            cut_step: The newest step, if the fold cuts it.
            merged_to: The number of steps that summaries stand for after the fold.
            merged_tokens: The tokens that these steps had as blocks.
            removed_summaries: The summaries that new ones replace.
            new_summaries: The new summaries, each with its rendered form.
            state: The state's text, its rendered form, and its tokens.
            receipt: The receipt, which explains the fold.
        """
        tenant_id, window_id = transaction.tenant_id, window.window_id
        parameters = {"tenant_id": tenant_id, "window_id": window_id}
        await self.renew(transaction, window)
        if masked_numbers:
            await transaction.query(_MASK, (window.epoch + 1, tenant_id, window_id, list(masked_numbers)))
        if removed_numbers:
            rows = await transaction.query(_REMOVE, (window.epoch + 1, tenant_id, window_id, list(removed_numbers)))
            (stored_tallies_row,) = await transaction.query(_TALLIES, (tenant_id, window_id))
            tallies = await beside_the_loop(_size_of(rows), _tallies, stored_tallies_row.tallies, rows)
            await transaction.query(_KEEP_TALLIES, (stored_tallies(tallies), tenant_id, window_id))
        if cut_step:
            named_cut = {"number": cut_step.number, "pieces": pieces_json(cut_step.pieces), "tokens": cut_step.tokens}
            await transaction.query(_CUT, parameters | named_cut | {"epoch": window.epoch + 1, "renderer": RENDERER})
        if removed_summaries:
            places = [old.step_from for old in removed_summaries], [old.level for old in removed_summaries]
            await transaction.query(_OUT_OF_VIEW, (window.epoch + 1, tenant_id, window_id, *places))
        if new_summaries:
            columns = _summary_columns(new_summaries)
            await transaction.query(_ADD_SUMMARIES, {**parameters, **columns, "epoch": window.epoch + 1})
        text, pieces, tokens = state
        await transaction.query(
            _FOLDED,
            {
                **parameters,
                "merged": merged_to,
                "merged_tokens": merged_tokens,
                "state_text": text,
                "state_pieces": pieces_json(pieces),
                "state_tokens": tokens,
                "token_factor": window.token_factor,
            },
        )
        await self.account(transaction, window, receipt)

    async def inherit(
        self, transaction: Transaction, fork: Window, blocks: Sequence[tuple[Summary, Sequence[Rendered]]]
    ) -> None:
        """Write the blocks of the conversation zone with which a new fork begins, each with its rendered form.

        They are of epoch 0, in which no fold writes, so that a rebuild of the window keeps them.
        """
        if blocks:
            parameters = {"window_id": fork.window_id, "epoch": 0}
            await transaction.query(_ADD_SUMMARIES, {**parameters, **_summary_columns(blocks)})

    async def account(self, transaction: Transaction, window: Window, receipt: Receipt) -> None:
        """Write the receipt of a break of the prefix, after the break itself was written."""
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
        """Return the receipts of a window before an epoch, newest first."""
        tenant = self._log.of(principal, window.context_id)
        rows = await tenant.query(_RECEIPTS, (tenant.tenant_id, window.window_id, before, before, count))
        return await beside_the_loop(_size_of_receipts(rows), _each, _receipt, rows)

    async def receipt(self, transaction: Transaction, window: Window, epoch: int) -> Receipt:
        """Return the receipt of an epoch, which must exist."""
        (row,) = await transaction.query(_RECEIPTS, (transaction.tenant_id, window.window_id, epoch + 1, epoch + 1, 1))
        return _receipt(row)

    async def receipts_since(
        self, window: Window, *, principal: Principal, epoch_after: int, count: int
    ) -> list[Receipt]:
        """Return the receipts of a window after an epoch, up to its own epoch, oldest first."""
        tenant = self._log.of(principal, window.context_id)
        rows = await tenant.query(
            _RECEIPTS_FROM, (tenant.tenant_id, window.window_id, epoch_after, window.epoch, count)
        )
        return await beside_the_loop(_size_of_receipts(rows), _each, _receipt, rows)

    async def entries_from(
        self, window: Window, *, principal: Principal, number_from: int, count: int
    ) -> list[StoredEntry]:
        """Return the current entries from a number on, in order, at most `count`.

        Entries that are newer than the window as the caller read it are left out.
        """
        tenant = self._log.of(principal, window.context_id)
        parameters = tenant.tenant_id, window.window_id, number_from, window.entry_count, count
        rows = await tenant.query(_HELD_FROM, parameters)
        return await beside_the_loop(_ROW_BYTES * len(rows), _each, _stored_entry, rows)

    async def kept_pins(self, transaction: Transaction, window: Window) -> list[StoredEntry]:
        """Delete the pins of retracted messages in a locked window, and return the remaining pins."""
        parameters = {"context_id": window.context_id, "window_id": window.window_id}
        await transaction.query(_FORGET_PINS, parameters)
        return await self.entries_in(transaction, window, [PIN])

    async def retracted(self, transaction: Transaction, window: Window) -> tuple[int, Rewound | None]:
        """Return the number of retracted messages of the log, and the place to which a locked window goes back.

        The place is None if the window must read its log again from the beginning, and if the count is unchanged.
        """
        key = {"tenant_id": transaction.tenant_id, "window_id": window.window_id}
        parameters = {**key, "context_id": window.context_id, "known": window.retracted_count}
        (since,) = await transaction.query(_RETRACTED_SINCE, parameters)
        (folded_to,) = await transaction.query(_FOLDED_TO, key)
        count: int = since.retracted
        if folded_to.is_unknown or since.count == 0 or since.count != count - window.retracted_count:
            return count, None
        rows = await transaction.query(_STEPS, (transaction.tenant_id, window.window_id), named=False)
        place = rewound(
            [StepPlace(*row) for row in rows],
            since.seq,
            folded_step=window.folded_step,
            seq_folded=folded_to.seq,
            end=Rewound(window.block_count, window.step_count + 1, window.reached_seq + 1),
        )
        return count, place

    async def restart(
        self,
        transaction: Transaction,
        window: Window,
        place: Rewound | None,
        *,
        retracted_count: int,
        pins: Sequence[Rendered],
        tokens: int,
    ) -> None:
        """Delete the blocks and entries that a locked window made from its log.

        Args:
            transaction: The transaction that holds the lock.
            window: The window, which the transaction has locked.
            place: The first step to delete, or None to delete all.
            retracted_count: The number of retracted messages of the log.
            pins: The remaining pins, rendered for a model.
            tokens: The tokens of the remaining pins.
        """
        await self.renew(transaction, window)
        parameters: dict[str, Any] = {"window_id": window.window_id}
        parameters |= {"pieces": pieces_json(pins), "tokens": tokens, "retracted_count": retracted_count}
        await transaction.query(_REWIND if place else _BEGIN_ANEW, parameters | (place._asdict() if place else {}))


def _parts(rows: Sequence[Row]) -> list[ViewPart]:
    """Return the parts of rows, with what their files use of the vendor's limits."""
    return [
        copied(
            ViewPart,
            row,
            pieces_json=row.pieces,
            refs=tuple(row.refs.split()),
            files=_file_uses(row.files)[row.level == 1],
        )
        for row in rows
    ]


def _files_json(block: NewBlock) -> str:
    """Return what the files of a block use, whole and masked, as a JSON list; empty if it has none."""
    return "" if block.files == NO_FILES else _json([tuple(block.files), tuple(block.masked_files)])


def _file_uses(text: str) -> tuple[FileUse, FileUse]:
    """Return what the files of a block use, whole and masked."""
    whole, masked = (FileUse(*use) for use in orjson.loads(text)) if text else (NO_FILES, NO_FILES)
    return whole, masked


def _columns(blocks: Sequence[NewBlock]) -> dict[str, Any]:
    """Return the blocks as columns: one array for each column of the table, for an insert with `unnest`."""
    return {
        "tokens": [block.tokens for block in blocks],
        "seqs_from": [block.seq_from for block in blocks],
        "seqs_to": [block.seq_to for block in blocks],
        "pieces": TextArray([pieces_json(block.pieces) for block in blocks]),
        "steps": [block.step for block in blocks],
        "kinds": TextArray([block.kind for block in blocks]),
        "errors": [block.is_error for block in blocks],
        "masked": TextArray([pieces_json(block.masked[0]) if block.masked else None for block in blocks]),
        "masked_tokens": [block.masked[1] if block.masked else None for block in blocks],
        "units": TextArray([_json(list(map(_unit_row, block.units))) for block in blocks]),
        "names": TextArray([_json(sorted(block.names)) for block in blocks]),
        "tools": TextArray([_json(list(map(tuple, block.tools))) for block in blocks]),
        "block_refs": TextArray([" ".join(block.refs) for block in blocks]),
        "later_pieces": TextArray([pieces_json(block.later.block.pieces) if block.later else None for block in blocks]),
        "later_tokens": [block.later.block.tokens if block.later else None for block in blocks],
        "later_roles": TextArray([block.later.role if block.later else "" for block in blocks]),
        "block_speakers": TextArray([block.speaker for block in blocks]),
        "said": TextArray([block.said for block in blocks]),
        "files": TextArray([_files_json(block) for block in blocks]),
    }


def _summary_columns(summaries: Sequence[tuple[Summary, Sequence[Rendered]]]) -> dict[str, Any]:
    """Return summaries as columns, as `_columns` does for blocks.

    Args:
        summaries: The summaries, each with its rendered form.
    """
    rows = [summary for summary, _ in summaries]
    return {
        "levels": [summary.level for summary in rows],
        "steps_from": [summary.step_from for summary in rows],
        "steps_to": [summary.step_to for summary in rows],
        "seqs_from": [summary.seq_from for summary in rows],
        "seqs_to": [summary.seq_to for summary in rows],
        "tokens": [summary.tokens for summary in rows],
        "texts": TextArray([summary.text for summary in rows]),
        "pieces": TextArray([pieces_json(pieces) for _, pieces in summaries]),
        "kept": TextArray([_json(list(map(_scored_row, summary.kept))) for summary in rows]),
        "methods": TextArray([summary.method for summary in rows]),
        "verdicts": TextArray([summary.verdict for summary in rows]),
    }


def _each(parse: Callable[[Row], _T], rows: Sequence[Row]) -> list[_T]:
    """Parse each row. A function of its own, so that it can run off the event loop."""
    results = []
    for row in rows:
        check_wanted()
        results.append(parse(row))
    return results


def _size_of_account(account: FoldAccount) -> int:
    """Estimate the bytes of an account as JSON."""
    return 20 * len(account.masked_steps) + _ROW_BYTES * (
        len(account.summaries) + len(account.state_added) + len(account.state_removed)
    )


def _account_json(account: FoldAccount) -> str:
    return _json(asdict(account))


def _size_of_receipts(rows: Sequence[Row]) -> int:
    """Estimate the cost of parsing receipts, in bytes of JSON parsing."""
    return sum(_ROW_BYTES + _READING * len(row.receipt) for row in rows)


def _size_of(rows: Sequence[Row]) -> int:
    """Estimate the cost of adding up the names of steps, in bytes of JSON parsing."""
    return sum(_ROW_BYTES + _COUNTING * len(row.names) for row in rows)


def _tallies(names: str, rows: Sequence[Row]) -> Tallies:
    """Return the tallies with those of the removed steps added."""
    steps = [
        StepTally(
            step=row.step,
            seq=row.seq_from,
            names=orjson.loads(row.names),
            tools=[ToolUse(*row) for row in orjson.loads(row.tools)],
        )
        for row in rows
        if row.kind == STEP
    ]
    return add_tallies(loaded_tallies(names), steps)


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


def _unit_row(unit: Unit) -> tuple[Any, ...]:
    """Return a unit (a line that a summary may quote) as a JSON array, in which it is stored; `_unit` parses it."""
    return unit.kind, unit.text, unit.ref, unit.seq, unit.weight, unit.speaker


def _unit(row: Sequence[Any]) -> Unit:
    kind, text, ref, seq, weight, speaker = row
    return Unit(kind=kind, text=text, ref=ref, seq=seq, weight=weight, speaker=speaker)


def _scored_row(scored: Scored) -> tuple[Any, ...]:
    """Return a line of a summary as a JSON array, in which it is stored; `_scored` parses it."""
    return *_unit_row(scored.unit), scored.step, scored.is_error


def _standings(rows: Sequence[Row]) -> list[FoldableBlock]:
    return list(map(_foldable_block, rows))


def _foldable_block(row: Row) -> FoldableBlock:
    """Return a row as a block with the fields that folds need."""
    whole, masked = _file_uses(row.files)
    return copied(
        FoldableBlock,
        row,
        is_appended=row.kind != STEP,
        is_notice=row.kind == NOTICE,
        units=tuple(map(_unit, orjson.loads(row.units))),
        names=frozenset(orjson.loads(row.names)),
        tools=tuple(name for name, *_ in orjson.loads(row.tools)),
        files=masked if row.is_masked else whole,
        masked_files=masked,
    )


def _summary(row: Row) -> Summary:
    return copied(Summary, row, kept=_scored(orjson.loads(row.kept)))


def _scored(rows: Sequence[Sequence[Any]]) -> tuple[Scored, ...]:
    return tuple(Scored(unit=_unit(row[:6]), step=row[6], is_error=row[7]) for row in rows)


def _prepared_text(fold: Prepared) -> str:
    """Return a prepared fold as JSON, in which it is stored; `_prepared_of` parses it."""
    parameters = {field.name: getattr(fold, field.name) for field in fields(fold)}
    parameters["made"] = [
        {field.name: getattr(summary, field.name) for field in fields(summary)}
        | {"kept": list(map(_scored_row, summary.kept))}
        for summary in fold.made
    ]
    return _json(parameters)


def _prepared_of(text: str) -> Prepared:
    """Parse a prepared fold that `_prepared_text` wrote."""
    fields = orjson.loads(text)
    fields["gone"] = [(level, step_from) for level, step_from in fields["gone"]]
    fields["entries"] = [Entry(**entry) for entry in fields.get("entries", ())]
    fields["worth"] = [(worth, is_shown) for worth, is_shown in fields["worth"]]
    fields["made"] = [Summary(**summary | {"kept": _scored(summary["kept"])}) for summary in fields["made"]]
    return Prepared(**fields)


def _account(fields: dict[str, Any]) -> FoldAccount:
    lists = {"summaries": FoldSummary, "state_added": StateChange, "state_removed": StateChange}
    return FoldAccount(**fields | {name: [of(**item) for item in fields.get(name, ())] for name, of in lists.items()})


def _receipt(row: Row) -> Receipt:
    return copied(Receipt, row, account=_account(orjson.loads(row.receipt)))


def _all_held(rows: Sequence[Row]) -> list[StoredEntry]:
    return list(map(_stored_entry, rows))


def _stored_entry(row: Row) -> StoredEntry:
    entry = copied(Entry, row)
    return copied(StoredEntry, row, entry=entry)
