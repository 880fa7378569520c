"""Windows on contexts, and what they are packed to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from contextkeep.context.v1 import chat_history_pb2 as history_pb
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.values.base import Value, parsed, parsed_object, time_of
from contextkeep.values.contexts import ContextKey, RecalledItem
from contextkeep.values.imported import Imported, imported_of
from contextkeep.values.messages import ChatMessage

# What a pack is made of, the most stable first.
ZONES = ("system", "pins", "note", "digests", "segments", "state", "masked", "verbatim", "recalled")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ImportanceWeights(Value):
    """What makes a line worth keeping; each from 0 to 1, None: the default."""

    recency: float | None = None  # how new it is: half as much every 30 steps; 0.1
    relevance: float | None = None  # what it has of the goal's words; 0.15
    causal: float | None = None  # how many later steps speak of the same things; 0.1
    references: float | None = None  # whether it says where something is; 0.05
    success: float | None = None  # whether its step ended well; 0.05
    domain: float | None = None  # what the profile makes of its kind; 0.55


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TierRatios(Value):
    """What a fold leaves to a zone at most, as shares of a window's limit; together up to 1, None: the default."""

    hot: float | None = None  # the last steps, as they were; 0.4
    segments: float | None = None  # 0.14
    digests: float | None = None  # 0.14
    state: float | None = None  # 0.07


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TokenPrices(Value):
    """Of a token each, in one unit, such as dollars a million; None: the default."""

    input: float | None = None  # of a prompt; 1
    cache_write: float | None = None  # of a prompt, written to the vendor's cache; 1.25
    cache_read: float | None = None  # of a prompt, read from it; 0.1
    output: float | None = None  # of an answer; 5


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WindowConfig(Value):
    """How a window folds, and what it may cost; None is the default."""

    importance_weights: ImportanceWeights | None = None
    tier_ratios: TierRatios | None = None
    high_mark: float | None = None  # share of the limit over which it folds; 0.97
    low_mark: float | None = None  # to which it folds; 0.5
    keep_last_steps: int | None = None  # that a fold leaves as they are, if they fit `tier_ratios.hot`; 10
    summarize_every_n_steps: int | None = None  # steps of a segment; 20
    prices: TokenPrices | None = None
    max_total_tokens: int | None = None  # that its packs and its forks' may have together; 0: any number
    cache_ttl_s: int | None = None  # how long the vendor's cache keeps it; 300, of OpenAI's models 600; 0: for ever
    checkpoint_every_n_steps: int | None = None  # behind so many, and before each fold; 50; 0: none
    recovery_strategy: str | None = None  # "rollback_to_checkpoint", the default, or "reread_from_checkpoint"
    summarization_model: str | None = None  # that writes segments of prepared folds: "auto", one by its name, or "none"
    summarization_prompt: str | None = None  # what it shall write down; "": the default
    summarization_style: str | None = None  # "structured" or "narrative"
    learning: bool | None = None  # it counts what is looked up, and takes what was learned of its profile; off
    prefetch: bool | None = None  # what the things at hand were last used with is recalled, too; off

    @classmethod
    def from_proto(cls, config: windows_pb.WindowConfig) -> WindowConfig:
        """Return the value of a message."""
        said = {field.name: value for field, value in config.ListFields()}
        for name, of in _GROUPS.items():
            if name in said:
                said[name] = of(**{field.name: value for field, value in said[name].ListFields()})
        return cls(**said)


_GROUPS: dict[str, type[Value]] = {
    "importance_weights": ImportanceWeights,
    "tier_ratios": TierRatios,
    "prices": TokenPrices,
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LearnedCount(Value):
    """How often something was looked up."""

    seen: int  # that folds took out of sight
    asked: int  # how often such a one was looked up then


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LearnedProfile(Value):
    """What was learned of a profile: it is `base` with other numbers."""

    base: str  # such as "coding" or "mine@2"
    app_id: str  # of whose windows; empty: of those of no app
    context_count: int  # from how many contexts
    line_factors: Mapping[str, float]  # by what weights of kinds of lines are multiplied: 0.8 to 1.2
    result_factors: Mapping[str, float]  # and characters of rules of `tool_output_trim`, by number, or "default"
    line_counts: Mapping[str, LearnedCount] = field(default_factory=dict)  # if they were asked for
    result_counts: Mapping[str, LearnedCount] = field(default_factory=dict)

    @classmethod
    def from_proto(cls, learned: windows_pb.LearnedProfile) -> LearnedProfile:
        """Return the value of a message."""
        return cls(
            base=learned.base,
            app_id=learned.app_id,
            context_count=learned.context_count,
            line_factors=dict(learned.line_factors),
            result_factors=dict(learned.result_factors),
            line_counts=_counts(learned.line_counts),
            result_counts=_counts(learned.result_counts),
        )


def _counts(said: Mapping[str, windows_pb.LearnedCount]) -> Mapping[str, LearnedCount]:
    return {kind: LearnedCount(seen=one.seen, asked=one.asked) for kind, one in said.items()}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Learning(Value):
    """What is known of a profile and an app."""

    profile: str  # as windows have it that learn of it
    app_id: str
    is_frozen: bool  # nothing more is counted and learned
    version: int  # that windows get which learn; 0: none was learned
    context_count: int  # in how many something was looked up, since it was undone

    @classmethod
    def from_proto(cls, known: windows_pb.SetLearningResponse) -> Learning:
        """Return the value of a message."""
        return cls(
            profile=known.profile,
            app_id=known.app_id,
            is_frozen=known.is_frozen,
            version=known.version,
            context_count=known.context_count,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CompressionProfile(Value):
    """What is worth keeping of a log, as data."""

    name: str
    version: int = 0  # from 1; 0 of one that comes with the service
    text: str = ""  # YAML or JSON, if it was asked for
    created_by: str = ""
    created_at: datetime | None = None  # of the version; None: it comes with the service
    learned: LearnedProfile | None = None  # of a version that was learned, which has no text

    @property
    def is_built_in(self) -> bool:
        """Say whether it comes with the service."""
        return not self.version

    def __str__(self) -> str:
        return f"{self.name}@{self.version}" if self.version else self.name

    @classmethod
    def from_proto(cls, profile: windows_pb.CompressionProfile) -> CompressionProfile:
        """Return the value of a message."""
        return cls(
            name=profile.name,
            version=profile.version,
            text=profile.text,
            created_by=profile.created_by,
            created_at=time_of(profile.created_at) if profile.HasField("created_at") else None,
            learned=LearnedProfile.from_proto(profile.learned) if profile.HasField("learned") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WindowFork(Value):
    """What was forked from a window."""

    ref: str  # such as "f3": what its refs begin with
    context_id: str
    window_id: str
    created_at: datetime
    merged_ref: str = ""  # the message that its result came back as; empty: it was not merged
    is_ended: bool = False  # it was merged, or it is erased

    @classmethod
    def from_proto(cls, fork: windows_pb.WindowFork) -> WindowFork:
        """Return the value of a message."""
        return cls(
            ref=fork.ref,
            context_id=fork.context_id,
            window_id=fork.window_id,
            created_at=time_of(fork.created_at),
            merged_ref=fork.merged_ref,
            is_ended=fork.is_ended,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Window(Value):
    """What one model shall see of a context."""

    window_id: str
    context_id: str
    model: str
    message_format: str  # whose messages it packs: "openai", "openai_responses", "anthropic" or "gemini"
    tokens_family: str  # whose tokenizer counts: "o200k", "cl100k", "claude" or "gemini"
    context_tokens: int  # what the model takes, with its answer
    token_limit: int  # what a request may have
    system_prompt: str = ""  # a list of windows lacks it, and `tools_json`
    tools_json: str = ""
    goal: str = ""
    epoch: int = 0  # how often the prefix of its packs was broken
    reached_seq: int = 0  # all messages up to it are in it
    step_count: int = 0
    left_out_count: int = 0  # of them, steps that summaries stand for
    owner_user_id: str = ""  # empty: nobody's in particular
    created_by: str = ""
    created_at: datetime
    updated_at: datetime
    is_closed: bool = False
    compression_profile: str = "general"  # what it keeps when it folds
    config: WindowConfig = field(default_factory=WindowConfig)  # with the defaults
    spent_tokens: int = 0  # of its packs and its forks' together, if its config has `max_total_tokens`
    token_factor: float = 1.0  # tokens as it counts them, times this, are what is billed at most in 95 of 100 calls
    tokens_are_estimated: bool = False  # the vendor's tokenizer is not public, or not installed
    left_out_refs: tuple[str, ...] = ()  # of messages that rollbacks left out: "m51..m90"
    imported: Imported | None = None  # None: no import wrote it
    forks: tuple[WindowFork, ...] = ()  # the newest 100, the newest first; `get_window` alone says them

    @property
    def tools(self) -> list[Any]:
        """Return the list of tools."""
        return parsed(self.tools_json) or []

    def __str__(self) -> str:
        closed = ", closed" if self.is_closed else ""
        return f"window of {self.model} on {self.context_id} ({self.token_limit} tokens{closed})"

    @classmethod
    def from_proto(cls, window: windows_pb.Window, forks: Iterable[windows_pb.WindowFork] = ()) -> Window:
        """Return the value of a message, and of what was forked from it."""
        return cls(
            window_id=window.window_id,
            context_id=window.context_id,
            model=window.model,
            message_format=history_pb.MessageFormat.Name(window.format).removeprefix("MESSAGE_FORMAT_").lower(),
            tokens_family=window.tokens_family,
            context_tokens=window.context_tokens,
            token_limit=window.token_limit,
            system_prompt=window.system_prompt,
            tools_json=window.tools_json,
            goal=window.goal,
            epoch=window.epoch,
            reached_seq=window.reached_seq,
            step_count=window.step_count,
            left_out_count=window.left_out_count,
            owner_user_id=window.owner_user_id,
            created_by=window.created_by,
            created_at=time_of(window.created_at),
            updated_at=time_of(window.updated_at),
            is_closed=window.is_closed,
            compression_profile=window.compression_profile,
            config=WindowConfig.from_proto(window.config),
            spent_tokens=window.spent_tokens,
            token_factor=window.token_factor,
            tokens_are_estimated=window.tokens_are_estimated,
            left_out_refs=tuple(window.left_out_refs),
            imported=imported_of(window.imported, is_set=window.HasField("imported")),
            forks=tuple(map(WindowFork.from_proto, forks)),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CacheBreakpoint(Value):
    """A place of a pack where a vendor's cache of prompts is to be told that something ends that stays."""

    pointer: str  # the last piece in front of it, as a JSON Pointer into the body
    zone: str  # what ends there: system, digests, state or verbatim
    tokens: int = 0  # of the pack up to there


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Pack(Value):
    """What a model shall see now, for the body of a request to it."""

    messages_json: str
    prefix_bytes: int = 0  # so many of them begin the next pack, too, until the epoch is another one
    prefix_sha: str = ""  # their SHA-256, in hexadecimal
    tokens: int = 0  # of the whole
    tokens_by_zone: Mapping[str, int] = field(default_factory=dict, hash=False)  # of `ZONES`, what there is
    step_count: int = 0  # that are seen, as they were or masked
    omitted_step_count: int = 0  # that are seen in excerpts only
    omitted_tokens: int = 0
    epoch: int = 0
    last_seq: int = 0  # the newest message that was read
    is_waiting: bool = False  # the last step waits for results: the model is to be asked when they are there
    fold_eta_steps: int = 0  # after about how many more steps it folds
    wrap_up: bool = False  # the work should come to its end: `max_total_tokens` of the window are nearly spent
    calibrated_tokens: int = 0  # what is billed for `tokens` at most, as far as is known
    breakpoints: tuple[CacheBreakpoint, ...] = ()  # up to 4, in their order
    pack_id: str = ""  # for `report_response`
    annotations: Mapping[str, str] = field(default_factory=dict)  # of what the operator installed to decide on packs
    omitted_refs: tuple[str, ...] = ()  # of messages that are seen in excerpts only
    recalled_refs: tuple[str, ...] = ()  # of passages that are recalled

    @property
    def body(self) -> dict[str, Any]:
        """Return what goes into the request: `messages` (and `system`), Gemini's `contents`, or Responses' `input`.

        With `tools`, if the window has some.
        """
        return parsed_object(self.messages_json)

    @property
    def cached_body(self) -> dict[str, Any]:
        """Return `body` for Anthropic, with a `cache_control` at each of `breakpoints`; of other formats as it is."""
        body = self.body
        for one in self.breakpoints:
            piece: Any = body
            for name in one.pointer.split("/")[1:]:
                piece = piece[int(name) if isinstance(piece, list) else name]
            is_block = one.pointer.startswith("/system/") or "/content/" in one.pointer  # of Anthropic
            if is_block and piece["type"] not in ("thinking", "redacted_thinking"):  # which take none
                piece["cache_control"] = {"type": "ephemeral"}
        return body

    def __str__(self) -> str:
        return self.messages_json

    @classmethod
    def from_proto(cls, pack: windows_pb.PackResponse, since: Pack | None = None) -> Pack:
        """Return the value of a message; `since` is the pack whose first bytes it leaves out."""
        known = since.messages_json.encode()[: pack.offset_bytes].decode() if since and pack.offset_bytes else ""
        return cls(
            messages_json=known + pack.messages_json,
            prefix_bytes=pack.prefix_bytes,
            prefix_sha=pack.prefix_sha,
            tokens=pack.tokens,
            tokens_by_zone=_zones(pack.tokens_by_zone),
            step_count=pack.step_count,
            omitted_step_count=pack.omitted.step_count,
            omitted_tokens=pack.omitted.tokens,
            epoch=pack.epoch,
            last_seq=pack.last_seq,
            is_waiting=pack.is_waiting,
            fold_eta_steps=pack.fold_eta_steps,
            wrap_up=pack.wrap_up,
            calibrated_tokens=pack.calibrated_tokens,
            breakpoints=tuple(
                CacheBreakpoint(pointer=one.pointer, zone=one.zone, tokens=one.tokens) for one in pack.breakpoints
            ),
            pack_id=pack.pack_id,
            omitted_refs=tuple(pack.omitted.refs),
            recalled_refs=tuple(pack.recalled_refs),
            annotations=dict(pack.annotations),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PackPart(Value):
    """A part of what a window shows."""

    zone: str  # of `ZONES`
    level: int = 0  # of summaries: 2 a segment, 3 a digest of segments, 4 one of digests
    step_from: int = 0
    step_to: int = 0
    ref: str = ""  # what `expand` takes for the originals; empty of what the window says itself
    tokens: int = 0
    method: str = ""  # of summaries: "extractive", or "model"
    verdict: str = ""  # of what a model wrote for it: "accepted", or why it is not used; empty: none was asked

    @classmethod
    def from_proto(cls, part: windows_pb.PackPart) -> PackPart:
        """Return the value of a message."""
        return cls(
            zone=part.zone,
            level=part.level,
            step_from=part.step_from,
            step_to=part.step_to,
            ref=part.ref,
            tokens=part.tokens,
            method=part.method,
            verdict=part.verdict,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StateChange(Value):
    """An entry that came into the state as a model reads it, or left it."""

    section: str  # see `StateEntry`
    ref: str  # what `expand` takes for what it says

    def __str__(self) -> str:
        return f"{self.section} {self.ref}"

    @classmethod
    def from_proto(cls, change: windows_pb.StateChange) -> StateChange:
        """Return the value of a message."""
        return cls(section=change.section, ref=change.ref)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FoldReceipt(Value):
    """The account of a break of a window's prefix."""

    epoch: int  # since it
    # "high_mark", "cache_cold", "requested", "goal" or "prepared"; or "updated", "pinned", "unpinned", "retracted" or
    # "rolled_back"
    reason: str
    created_at: datetime | None = None  # None: it is not done
    last_seq: int = 0
    step_count: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    rules: tuple[str, ...] = ()  # what was done
    masked_steps: tuple[int, ...] = ()
    merged_step_count: int = 0  # that are in summaries since
    dropped_count: int = 0  # notes and recalled passages that are shown no longer
    summaries: tuple[PackPart, ...] = ()  # that are new
    state_tokens: int = 0
    state_left_out_count: int = 0  # entries for which the state had no room
    state_added: tuple[StateChange, ...] = ()  # that it shows since, and did not show before
    state_removed: tuple[StateChange, ...] = ()  # that it shows no longer
    first_change: str = ""  # the zone in which the prefix breaks
    tokens_kept: int = 0  # in front of that: a vendor's cache keeps them
    tokens_written_again: int = 0  # behind it
    pays_after_steps: int = -1  # when the smaller prompt has paid for that; -1: never
    token_factor: float = 0.0  # of a fold: by which the budget was kept, and is since
    prepared_last_seq: int = 0  # how far the window had read when it was prepared; 0: it was not
    checkpoint: int = 0  # that it was rolled back to; 0: it was not
    left_out_refs: tuple[str, ...] = ()  # of messages that are left out since
    left_out_step_count: int = 0

    def __str__(self) -> str:
        return f"epoch {self.epoch}: {self.tokens_before} to {self.tokens_after} tokens, {self.reason}"

    @classmethod
    def from_proto(cls, receipt: windows_pb.FoldReceipt) -> FoldReceipt:
        """Return the value of a message."""
        return cls(
            epoch=receipt.epoch,
            reason=receipt.reason,
            created_at=time_of(receipt.created_at) if receipt.HasField("created_at") else None,
            last_seq=receipt.last_seq,
            step_count=receipt.step_count,
            tokens_before=receipt.tokens_before,
            tokens_after=receipt.tokens_after,
            rules=tuple(receipt.rules),
            masked_steps=tuple(receipt.masked_steps),
            merged_step_count=receipt.merged_step_count,
            dropped_count=receipt.dropped_count,
            summaries=tuple(map(PackPart.from_proto, receipt.summaries)),
            state_tokens=receipt.state_tokens,
            state_left_out_count=receipt.state_left_out_count,
            state_added=tuple(map(StateChange.from_proto, receipt.state_added)),
            state_removed=tuple(map(StateChange.from_proto, receipt.state_removed)),
            first_change=receipt.first_change,
            tokens_kept=receipt.tokens_kept,
            tokens_written_again=receipt.tokens_written_again,
            pays_after_steps=receipt.pays_after_steps,
            token_factor=receipt.token_factor,
            prepared_last_seq=receipt.prepared_last_seq,
            checkpoint=receipt.checkpoint,
            left_out_refs=tuple(receipt.left_out_refs),
            left_out_step_count=receipt.left_out_step_count,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Checkpoint(Value):
    """A way back: what a window was."""

    number: int  # from 1, of the window
    reason: str  # "steps", "fold" (before it) or "caller"
    label: str = ""
    created_by: str = ""  # empty: the window itself
    created_at: datetime
    epoch: int = 0
    last_seq: int = 0  # the newest message that the window had read
    step_count: int = 0
    imported: Imported | None = None  # None: no import wrote it

    def __str__(self) -> str:
        label = f", {self.label}" if self.label else ""
        return f"checkpoint {self.number}, behind step {self.step_count} ({self.reason}{label})"

    @classmethod
    def from_proto(cls, checkpoint: windows_pb.Checkpoint) -> Checkpoint:
        """Return the value of a message."""
        return cls(
            number=checkpoint.number,
            reason=checkpoint.reason,
            label=checkpoint.label,
            created_by=checkpoint.created_by,
            created_at=time_of(checkpoint.created_at),
            epoch=checkpoint.epoch,
            last_seq=checkpoint.last_seq,
            step_count=checkpoint.step_count,
            imported=imported_of(checkpoint.imported, is_set=checkpoint.HasField("imported")),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RolledBack(Value):
    """What a rollback did."""

    receipt: FoldReceipt
    left_out_message_ids: tuple[str, ...] = ()  # the oldest first, up to 1,000
    left_out_message_count: int = 0

    @classmethod
    def from_proto(cls, done: windows_pb.RollbackResponse) -> RolledBack:
        """Return the value of a message."""
        return cls(
            receipt=FoldReceipt.from_proto(done.receipt),
            left_out_message_ids=tuple(done.left_out_message_ids),
            left_out_message_count=done.left_out_message_count,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Recovered(Value):
    """What to try again with, behind a response that was of no use."""

    pack: Pack
    rolled_back: RolledBack | None = None  # None: it was done before

    @classmethod
    def from_proto(cls, recovered: windows_pb.ReportResponseResponse) -> Recovered:
        """Return the value of a message."""
        done = RolledBack(
            receipt=FoldReceipt.from_proto(recovered.receipt),
            left_out_message_ids=tuple(recovered.left_out_message_ids),
            left_out_message_count=recovered.left_out_message_count,
        )
        return cls(pack=Pack.from_proto(recovered.pack), rolled_back=done if recovered.HasField("receipt") else None)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Forked(Value):
    """A window of its own for a part of the work. Its key is shown once, and not when this is printed."""

    window: Window
    ref: str  # such as "f3": what its refs begin with, where it was forked
    key: ContextKey | None = None  # None: the caller's is of a context itself, and reaches it

    @classmethod
    def from_proto(cls, forked: windows_pb.ForkWindowResponse) -> Forked:
        """Return the value of an answer."""
        key = ContextKey(key=forked.key, expires_at=time_of(forked.key_expires_at)) if forked.key else None
        return cls(window=Window.from_proto(forked.window), ref=forked.ref, key=key)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Merged(Value):
    """What came back of a fork: a message where it was forked."""

    context_id: str
    window_id: str
    ref: str  # such as "m57"
    message_id: str
    tokens: int = 0
    is_whole: bool = False  # all that there was to bring back had room
    fork_ref: str = ""

    @classmethod
    def from_proto(cls, merged: windows_pb.MergeWindowResponse) -> Merged:
        """Return the value of an answer."""
        return cls(**{name: getattr(merged, name) for name in cls.__slots__})


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Outcome(Value):
    """Of which steps it is known how they ended, and what is remembered of them."""

    step_from: int
    step_to: int
    memory_id: str = ""

    @classmethod
    def from_proto(cls, recorded: windows_pb.RecordOutcomeResponse) -> Outcome:
        """Return the value of an answer."""
        return cls(step_from=recorded.step_from, step_to=recorded.step_to, memory_id=recorded.memory_id)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Calibrated(Value):
    """What a bill taught about a window's counts of tokens."""

    token_factor: float  # by which its budget is kept from now on: see `Window`
    typical_factor: float  # what a token is billed at in half of the calls
    is_clamped: bool = False  # the bill was beyond what is believed, and counts as half or twice what was counted

    @classmethod
    def from_proto(cls, learned: windows_pb.RecordUsageResponse) -> Calibrated:
        """Return the value of a message."""
        return cls(
            token_factor=learned.token_factor, typical_factor=learned.typical_factor, is_clamped=learned.is_clamped
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PackCost(Value):
    """Tokens of prompts, as they are billed, and what they cost."""

    read_tokens: int = 0  # from the vendor's cache
    written_tokens: int = 0  # to it
    base_tokens: float = 0.0  # what they cost, in tokens that no cache is asked for
    price: float = 0.0  # by the window's `prices`, if those are of a million tokens

    @classmethod
    def from_proto(cls, cost: windows_pb.PackCost) -> PackCost:
        """Return the value of a message."""
        return cls(
            read_tokens=cost.read_tokens,
            written_tokens=cost.written_tokens,
            base_tokens=cost.base_tokens,
            price=cost.price,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CostEstimate(Value):
    """What a window's next packs cost."""

    warm: PackCost  # the next one, if the vendor's cache holds the last
    cold: PackCost  # the next one, if it holds nothing
    fold: PackCost  # the one behind a fold
    ahead: PackCost  # all of the steps
    folds: int = 0  # of those
    sliding: PackCost  # the same of a window that leaves out the older half whenever it is full
    step_tokens: int = 0  # of one step, as counted
    typical_factor: float = 1.0  # what a token that is counted is billed at

    @classmethod
    def from_proto(cls, estimate: windows_pb.EstimateCostResponse) -> CostEstimate:
        """Return the value of a message."""
        return cls(
            warm=PackCost.from_proto(estimate.warm),
            cold=PackCost.from_proto(estimate.cold),
            fold=PackCost.from_proto(estimate.fold),
            ahead=PackCost.from_proto(estimate.ahead),
            folds=estimate.folds,
            sliding=PackCost.from_proto(estimate.sliding),
            step_tokens=estimate.step_tokens,
            typical_factor=estimate.typical_factor,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LevelStats(Value):
    """What a zone of a window shows of the log."""

    zone: str  # "digests", "segments", "masked" or "verbatim"
    step_count: int = 0  # that it stands for
    log_tokens: int = 0  # of those
    tokens: int = 0  # that are shown
    ratio: float = 0.0  # how many times fewer that is

    @classmethod
    def from_proto(cls, level: windows_pb.LevelStats) -> LevelStats:
        """Return the value of a message."""
        return cls(
            zone=level.zone,
            step_count=level.step_count,
            log_tokens=level.log_tokens,
            tokens=level.tokens,
            ratio=level.ratio,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WindowUsage(Value):
    """What was billed for the packs of a window, together."""

    call_count: int = 0
    pack_tokens: int = 0  # as they were counted
    input_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    cached_share: float = 0.0  # of the input, what was read from a cache
    base_tokens: float = 0.0  # as in `PackCost`
    price: float = 0.0  # with the answers

    @classmethod
    def from_proto(cls, usage: windows_pb.WindowUsage) -> WindowUsage:
        """Return the value of a message."""
        return cls(
            call_count=usage.call_count,
            pack_tokens=usage.pack_tokens,
            input_tokens=usage.input_tokens,
            cached_tokens=usage.cached_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            output_tokens=usage.output_tokens,
            cached_share=usage.cached_share,
            base_tokens=usage.base_tokens,
            price=usage.price,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WindowStats(Value):
    """A window in numbers."""

    step_count: int = 0
    log_tokens: int = 0  # of all messages that it has read, as their context counts them
    tokens: int = 0  # of what it shows
    tokens_by_zone: Mapping[str, int] = field(default_factory=dict, hash=False)
    levels: tuple[LevelStats, ...] = ()  # the deepest first
    savings: float = 0.0  # share of the log, with what stands in front, that need not be sent
    breaks: Mapping[str, int] = field(default_factory=dict, hash=False)  # of the prefix, by reason
    predicted: PackCost  # of its packs, if there was one behind each step and the cache stayed warm
    predicted_cached_share: float = 0.0
    usage: WindowUsage  # what was billed
    token_factor: float = 1.0  # see `Window` and `Calibrated`
    typical_factor: float = 1.0
    tokens_are_estimated: bool = False

    @classmethod
    def from_proto(cls, stats: windows_pb.WindowStatsResponse) -> WindowStats:
        """Return the value of a message."""
        return cls(
            step_count=stats.step_count,
            log_tokens=stats.log_tokens,
            tokens=stats.tokens,
            tokens_by_zone=_zones(stats.tokens_by_zone),
            levels=tuple(map(LevelStats.from_proto, stats.levels)),
            savings=stats.savings,
            breaks={one.reason: one.count for one in stats.breaks},
            predicted=PackCost.from_proto(stats.predicted),
            predicted_cached_share=stats.predicted_cached_share,
            usage=WindowUsage.from_proto(stats.usage),
            token_factor=stats.token_factor,
            typical_factor=stats.typical_factor,
            tokens_are_estimated=stats.tokens_are_estimated,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Original(Value):
    """What a ref names: the bytes of a part or a passage, or messages."""

    content: bytes = b""
    sha256: str = ""  # of `content`, in hexadecimal
    is_json: bool = False  # `content` is JSON, as of data, calls and results
    messages: tuple[ChatMessage, ...] = ()
    next_ref: str = ""  # what comes behind the messages, if there is more

    @property
    def text(self) -> str:
        """Return `content` as a text; of what a tool answered as a text, that text."""
        value = parsed(self.content.decode()) if self.is_json else None
        return value if isinstance(value, str) else self.content.decode(errors="replace")

    def __str__(self) -> str:
        return self.text or "\n".join(map(str, self.messages))

    @classmethod
    def from_proto(cls, original: windows_pb.ExpandResponse) -> Original:
        """Return the value of a message."""
        return cls(
            content=original.content,
            sha256=original.sha256,
            is_json=original.is_json,
            messages=tuple(map(ChatMessage.from_proto, original.messages)),
            next_ref=original.next_ref,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WindowHit(Value):
    """A passage of a window's log, with the steps that it is of."""

    item: RecalledItem
    step_from: int = 0  # 0: of none that the window has read
    step_to: int = 0
    zone: str = ""  # in which the window shows it

    def __str__(self) -> str:
        return str(self.item)

    @classmethod
    def from_proto(cls, hit: windows_pb.WindowHit) -> WindowHit:
        """Return the value of a message."""
        return cls(item=RecalledItem.from_proto(hit.item), step_from=hit.step_from, step_to=hit.step_to, zone=hit.zone)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ExplainedPack(Value):
    """What a window shows, part by part, as its last pack had it."""

    parts: tuple[PackPart, ...] = ()
    tokens_by_zone: Mapping[str, int] = field(default_factory=dict, hash=False)
    epoch: int = 0

    @classmethod
    def from_proto(cls, explained: windows_pb.ExplainPackResponse) -> ExplainedPack:
        """Return the value of a message."""
        return cls(
            parts=tuple(map(PackPart.from_proto, explained.parts)),
            tokens_by_zone=_zones(explained.tokens_by_zone),
            epoch=explained.epoch,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StateEntry(Value):
    """A statement of the state of the work."""

    # "goal", "sub_goal", "constraint", "value", "decision", "question", "error", "artifact", "progress" or "pin"; of
    # what is counted "tool" or "entity"
    section: str
    key: str = ""  # what it is of: a later one takes its place; of a pin its id
    text: str = ""  # as it was said
    # Of a value, what it is; of a sub-goal its status; of progress the per cent; of an artifact "read" or "edited"; of
    # an entity "node", "path" or "name".
    value: str = ""
    ref: str = ""  # where; empty of what a caller said
    created_at: datetime
    source: str = "rule"  # which read it in the log; "model", which found it there; or "caller"
    count: int = 0  # of a tool its calls, of an entity the steps that speak of it
    failure_count: int = 0  # of a tool
    last_step: int = 0  # that has it

    def __str__(self) -> str:
        return f"{self.section}: {self.text} ({self.ref or self.source})"

    @classmethod
    def from_proto(cls, entry: windows_pb.StateEntry) -> StateEntry:
        """Return the value of a message."""
        return cls(
            section=entry.section,
            key=entry.key,
            text=entry.text,
            value=entry.value,
            ref=entry.ref,
            created_at=time_of(entry.created_at),
            source=entry.source,
            count=entry.count,
            failure_count=entry.failure_count,
            last_step=entry.last_step,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WindowEvent(Value):
    """Something that changed of a window: one of the first three."""

    broken: FoldReceipt | None = None  # what is cached of packs of an earlier epoch holds no longer, and why
    entry: StateEntry | None = None  # it came into the state
    window: Window | None = None  # as it is now, without `system_prompt` and `tools_json`
    epoch_after: int = 0  # from where on there is more, as the next one
    entry_from: int = 0

    @classmethod
    def from_proto(cls, answer: windows_pb.WatchWindowResponse) -> WindowEvent:
        """Return the value of a message."""
        return cls(
            broken=FoldReceipt.from_proto(answer.broken) if answer.HasField("broken") else None,
            entry=StateEntry.from_proto(answer.entry) if answer.HasField("entry") else None,
            window=Window.from_proto(answer.window) if answer.HasField("window") else None,
            epoch_after=answer.epoch_after,
            entry_from=answer.entry_from,
        )


def _zones(zones: windows_pb.PackZones) -> dict[str, int]:
    return {zone: tokens for zone in ZONES if (tokens := getattr(zones, zone))}
