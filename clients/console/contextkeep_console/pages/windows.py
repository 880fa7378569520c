"""Windows: what a model sees of a context, within a budget, and how it came to be so."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from contextkeep import (
    BodyFile,
    Checkpoint,
    Context,
    CostEstimate,
    File,
    FoldReceipt,
    MessageTrace,
    PackPart,
    TracedMessage,
    Window,
    WindowStats,
)
from contextkeep.errors import InvalidArgument
from contextkeep_console import charts, code
from contextkeep_console.pages.contexts import window_columns
from contextkeep_console.rendering import query
from contextkeep_console.tables import Column, Table, facts
from contextkeep_console.titles import titles_of
from contextkeep_console.trees import block_text
from contextkeep_console.trouble import part
from contextkeep_console.visit import Visit, everything, take

CONTEXTS_LOOKED_AT = 20  # whose windows the index shows
STEPS_AHEAD = 1_000
FOLDS_MAX = 500
ZONES = {  # in the order of a pack
    "system": "system prompt and tools",
    "pins": "pins",
    "note": "how to read it",
    "conversation": "messages of users",
    "digests": "digests of segments",
    "segments": "segments of old steps",
    "state": "state of the work",
    "masked": "steps, results masked",
    "verbatim": "steps, as they were",
    "recalled": "recalled",
}
_COUNTED = ("tool", "entity")
TABS = (("", "Window"), ("/pack", "Pack"), ("/state", "State and checkpoints"))


async def index(visit: Visit) -> Response:
    """List the windows of the newest contexts, or of one."""
    result = visit.query_value("context")
    rows: list[tuple[Context | None, Window]] = []
    if result:
        rows = [(None, item) for item in await everything(visit.context.windows.list(result, **visit.whose), 16)]
    else:
        contexts: list[Context]
        contexts, _ = await take(
            visit.context.contexts.list(page_size=CONTEXTS_LOOKED_AT, **visit.whose), CONTEXTS_LOOKED_AT
        )
        answer = await asyncio.gather(
            *(everything(visit.context.windows.list(context.context_id, **visit.whose), 16) for context in contexts)
        )
        rows = [(context, window) for context, windows in zip(contexts, answer, strict=True) for window in windows]
    with_windows = {context.context_id: context for context, _ in rows if context}
    titles = await titles_of(visit, with_windows.values())
    of_context = Column(
        name="context",
        value=lambda row: titles.get(row[1].context_id) or row[1].context_id,
        link=lambda row: f"/contexts/{row[1].context_id}",
    )
    table = Table(
        name="windows",
        title="Windows",
        columns=(*(_of_second(column) for column in window_columns()), of_context),
        rows=rows,
        empty=(
            "No window is open on it."
            if result
            else f"None of the {CONTEXTS_LOOKED_AT} newest contexts has a window. Open one as below, or name a context."
        ),
    )
    return visit.render(
        "windows.html",
        here="windows",
        title="Windows",
        table=table,
        looked_at=CONTEXTS_LOOKED_AT,
        code=code.Code(
            python=code.python_each("context", "windows.list", result or "CONTEXT", **visit.whose),
            shell=code.shell("window", "list", result or "CONTEXT"),
        ),
        begin=code.Code(
            python=code.python("context", "windows.open", result or "CONTEXT", "gpt-5", system_prompt="Be brief."),
            shell=code.shell("window", "open", result or "CONTEXT", "gpt-5", system="Be brief."),
        ),
    )


def _of_second(column: Column) -> Column:
    """Return a column of windows for rows that are pairs of a context and a window."""
    link = column.link
    return Column(
        name=column.name,
        value=lambda row: column.value(row[1]),
        kind=column.kind,
        link=(lambda row: link(row[1])) if link else None,
        is_minor=column.is_minor,
    )


async def show(visit: Visit) -> Response:
    """Show a window in numbers: zones, folds, cost."""
    window_id = visit.step("window_id")
    window = await visit.context.windows.get(window_id, **visit.whose)
    stats, lineage, cost = await asyncio.gather(
        part(visit.context.windows.stats(window_id, **visit.whose)),
        part(everything(visit.context.windows.get_lineage(window_id, **visit.whose), FOLDS_MAX)),
        part(visit.context.windows.estimate_cost(window_id, steps=STEPS_AHEAD, **visit.whose)),
    )
    return visit.render(
        "window.html",
        here="windows",
        title=f"Window for {window.model}",
        window=window,
        tabs=TABS,
        tab="",
        stats=stats,
        cost=cost,
        steps_ahead=STEPS_AHEAD,
        zones=_zones(window, stats.value) if stats.value else None,
        sawtooth=_sawtooth(window, stats.value, lineage.value or []) if stats.value else None,
        costs=_costs(cost.value) if cost.value else None,
        levels=_levels(stats.value) if stats.value else None,
        folds=_folds(lineage.value or []),
        lineage=lineage,
        facts=facts(
            [
                ("Model", window.model),
                ("Messages as", window.message_format),
                ("Counted by", f"{window.tokens_family}{' (estimated)' if window.tokens_are_estimated else ''}"),
                ("Limit", f"{window.token_limit:,} of {window.context_tokens:,} tokens"),
                ("Goal", window.goal),
                ("Profile", window.compression_profile),
                ("Steps read", f"{window.step_count:,}, up to message {window.reached_seq:,}"),
                ("In summaries", f"{window.left_out_count:,} steps"),
                ("Epoch", window.epoch),
                ("Left out by rollbacks", ", ".join(window.left_out_refs)),
                ("Owner", window.owner_user_id),
                ("Created", window.created_at),
                ("Updated", window.updated_at),
                ("Closed", "yes" if window.is_closed else ""),
            ]
        ),
        code=code.Code(
            python=code.python("context", "windows.stats", window_id, **visit.whose),
            shell=code.shell("window", "stats", window_id),
        ),
    )


def _zones(window: Window, stats: WindowStats) -> charts.Stack:
    """Return the bar that shows how many tokens each zone of the last pack has."""
    return charts.stack(
        "Tokens by zone, as the last pack had them",
        {ZONES.get(zone, zone): float(tokens) for zone, tokens in stats.tokens_by_zone.items()},
        unit="tokens",
        whole=window.token_limit,
    )


def _sawtooth(window: Window, stats: WindowStats, lineage: Sequence[FoldReceipt]) -> charts.Line | None:
    """Return the chart of a window's tokens over its steps; None if there is nothing to draw.

    A *fold* is one compaction of the window. Its receipt has the tokens before and after it.
    """
    done = sorted((item for item in lineage if item.created_at is not None), key=lambda row: row.epoch)
    points: list[tuple[float, float]] = [(0.0, 0.0)]
    for entry in done:
        points += [(entry.step_count, entry.tokens_before), (entry.step_count, entry.tokens_after)]
    points.append((max(window.step_count, points[-1][0]), stats.tokens))
    if len(points) < 3 and not stats.tokens:
        return None
    folds = len(done)
    return charts.line(
        "Tokens of a pack over the steps",
        points,
        x_name="steps",
        y_name="tokens",
        description=(
            f"The prefix broke {folds} {'time' if folds == 1 else 'times'} in {window.step_count:,} steps;"
            f" {stats.tokens:,} tokens now, {window.token_limit:,} at most."
        ),
        marks=[
            (
                item.step_count,
                item.tokens_after,
                f"epoch {item.epoch}, {item.reason}: {item.tokens_before:,} to {item.tokens_after:,}",
            )
            for item in done
        ],
        limit=window.token_limit,
        limit_text="limit",
    )


def _costs(cost: CostEstimate) -> charts.Bars:
    """Return the chart that compares the estimated cost of the next steps with that of a sliding window."""
    ahead = {
        "this window": cost.ahead.base_tokens,
        "one that leaves out the older half": cost.sliding.base_tokens,
    }
    saved = 1 - cost.ahead.base_tokens / cost.sliding.base_tokens if cost.sliding.base_tokens else 0
    return charts.bars(
        f"Cost of the next {STEPS_AHEAD:,} steps, in tokens at the price without a cache",
        ahead,
        unit="tokens",
        description=f"{saved:.0%} less than a window that slides, with {cost.folds} folds." if saved > 0 else "",
    )


def _levels(stats: WindowStats) -> Table:
    """Return the table of a window's zones (the sections of a pack), with the steps and tokens that each shows."""
    return Table(
        name="levels",
        title="What each zone shows of the log",
        columns=(
            Column(name="zone", value=lambda row: ZONES.get(row.zone, row.zone)),
            Column(name="steps", value=lambda row: row.step_count, kind="number"),
            Column(name="tokens of the log", value=lambda row: row.log_tokens, kind="number"),
            Column(name="tokens shown", value=lambda row: row.tokens, kind="number"),
            Column(name="times fewer", value=lambda row: round(row.ratio, 1), kind="share"),
        ),
        rows=stats.levels,
        empty="The window has read no step yet. Pack it.",
    )


def _folds(lineage: Sequence[FoldReceipt]) -> Table:
    """Return the table of a window's folds: compactions, after which a vendor's prompt cache has to be filled again."""
    return Table(
        name="folds",
        title="Folds and other breaks of the prefix",
        columns=(
            Column(name="epoch", value=lambda row: row.epoch, kind="number"),
            Column(name="reason", value=lambda row: row.reason, kind="state"),
            Column(name="step", value=lambda row: row.step_count, kind="number"),
            Column(name="before", value=lambda row: row.tokens_before, kind="number"),
            Column(name="after", value=lambda row: row.tokens_after, kind="number"),
            Column(name="breaks in", value=lambda row: row.first_change, is_minor=True),
            Column(name="kept", value=lambda row: row.tokens_kept, kind="number", is_minor=True),
            Column(name="pays after", value=lambda row: row.pays_after_steps, kind="number", is_minor=True),
            Column(name="rules", value=lambda row: row.rules, kind="prose", is_minor=True),
            Column(name="at", value=lambda row: row.created_at, kind="time"),
        ),
        rows=lineage,
        empty="The prefix has never been broken: all packs begin alike, and a vendor's cache keeps them.",
    )


async def pack(visit: Visit) -> Response:
    """Show part by part what the last pack had, each with the way to its original."""
    window_id = visit.step("window_id")
    window, explained = await asyncio.gather(
        visit.context.windows.get(window_id, **visit.whose),
        visit.context.windows.explain_pack(window_id, **visit.whose),
    )
    return _pack(visit, window, explained.parts, None)


async def pack_now(visit: Visit) -> Response:
    """Pack the window, as a program would, and show what a model would see."""
    window_id = visit.step("window_id")
    result = await visit.context.windows.pack(window_id, without_recall=True, **visit.whose)
    window, explained = await asyncio.gather(
        visit.context.windows.get(window_id, **visit.whose),
        visit.context.windows.explain_pack(window_id, **visit.whose),
    )
    return _pack(visit, window, explained.parts, result)


def _pack(visit: Visit, window: Window, parts: Sequence[PackPart], item: Any) -> Response:
    """Return the page of a pack, the request for a model.

    Args:
        visit: The request of the visitor.
        window: The window that was packed.
        parts: The parts of its last pack.
        item: The pack, if the visitor has just made it, or None.
    """
    table = Table(
        name="parts",
        title="Parts, in the order of the prompt",
        columns=(
            Column(name="zone", value=lambda row: ZONES.get(row.zone, row.zone), kind="state"),
            Column(name="level", value=lambda row: row.level or "", is_minor=True),
            Column(name="steps", value=_steps),
            Column(name="tokens", value=lambda row: row.tokens, kind="number"),
            Column(
                name="original",
                value=lambda row: row.ref,
                link=lambda row: f"/windows/{window.window_id}/original{query({'ref': row.ref})}" if row.ref else "",
            ),
        ),
        rows=parts,
        empty="It was never packed. Pack it now.",
    )
    return visit.render(
        "pack.html",
        here="windows",
        title="Pack",
        window=window,
        tabs=TABS,
        tab="/pack",
        table=table,
        pack=item,
        blocks=_blocks(item.messages_json, item.files) if item else [],
        code=code.Code(
            python=code.python("context", "windows.pack", window.window_id, **visit.whose),
            shell=code.shell("window", "pack", window.window_id, body=True),
        ),
    )


def _steps(item: PackPart) -> str:
    if not item.step_from:
        return ""
    return str(item.step_from) if item.step_from == item.step_to else f"{item.step_from} to {item.step_to}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A piece of a request: a message, or another field, such as the tools."""

    author: str  # a role, or the name of the field
    text: str
    files: Sequence[File] = ()


def _blocks(messages_json: str, files: Sequence[BodyFile]) -> list[Block]:
    """Return the pieces of a request of any vendor, each with the files that the model sees in it.

    Args:
        messages_json: The request. The places of the bytes of files are empty.
        files: The files, each with the JSON Pointer of its place.
    """
    body = json.loads(messages_json)
    if isinstance(body, list):
        body = {"messages": body}
    of_piece: dict[tuple[str, str], list[File]] = defaultdict(list)
    for file in files:
        _, name, place, *_ = [*file.pointer.split("/"), "", ""]
        of_piece[name, place].append(
            File(
                working_memory_id=file.working_memory_id,
                media_type=file.media_type,
                sha256=file.sha256,
                size_bytes=file.size_bytes,
            )
        )
    blocks: list[Block] = []
    for name, value in body.items():
        if name in {"messages", "input", "contents"} and isinstance(value, list):
            blocks += [_message_block(item, of_piece[name, str(number)]) for number, item in enumerate(value)]
        else:
            blocks.append(Block(author=name, text=value if isinstance(value, str) else _text_of(value)))
    return blocks


def _message_block(item: Any, files: Sequence[File]) -> Block:
    """Return a message of a request."""
    message = item if isinstance(item, dict) else {"content": item}
    author = str(message.get("role") or message.get("type") or "")
    content = message.get("content") or message.get("parts")
    rest = {name: value for name, value in message.items() if name not in {"role", "content", "parts"}}
    texts = [_text_of(content) if content else "", block_text(rest) if rest else ""]
    return Block(author=author, text="\n\n".join(filter(None, texts)), files=files)


def _text_of(content: Any) -> str:
    """Return the content of a vendor's message as text: the text of its text blocks, and other blocks as trees."""
    if isinstance(content, str):
        return content
    return "\n\n".join(map(block_text, content)) if isinstance(content, list) else block_text(content)


async def state(visit: Visit) -> Response:
    """Show the state of the work, the pins, and the ways back."""
    window_id = visit.step("window_id")
    window, entries, checkpoints = await asyncio.gather(
        visit.context.windows.get(window_id, **visit.whose),
        visit.context.windows.get_state(window_id, **visit.whose),
        part(everything(visit.context.windows.list_checkpoints(window_id, **visit.whose), FOLDS_MAX)),
    )
    original = f"/windows/{window_id}/original"
    columns = (
        Column(name="section", value=lambda row: row.section, kind="state"),
        Column(name="key", value=lambda row: row.key),
        Column(name="text", value=lambda row: row.text, kind="prose"),
        Column(name="value", value=lambda row: row.value),
        Column(
            name="said in",
            value=lambda row: row.ref or row.source,
            link=lambda row: f"{original}{query({'ref': row.ref})}" if row.ref else "",
        ),
        Column(name="last step", value=lambda row: row.last_step or "", kind="number", is_minor=True),
    )
    table = Table(
        name="state",
        title="State of the work",
        columns=columns,
        rows=[entry for entry in entries if entry.section not in {*_COUNTED, "pin"}],
        empty="Nothing is known of the work yet: rules read it from the log, and windows.patch_state says it.",
    )
    counted = Table(
        name="counted",
        title="Tools and entities that steps speak of",
        columns=columns,
        rows=[entry for entry in entries if entry.section in _COUNTED],
        empty="No tool was called, and nothing is named twice.",
    )
    back: Sequence[Checkpoint] = checkpoints.value or []
    return visit.render(
        "window_state.html",
        here="windows",
        title="State",
        window=window,
        tabs=TABS,
        tab="/state",
        table=table,
        counted=counted,
        pins=[entry for entry in entries if entry.section == "pin"],
        checkpoints=back,
        checkpoints_trouble=checkpoints.trouble,
        code=code.Code(
            python=code.python_each("context", "windows.get_state", window_id, **visit.whose),
            shell=code.shell("window", "state", window_id),
        ),
        pin_code=code.Code(
            python=code.python("context", "windows.pin", window_id, "Answer in French.", **visit.whose),
            shell=code.shell("window", "pin", window_id, "Answer in French."),
        ),
        unpin_code=code.Code(
            python=code.python("context", "windows.unpin", window_id, "KEY", **visit.whose),
            shell=code.shell("window", "unpin", window_id, "KEY"),
        ),
        checkpoint_code=code.Code(
            python=code.python("context", "windows.create_checkpoint", window_id, "before the upgrade", **visit.whose),
            shell=code.shell("window", "checkpoint", window_id, label="before the upgrade"),
        ),
        rollback_code=code.Code(
            python=code.python(
                "context", "windows.rollback", window_id, 1, expected_last_seq=window.reached_seq, **visit.whose
            ),
            shell=code.shell("window", "rollback", window_id, 1, last=window.reached_seq),
        ),
    )


def _places(trace: MessageTrace) -> Table:
    """Return the table of the places where packs show messages."""
    return Table(
        name="places",
        title="Where it is now",
        columns=(
            Column(name="message", value=lambda row: row.ref),
            Column(name="place", value=lambda row: row.place, kind="state"),
            Column(name="since epoch", value=lambda row: row.since.epoch if row.since else "", kind="number"),
            Column(name="rule", value=lambda row: (row.since.rule or row.since.reason) if row.since else ""),
            Column(name="lines that packs show", value=_shown_lines, kind="prose"),
        ),
        rows=trace.messages,
        empty="Packs have no place for it.",
    )


def _shown_lines(message: TracedMessage) -> list[str]:
    if message.place == "verbatim":
        return ["all"]
    return [f"{ZONES.get(line.zone, line.zone)}: {line.text}" for line in message.lines]


async def original(visit: Visit) -> Response:
    """Show the original text that a ref of a pack names, and where the last packs show it."""
    window_id, ref = visit.step("window_id"), visit.query_value("ref")
    if not ref:
        raise InvalidArgument("name a ref, such as m3/1", field="ref")
    result, trace = await asyncio.gather(
        visit.context.windows.expand(window_id, ref, **visit.whose),
        part(visit.context.windows.trace_message(window_id, ref, **visit.whose)),
    )
    return visit.render(
        "original.html",
        here="windows",
        title=f"Original of {ref[:60]}",
        window_id=window_id,
        ref=ref,
        found=result,
        places=_places(trace.value) if trace.value else None,
        code=code.Code(
            python=code.python("context", "windows.expand", window_id, ref, **visit.whose),
            shell=code.shell("window", "expand", window_id, ref),
        ),
    )


async def pin(visit: Visit) -> Response:
    """Pin a text."""
    form = await visit.form()
    window_id = visit.step("window_id")
    await visit.context.windows.pin(window_id, str(form.get("text", "")), ref=str(form.get("ref", "")), **visit.whose)
    return visit.redirect(f"/windows/{window_id}/state", "It is pinned: every pack has it from now on.")


async def unpin(visit: Visit) -> Response:
    """Take a pin away."""
    form = await visit.form()
    window_id = visit.step("window_id")
    await visit.context.windows.unpin(window_id, str(form.get("pin", "")), **visit.whose)
    return visit.redirect(f"/windows/{window_id}/state", "The pin is gone.")


async def checkpoint(visit: Visit) -> Response:
    """Keep a way back."""
    form = await visit.form()
    window_id = visit.step("window_id")
    result = await visit.context.windows.create_checkpoint(window_id, str(form.get("label", "")), **visit.whose)
    return visit.redirect(f"/windows/{window_id}/state", f"Checkpoint {result.number} is kept.")


async def rollback(visit: Visit) -> Response:
    """Go back to a checkpoint, if the log is as the visitor saw it."""
    form = await visit.form()
    window_id = visit.step("window_id")
    numbers = [str(form.get(name, "")) for name in ("checkpoint", "last_seq")]
    if form.get("sure") != "yes" or not all(each.isdecimal() for each in numbers):
        raise InvalidArgument("say that you are sure, and to which checkpoint", field="sure")
    number, last_seq = map(int, numbers)
    done = await visit.context.windows.rollback(window_id, number, expected_last_seq=last_seq, **visit.whose)
    return visit.redirect(
        f"/windows/{window_id}/state",
        f"Rolled back to checkpoint {number}: {done.left_out_message_count} messages are left out since.",
    )
