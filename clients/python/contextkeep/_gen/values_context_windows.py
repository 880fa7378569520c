"""Values of contextkeep/context/v1/context_windows.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from contextkeep._gen.values_chat_history import MESSAGE_FORMATS, MessageFormat
from contextkeep._gen.values_contexts import RecalledItem
from contextkeep._gen.values_message import Imported
from contextkeep.context.v1 import context_windows_pb2 as pb
from contextkeep.values.base import Value, kept, time_of
from contextkeep.values.bases import CheckpointBase, CompressionProfileBase, OriginalBase, PackBase, WindowBase
from contextkeep.values.conversions import tokens_by_zone
from contextkeep.values.messages import ChatMessage

# What a fork has of the window that it is forked from.
ForkInheritance = Literal[
    "nothing",
    "pins",
    "state",
]
FORK_INHERITANCES: dict[int, ForkInheritance] = {
    1: "nothing",
    2: "pins",
    3: "state",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PackPart(Value):
    """A part of what a window shows."""

    # "pins", "digests", "segments", "state", "masked", "verbatim", "recalled" or "note".
    zone: str = ""
    # Of summaries: 2 a segment, 3 a digest of segments, 4 one of digests, and so on.
    level: int = 0
    step_from: int = 0
    step_to: int = 0
    # What `Expand` takes for the originals. Empty of what the window says itself.
    ref: str = ""
    tokens: int = 0
    # Of summaries: "extractive", lines of the originals, or "model". If a model was asked, what became of what it
    # wrote: "accepted", or which check it failed, such as "grounding: 8443 is in no source of its line"; then it is not
    # used.
    method: str = ""
    # Of a summary that a model wrote: "accepted", or why it is not used. Empty: no model was asked.
    verdict: str = ""

    @classmethod
    def from_proto(cls, message: pb.PackPart) -> PackPart:
        """Return the value of a message."""
        return cls(
            zone=message.zone,
            level=message.level,
            step_from=message.step_from,
            step_to=message.step_to,
            ref=message.ref,
            tokens=message.tokens,
            method=message.method,
            verdict=message.verdict,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StateChange(Value):
    """An entry that came into the state as a model reads it, or left it.

    What it says is where it was said, and goes with that.
    """

    # See StateEntry.
    section: str = ""
    # Expand takes it and returns the entry's text.
    ref: str = ""

    def __str__(self) -> str:
        return f"{self.section} {self.ref}"

    @classmethod
    def from_proto(cls, message: pb.StateChange) -> StateChange:
        """Return the value of a message."""
        return cls(
            section=message.section,
            ref=message.ref,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FoldReceipt(Value):
    """The account of a break of the prefix."""

    # Since it.
    epoch: int = 0
    # Of folds "high_mark", "cache_cold", "requested", "goal" or "prepared"; else "updated", "pinned", "unpinned",
    # "retracted" or "rolled_back".
    reason: str = ""
    # Unset: the fold is not done.
    created_at: datetime | None = None
    # How far the window had read.
    last_seq: int = 0
    step_count: int = 0
    # Of what was seen before, and behind it.
    tokens_before: int = 0
    tokens_after: int = 0
    # What was done, a sentence each.
    rules: tuple[str, ...] = ()
    # Numbers of the steps that are masked since, and how many are in summaries since.
    masked_steps: tuple[int, ...] = ()
    # Steps that are in summaries since.
    merged_step_count: int = 0
    # Notes and recalled passages that are shown no longer.
    dropped_count: int = 0
    # Those that are new.
    summaries: tuple[PackPart, ...] = ()
    # Of the state, and entries for which it had no room.
    state_tokens: int = 0
    # Entries for which the state had no room.
    state_left_out_count: int = 0
    # Where the prefix breaks: "system", "pins", "digests", "segments", "state" or, of what it is rolled back to,
    # "verbatim"; tokens in front of it, which a vendor's cache keeps, and behind, which are written again.
    first_change: str = ""
    # Tokens in front of that: a vendor's cache keeps them.
    tokens_kept: int = 0
    # Tokens after it, which are written again.
    tokens_written_again: int = 0
    # After how many steps the smaller prompt has paid for that, at the window's prices. -1: never.
    pays_after_steps: int = 0
    # Entries that the state shows since and did not show before, and those that it shows no longer: superseded, taken
    # back, or of no room.
    state_added: tuple[StateChange, ...] = ()
    # Entries that the state shows no longer.
    state_removed: tuple[StateChange, ...] = ()
    # Of a fold: by which the budget was kept, and is from then on: see Window.
    token_factor: float = 0.0
    # Of a fold that was prepared: how far the window had read when it was. 0: it was not.
    prepared_last_seq: int = 0
    # Of a rollback: to which checkpoint, the messages that are left out since, such as "m51..m90", and how many steps
    # are counted no more.
    checkpoint: int = 0
    # Of messages that are left out since.
    left_out_refs: tuple[str, ...] = ()
    left_out_step_count: int = 0

    def __str__(self) -> str:
        return f"epoch {self.epoch}: {self.tokens_before} to {self.tokens_after} tokens, {self.reason}"

    @classmethod
    def from_proto(cls, message: pb.FoldReceipt) -> FoldReceipt:
        """Return the value of a message."""
        return cls(
            epoch=message.epoch,
            reason=message.reason,
            created_at=time_of(message.created_at) if message.HasField("created_at") else None,
            last_seq=message.last_seq,
            step_count=message.step_count,
            tokens_before=message.tokens_before,
            tokens_after=message.tokens_after,
            rules=tuple(message.rules),
            masked_steps=tuple(message.masked_steps),
            merged_step_count=message.merged_step_count,
            dropped_count=message.dropped_count,
            summaries=tuple(map(PackPart.from_proto, message.summaries)),
            state_tokens=message.state_tokens,
            state_left_out_count=message.state_left_out_count,
            first_change=message.first_change,
            tokens_kept=message.tokens_kept,
            tokens_written_again=message.tokens_written_again,
            pays_after_steps=message.pays_after_steps,
            state_added=tuple(map(StateChange.from_proto, message.state_added)),
            state_removed=tuple(map(StateChange.from_proto, message.state_removed)),
            token_factor=message.token_factor,
            prepared_last_seq=message.prepared_last_seq,
            checkpoint=message.checkpoint,
            left_out_refs=tuple(message.left_out_refs),
            left_out_step_count=message.left_out_step_count,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StateEntry(Value):
    """A statement of the state."""

    # "goal", "sub_goal", "constraint", "value", "decision", "question", "error", "artifact", "progress" or "pin"; and
    # of what is counted "tool", the tools that were called, and "entity", the things that are spoken of, up to 50 of
    # each, the most frequent first.
    section: str = ""
    # What it is of, such as the name of a value or the path of a file: a later one takes its place. Of a pin its id.
    key: str = ""
    # As it was said.
    text: str = ""
    # Of a value, what it is; of a sub-goal its status; of an error, what helped; of progress the per cent, if it says
    # them; of an artifact "read" or "edited"; of an entity "node" (an id in the entity graph that metadata or data
    # name), "path" or "name".
    value: str = ""
    # Where. Empty of what a caller said.
    ref: str = ""
    created_at: datetime
    # Who says so: "rule", which read it in the log, "model", which found it there when a fold was prepared, or
    # "caller".
    source: str = ""
    # Of a tool its calls, and how many of them failed; of an entity the steps that speak of it. And the last step that
    # has it.
    count: int = 0
    # Of a tool.
    failure_count: int = 0
    # The newest step that has it.
    last_step: int = 0

    def __str__(self) -> str:
        return f"{self.section}: {self.text} ({self.ref or self.source})"

    @classmethod
    def from_proto(cls, message: pb.StateEntry) -> StateEntry:
        """Return the value of a message."""
        return cls(
            section=message.section,
            key=message.key,
            text=message.text,
            value=message.value,
            ref=message.ref,
            created_at=time_of(message.created_at),
            source=message.source,
            count=message.count,
            failure_count=message.failure_count,
            last_step=message.last_step,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ImportanceWeights(Value):
    """What makes a line worth keeping, when not all have room. 0 to 1 each; not all 0; they need not add up to 1."""

    # How new it is: half as much every 30 steps. 0.1.
    recency: float | None = None
    # What it has of the goal's words. 0.15.
    relevance: float | None = None
    # How many later steps speak of the same things. 0.1.
    causal: float | None = None
    # Whether it says where something is. 0.05.
    references: float | None = None
    # Whether its step ended well. 0.05.
    success: float | None = None
    # What the profile makes of its kind. 0.55.
    domain: float | None = None

    @classmethod
    def from_proto(cls, message: pb.ImportanceWeights) -> ImportanceWeights:
        """Return the value of a message."""
        return cls(
            recency=message.recency if message.HasField("recency") else None,
            relevance=message.relevance if message.HasField("relevance") else None,
            causal=message.causal if message.HasField("causal") else None,
            references=message.references if message.HasField("references") else None,
            success=message.success if message.HasField("success") else None,
            domain=message.domain if message.HasField("domain") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TierRatios(Value):
    """What a fold leaves to each zone, as shares of `token_limit`: caps, not sizes.

    0 to 1 each, and together up to 1.
    """

    # The last steps, as they were. 0.4.
    hot: float | None = None
    # 0.14.
    segments: float | None = None
    # 0.14.
    digests: float | None = None
    # Of the state, what need not be there: constraints and values are there, whatever they have. 0.07.
    state: float | None = None

    @classmethod
    def from_proto(cls, message: pb.TierRatios) -> TierRatios:
        """Return the value of a message."""
        return cls(
            hot=message.hot if message.HasField("hot") else None,
            segments=message.segments if message.HasField("segments") else None,
            digests=message.digests if message.HasField("digests") else None,
            state=message.state if message.HasField("state") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TokenPrices(Value):
    """Of a token each, in one unit, such as dollars a million. 0 to 1,000,000."""

    # Of a prompt. 1.
    input: float | None = None
    # Of a prompt, written to the vendor's cache. 1.25.
    cache_write: float | None = None
    # Of a prompt, read from it. 0.1.
    cache_read: float | None = None
    # Of an answer. 5.
    output: float | None = None

    @classmethod
    def from_proto(cls, message: pb.TokenPrices) -> TokenPrices:
        """Return the value of a message."""
        return cls(
            input=message.input if message.HasField("input") else None,
            cache_write=message.cache_write if message.HasField("cache_write") else None,
            cache_read=message.cache_read if message.HasField("cache_read") else None,
            output=message.output if message.HasField("output") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WindowConfig(Value):
    """How a window folds, and what it may cost.

    Unset is the default, which is named. Numbers that are none (NaN, infinite), out of their range, or that contradict
    each other are INVALID_ARGUMENT with the field's name, such as "config.tier_ratios".
    """

    importance_weights: ImportanceWeights | None = None
    tier_ratios: TierRatios | None = None
    # Shares of `token_limit`: over `high_mark` (0.97; 0.1 to 1) it folds, until `low_mark` is left (0.5; 0 and more,
    # below the other).
    high_mark: float | None = None
    # The share that is left after a fold; 0.5.
    low_mark: float | None = None
    # The last steps, which a fold leaves as they are if they fit `tier_ratios.hot`: 10; 1 to 1,000.
    keep_last_steps: int | None = None
    # Steps of a segment: 20; 1 to 1,000.
    summarize_every_n_steps: int | None = None
    prices: TokenPrices | None = None
    # Tokens that the packs of the window may have together, up to 10^15; 0: any number, which is the default. Each pack
    # counts once, with what it says in `tokens`, one that waits for results not at all; it is what the packs would
    # cost, whatever was sent to a model. Packs of its forks, and of theirs, count, too: the run may have so many,
    # whoever works. A fork begins without a limit of its own, and may get one besides.
    max_total_tokens: int | None = None
    # How long the vendor's cache keeps a prompt that nobody sends, up to 86,400 seconds; 0: for ever. By default 300,
    # of OpenAI's models 600. A window that was not packed for longer, by the database's clock, folds with its next
    # message if it is above half way between its marks and that takes away a quarter: all of it would be written anew
    # anyway. Another pack of the same log is the same, whenever.
    cache_ttl_s: int | None = None
    # It makes a checkpoint behind so many steps, up to 1,000, and before each fold: 50. 0: it makes none.
    checkpoint_every_n_steps: int | None = None
    # What ReportResponse leaves out: "rollback_to_checkpoint", the default, or "reread_from_checkpoint".
    recovery_strategy: str | None = None
    # What writes the segments of folds that are prepared (PrepareFold): "auto", the default, is the first of LLM_MODEL
    # that takes so much, if there is one; or one of these by its name; "none" are lines of the originals, which all
    # other folds choose.
    summarization_model: str | None = None
    # What it shall write down, up to 4,000 characters, in the place of the default; the form of its answer and what
    # becomes of it stay.
    summarization_prompt: str | None = None
    # "structured", the default: each line says one thing by itself, the most important first; or "narrative": they tell
    # in order what happened.
    summarization_style: str | None = None
    # Off. What is expanded and searched for of what folds took out of sight is counted, by kinds of lines and rules of
    # results of the profile, of all windows of the app and profile that learn; a key of a context teaches nothing. From
    # 20 contexts on, and again from twice as many, a version of the profile follows whose weights and caps differ by up
    # to a fifth; a window that is opened with this gets the newest.
    learning: bool | None = None
    # Off. Behind a user's message, what the things at hand were last used with is recalled, too: those that the open
    # sub-goals name, then those of the last ten steps.
    prefetch: bool | None = None

    @classmethod
    def from_proto(cls, message: pb.WindowConfig) -> WindowConfig:
        """Return the value of a message."""
        return cls(
            importance_weights=ImportanceWeights.from_proto(message.importance_weights) if message.HasField("importance_weights") else None,
            tier_ratios=TierRatios.from_proto(message.tier_ratios) if message.HasField("tier_ratios") else None,
            high_mark=message.high_mark if message.HasField("high_mark") else None,
            low_mark=message.low_mark if message.HasField("low_mark") else None,
            keep_last_steps=message.keep_last_steps if message.HasField("keep_last_steps") else None,
            summarize_every_n_steps=message.summarize_every_n_steps if message.HasField("summarize_every_n_steps") else None,
            prices=TokenPrices.from_proto(message.prices) if message.HasField("prices") else None,
            max_total_tokens=message.max_total_tokens if message.HasField("max_total_tokens") else None,
            cache_ttl_s=message.cache_ttl_s if message.HasField("cache_ttl_s") else None,
            checkpoint_every_n_steps=message.checkpoint_every_n_steps if message.HasField("checkpoint_every_n_steps") else None,
            recovery_strategy=message.recovery_strategy if message.HasField("recovery_strategy") else None,
            summarization_model=message.summarization_model if message.HasField("summarization_model") else None,
            summarization_prompt=message.summarization_prompt if message.HasField("summarization_prompt") else None,
            summarization_style=message.summarization_style if message.HasField("summarization_style") else None,
            learning=message.learning if message.HasField("learning") else None,
            prefetch=message.prefetch if message.HasField("prefetch") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Window(WindowBase):
    """What a model is to see of a context."""

    window_id: str = ""
    context_id: str = ""
    model: str = ""
    # Whose messages it packs.
    message_format: MessageFormat | Literal[""] = ""
    # Whose tokenizer counts: "o200k", "cl100k", "claude" or "gemini".
    tokens_family: str = ""
    # What the model takes, with its answer.
    context_tokens: int = 0
    # What a request may have: the smaller of the budget and what the answer leaves.
    token_limit: int = 0
    # Empty in lists, like `tools_json`.
    system_prompt: str = ""
    tools_json: str = ""
    goal: str = ""
    # How often the prefix of its packs was broken: by folds, by other prompts, tools, goals and pins, by messages that
    # were retracted, and by rollbacks.
    epoch: int = 0
    # All messages up to this `seq` are in it.
    reached_seq: int = 0
    # Steps that it has, and of them those that summaries stand for.
    step_count: int = 0
    # Steps for which summaries stand.
    left_out_count: int = 0
    owner_user_id: str = ""
    # The subject of the credential that opened it.
    created_by: str = ""
    created_at: datetime
    updated_at: datetime
    is_closed: bool = False
    # What it keeps when it folds: "general", "coding", "research" or "operations", or one of the tenant's with its
    # version, such as "mine@3".
    compression_profile: str = ""
    # As it was said, and the defaults.
    config: WindowConfig
    # Of its packs together, and of those of all that was forked from it, each counted once, since `config` has a
    # `max_total_tokens`; 0 without one. Of a fork: of its own.
    spent_tokens: int = 0
    # Tokens as it counts them, times this, are what a vendor bills for them in 95 of 100 calls at most: 1, until
    # RecordUsage says better. It is never over `token_limit` by that.
    token_factor: float = 0.0
    # Its counts are estimates: the vendor's tokenizer is not public, or not installed.
    tokens_are_estimated: bool = False
    # Of messages that rollbacks left out: "m51..m90".
    left_out_refs: tuple[str, ...] = ()
    # Unset: no import wrote it.
    imported: Imported | None = None
    forks: tuple[WindowFork, ...] = ()
    _tools: Any = kept()

    @classmethod
    def from_proto(cls, message: pb.Window) -> Window:
        """Return the value of a message."""
        return cls(
            window_id=message.window_id,
            context_id=message.context_id,
            model=message.model,
            message_format=MESSAGE_FORMATS.get(message.format, ""),
            tokens_family=message.tokens_family,
            context_tokens=message.context_tokens,
            token_limit=message.token_limit,
            system_prompt=message.system_prompt,
            tools_json=message.tools_json,
            goal=message.goal,
            epoch=message.epoch,
            reached_seq=message.reached_seq,
            step_count=message.step_count,
            left_out_count=message.left_out_count,
            owner_user_id=message.owner_user_id,
            created_by=message.created_by,
            created_at=time_of(message.created_at),
            updated_at=time_of(message.updated_at),
            is_closed=message.is_closed,
            compression_profile=message.compression_profile,
            config=WindowConfig.from_proto(message.config),
            spent_tokens=message.spent_tokens,
            token_factor=message.token_factor,
            tokens_are_estimated=message.tokens_are_estimated,
            left_out_refs=tuple(message.left_out_refs),
            imported=Imported.from_proto(message.imported) if message.HasField("imported") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WindowEvent(Value):
    """A change of a window: one of the first three fields."""

    # The prefix broke.
    broken: FoldReceipt | None = None
    # It came into the state, by what the window read, by a caller, or as a pin.
    entry: StateEntry | None = None
    # As it is now, without `system_prompt` and `tools_json`. At the beginning, whatever is known of it.
    window: Window | None = None
    # For the next call.
    epoch_after: int = 0
    entry_from: int = 0

    @classmethod
    def from_proto(cls, message: pb.WatchWindowResponse) -> WindowEvent:
        """Return the value of a message."""
        return cls(
            broken=FoldReceipt.from_proto(message.broken) if message.HasField("broken") else None,
            entry=StateEntry.from_proto(message.entry) if message.HasField("entry") else None,
            window=Window.from_proto(message.window) if message.HasField("window") else None,
            epoch_after=message.epoch_after,
            entry_from=message.entry_from,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LearnedProfile(Value):
    """What was learned of a profile: it is `base` with other numbers."""

    # Such as "coding" or "mine@2".
    base: str = ""
    # Of whose windows; empty: of those of no app.
    app_id: str = ""
    # From how many contexts: at least 20.
    context_count: int = 0
    # By what the weights of kinds of lines are multiplied, and the characters of rules of `tool_output_trim`, by their
    # number, from 0, or "default": 0.8 to 1.2. What is not named is as it is in `base`.
    line_factors: dict[str, float] = field(default_factory=dict, hash=False)
    # By what characters of rules of `tool_output_trim` are multiplied, by the rule's number, or "default".
    result_factors: dict[str, float] = field(default_factory=dict, hash=False)
    # Of which counts this follows, if it was asked for.
    line_counts: dict[str, LearnedCount] = field(default_factory=dict, hash=False)
    result_counts: dict[str, LearnedCount] = field(default_factory=dict, hash=False)

    @classmethod
    def from_proto(cls, message: pb.LearnedProfile) -> LearnedProfile:
        """Return the value of a message."""
        return cls(
            base=message.base,
            app_id=message.app_id,
            context_count=message.context_count,
            line_factors=dict(message.line_factors),
            result_factors=dict(message.result_factors),
            line_counts={key: LearnedCount.from_proto(one) for key, one in message.line_counts.items()},
            result_counts={key: LearnedCount.from_proto(one) for key, one in message.result_counts.items()},
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CompressionProfile(CompressionProfileBase):
    """What is worth keeping of a log."""

    name: str = ""
    # From 1; 0 of one that comes with the service.
    version: int = 0
    # YAML or JSON, if it was asked for.
    text: str = ""
    # Of the version; none of one that comes with the service.
    created_by: str = ""
    # When the version was made. Unset: the profile comes with the service.
    created_at: datetime | None = None
    # Of a version that was learned, which has no `text`.
    learned: LearnedProfile | None = None
    # Of the version. Unset: no import wrote it.
    imported: Imported | None = None

    @classmethod
    def from_proto(cls, message: pb.CompressionProfile) -> CompressionProfile:
        """Return the value of a message."""
        return cls(
            name=message.name,
            version=message.version,
            text=message.text,
            created_by=message.created_by,
            created_at=time_of(message.created_at) if message.HasField("created_at") else None,
            learned=LearnedProfile.from_proto(message.learned) if message.HasField("learned") else None,
            imported=Imported.from_proto(message.imported) if message.HasField("imported") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LearnedCount(Value):
    """How often something was looked up."""

    # That folds took out of sight.
    seen: int = 0
    # How often such a one was looked up then.
    asked: int = 0

    @classmethod
    def from_proto(cls, message: pb.LearnedCount) -> LearnedCount:
        """Return the value of a message."""
        return cls(
            seen=message.seen,
            asked=message.asked,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Learning(Value):
    """What is known of a profile and an app."""

    # As windows have it that learn of it.
    profile: str = ""
    app_id: str = ""
    # Nothing more is counted and learned.
    is_frozen: bool = False
    # That windows get which learn; 0: none was learned.
    version: int = 0
    # In how many something was looked up, since it was undone.
    context_count: int = 0

    @classmethod
    def from_proto(cls, message: pb.SetLearningResponse) -> Learning:
        """Return the value of a message."""
        return cls(
            profile=message.profile,
            app_id=message.app_id,
            is_frozen=message.is_frozen,
            version=message.version,
            context_count=message.context_count,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WindowFork(Value):
    """What was forked from a window."""

    # Such as "f3": what its refs begin with. A fork of a fork is "f3:f1".
    ref: str = ""
    context_id: str = ""
    window_id: str = ""
    created_at: datetime
    # The message that its result came back as, such as "m57". Empty: it was not merged.
    merged_ref: str = ""
    # It was merged, or it is erased.
    is_ended: bool = False

    @classmethod
    def from_proto(cls, message: pb.WindowFork) -> WindowFork:
        """Return the value of a message."""
        return cls(
            ref=message.ref,
            context_id=message.context_id,
            window_id=message.window_id,
            created_at=time_of(message.created_at),
            merged_ref=message.merged_ref,
            is_ended=message.is_ended,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CacheBreakpoint(Value):
    """A place of a pack."""

    # The last piece in front of it, as a JSON Pointer into the whole `messages_json`: "/system/0",
    # "/messages/3/content/1" for Anthropic, which takes a `cache_control` there; for OpenAI "/messages/3" or
    # "/input/3", for Gemini "/contents/3/parts/0".
    pointer: str = ""
    # What ends there: "system" (with tools and goal), "digests" (with pins), "state" (with segments) or "verbatim"
    # (all).
    zone: str = ""
    # Of the pack up to there.
    tokens: int = 0

    @classmethod
    def from_proto(cls, message: pb.CacheBreakpoint) -> CacheBreakpoint:
        """Return the value of a message."""
        return cls(
            pointer=message.pointer,
            zone=message.zone,
            tokens=message.tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Pack(PackBase):
    """What a model is to see now."""

    # A JSON object for the body of a request, as in GetChatHistoryResponse, with `tools` if there are any.
    messages_json: str = "{}"
    # The first bytes of it, with which the next pack begins, too, as long as the `epoch` is the same: how many, and
    # their SHA-256 in hexadecimal.
    prefix_bytes: int = 0
    # SHA-256 of those bytes, in hexadecimal.
    prefix_sha: str = ""
    # Of all that is sent, as they are counted, and what they are made of.
    tokens: int = 0
    # The tokens of each zone.
    tokens_by_zone: dict[str, int] = field(default_factory=dict, hash=False)
    # Steps that are seen.
    step_count: int = 0
    # What is seen in excerpts only; `refs` are of its messages.
    omitted_step_count: int = 0
    # What is seen in excerpts only; `refs` are of its messages.
    omitted_tokens: int = 0
    # What `Expand` takes for their messages, the oldest first: one for each summary that stands for some.
    omitted_refs: tuple[str, ...] = ()
    epoch: int = 0
    # The newest message that was read.
    last_seq: int = 0
    # The last step waits for results of its calls: a model is to be asked when they are there.
    is_waiting: bool = False
    # After about how many more steps like the last ones it folds.
    fold_eta_steps: int = 0
    # The work should come to its end: of `max_total_tokens` 90 % are spent, or a pack twice as large would not fit.
    wrap_up: bool = False
    # `tokens` times the window's `token_factor`: what is billed at most, as far as is known. Never more than its
    # `token_limit`.
    calibrated_tokens: int = 0
    # Where a vendor's cache of prompts is to be told that something ends that stays: up to 4, in their order, the last
    # one at the end of what begins the next pack, too. Those with less than 1,024 tokens in front of them, which no
    # vendor keeps, are left out, but for the last.
    breakpoints: tuple[CacheBreakpoint, ...] = ()
    # For ReportResponse. All packs of an epoch and a `last_seq` have the same.
    pack_id: str = ""
    # Of the passages that it recalls, such as "m37.0", in their order, each once.
    recalled_refs: tuple[str, ...] = ()
    # What an extension of the operator's says of it: see docs/windows.md.
    annotations: dict[str, str] = field(default_factory=dict, hash=False)
    _messages: Any = kept()

    @property
    def messages(self) -> dict[str, Any]:
        """Return `messages_json`, parsed."""
        return self._kept_object("_messages", self.messages_json)

    @classmethod
    def from_proto(cls, message: pb.PackResponse) -> Pack:
        """Return the value of a message."""
        return cls(
            messages_json=message.messages_json,
            prefix_bytes=message.prefix_bytes,
            prefix_sha=message.prefix_sha,
            tokens=message.tokens,
            tokens_by_zone=tokens_by_zone(message.tokens_by_zone),
            step_count=message.step_count,
            omitted_step_count=message.omitted.step_count,
            omitted_tokens=message.omitted.tokens,
            omitted_refs=tuple(message.omitted.refs),
            epoch=message.epoch,
            last_seq=message.last_seq,
            is_waiting=message.is_waiting,
            fold_eta_steps=message.fold_eta_steps,
            wrap_up=message.wrap_up,
            calibrated_tokens=message.calibrated_tokens,
            breakpoints=tuple(map(CacheBreakpoint.from_proto, message.breakpoints)),
            pack_id=message.pack_id,
            recalled_refs=tuple(message.recalled_refs),
            annotations=dict(message.annotations),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Checkpoint(CheckpointBase):
    """A way back."""

    # From 1, of the window; none is given twice.
    number: int = 0
    # "steps", "fold" (before it) or "caller".
    reason: str = ""
    # Of a caller's.
    label: str = ""
    # Empty: the window made it.
    created_by: str = ""
    created_at: datetime
    epoch: int = 0
    # The newest message that the window had read, and how many steps it had.
    last_seq: int = 0
    step_count: int = 0
    # Unset: no import wrote it.
    imported: Imported | None = None

    @classmethod
    def from_proto(cls, message: pb.Checkpoint) -> Checkpoint:
        """Return the value of a message."""
        return cls(
            number=message.number,
            reason=message.reason,
            label=message.label,
            created_by=message.created_by,
            created_at=time_of(message.created_at),
            epoch=message.epoch,
            last_seq=message.last_seq,
            step_count=message.step_count,
            imported=Imported.from_proto(message.imported) if message.HasField("imported") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RolledBack(Value):
    """What a rollback did."""

    receipt: FoldReceipt
    # Ids of the messages that are left out since, oldest first: the first 1,000 of them, without those that were
    # retracted.
    left_out_message_ids: tuple[str, ...] = ()
    left_out_message_count: int = 0

    @classmethod
    def from_proto(cls, message: pb.RollbackResponse) -> RolledBack:
        """Return the value of a message."""
        return cls(
            receipt=FoldReceipt.from_proto(message.receipt),
            left_out_message_ids=tuple(message.left_out_message_ids),
            left_out_message_count=message.left_out_message_count,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Merged(Value):
    """What came back of a fork: a message where it was forked."""

    # Of what it was forked from.
    context_id: str = ""
    window_id: str = ""
    # The message that came back, such as "m57".
    ref: str = ""
    message_id: str = ""
    # Of its text.
    tokens: int = 0
    # All that there was to bring back had room.
    is_whole: bool = False
    # See WindowFork.
    fork_ref: str = ""

    @classmethod
    def from_proto(cls, message: pb.MergeWindowResponse) -> Merged:
        """Return the value of a message."""
        return cls(
            context_id=message.context_id,
            window_id=message.window_id,
            ref=message.ref,
            message_id=message.message_id,
            tokens=message.tokens,
            is_whole=message.is_whole,
            fork_ref=message.fork_ref,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Original(OriginalBase):
    """What a ref names: the bytes of a part or a passage, or messages."""

    # Of a part or a passage: its bytes as they came, text or JSON, and their SHA-256 in hexadecimal.
    content: bytes = b""
    # SHA-256 of `content`, in hexadecimal.
    sha256: str = ""
    # Of messages: themselves, up to 2 MiB; those that were retracted are missing.
    messages: tuple[ChatMessage, ...] = ()
    # What comes behind them, if there is more.
    next_ref: str = ""
    # `content` is JSON, as of data, calls and results: what a tool answered as a text is a JSON string.
    is_json: bool = False

    @classmethod
    def from_proto(cls, message: pb.ExpandResponse) -> Original:
        """Return the value of a message."""
        return cls(
            content=message.content,
            sha256=message.sha256,
            messages=tuple(map(ChatMessage.from_proto, message.messages)),
            next_ref=message.next_ref,
            is_json=message.is_json,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WindowHit(Value):
    """A passage of a window's log, with its steps. 0: the window has not read it."""

    item: RecalledItem
    # The step that it is of, or the steps of its segment. 0: none that the window has read.
    step_from: int = 0
    step_to: int = 0
    # Whether the window shows its step: "verbatim", "masked", "segments" or "digests"; empty: it has not read it.
    zone: str = ""

    def __str__(self) -> str:
        return f"{self.item}"

    @classmethod
    def from_proto(cls, message: pb.WindowHit) -> WindowHit:
        """Return the value of a message."""
        return cls(
            item=RecalledItem.from_proto(message.item),
            step_from=message.step_from,
            step_to=message.step_to,
            zone=message.zone,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ExplainedPack(Value):
    """The parts of a window's last pack."""

    parts: tuple[PackPart, ...] = ()
    tokens_by_zone: dict[str, int] = field(default_factory=dict, hash=False)
    epoch: int = 0

    @classmethod
    def from_proto(cls, message: pb.ExplainPackResponse) -> ExplainedPack:
        """Return the value of a message."""
        return cls(
            parts=tuple(map(PackPart.from_proto, message.parts)),
            tokens_by_zone=tokens_by_zone(message.tokens_by_zone),
            epoch=message.epoch,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Calibrated(Value):
    """How a window's counts of tokens compare with a bill."""

    # What the window's budget is kept by from now on: see Window.
    token_factor: float = 0.0
    # What tokens are billed at in half of the calls: for what is expected, and not at most.
    typical_factor: float = 0.0
    # The ratio of this call was beyond what is believed, and counts as 0.5 or 2: such a bill is for something else,
    # such as pictures.
    is_clamped: bool = False

    @classmethod
    def from_proto(cls, message: pb.RecordUsageResponse) -> Calibrated:
        """Return the value of a message."""
        return cls(
            token_factor=message.token_factor,
            typical_factor=message.typical_factor,
            is_clamped=message.is_clamped,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Outcome(Value):
    """The steps whose outcome is recorded, and the memory of it."""

    # Of which steps it is.
    step_from: int = 0
    step_to: int = 0
    # Of the lesson.
    memory_id: str = ""

    @classmethod
    def from_proto(cls, message: pb.RecordOutcomeResponse) -> Outcome:
        """Return the value of a message."""
        return cls(
            step_from=message.step_from,
            step_to=message.step_to,
            memory_id=message.memory_id,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PackCost(Value):
    """Tokens of prompts, as they are billed, and what they cost."""

    # Read from the vendor's cache, and written to it.
    read_tokens: int = 0
    # Tokens written to the vendor's cache.
    written_tokens: int = 0
    # In tokens that no cache is asked for: 0.1 of one that is read, 1.25 of one that is written.
    base_tokens: float = 0.0
    # By `prices` of the window's config, if those are of a million tokens each.
    price: float = 0.0

    @classmethod
    def from_proto(cls, message: pb.PackCost) -> PackCost:
        """Return the value of a message."""
        return cls(
            read_tokens=message.read_tokens,
            written_tokens=message.written_tokens,
            base_tokens=message.base_tokens,
            price=message.price,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CostEstimate(Value):
    """What a window's next packs cost."""

    # The next pack, a step longer than the last: if the vendor's cache holds that, and if it holds nothing.
    warm: PackCost
    # The next pack, if the cache holds nothing.
    cold: PackCost
    # The pack behind a fold.
    fold: PackCost
    # All packs of the steps, and how many folds they have.
    ahead: PackCost
    # Folds among those steps.
    folds: int = 0
    # The same of a window that leaves out the older half whenever it is full.
    sliding: PackCost
    # Of one step, as counted.
    step_tokens: int = 0
    # What is billed for a token that is counted: see RecordUsageResponse.
    typical_factor: float = 0.0

    @classmethod
    def from_proto(cls, message: pb.EstimateCostResponse) -> CostEstimate:
        """Return the value of a message."""
        return cls(
            warm=PackCost.from_proto(message.warm),
            cold=PackCost.from_proto(message.cold),
            fold=PackCost.from_proto(message.fold),
            ahead=PackCost.from_proto(message.ahead),
            folds=message.folds,
            sliding=PackCost.from_proto(message.sliding),
            step_tokens=message.step_tokens,
            typical_factor=message.typical_factor,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LevelStats(Value):
    """What a zone of a window shows of the log."""

    # "digests", "segments", "masked" or "verbatim".
    zone: str = ""
    # Steps that the zone stands for, and their tokens in the log.
    step_count: int = 0
    # Of the log that it stands for, and of what is shown of it; and how many times fewer that is.
    log_tokens: int = 0
    # Tokens that the zone shows, and how many times fewer that is.
    tokens: int = 0
    # `log_tokens` by `tokens`.
    ratio: float = 0.0

    @classmethod
    def from_proto(cls, message: pb.LevelStats) -> LevelStats:
        """Return the value of a message."""
        return cls(
            zone=message.zone,
            step_count=message.step_count,
            log_tokens=message.log_tokens,
            tokens=message.tokens,
            ratio=message.ratio,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WindowUsage(Value):
    """What was billed for the packs of a window, together."""

    call_count: int = 0
    # Tokens of packs, as the window counted them.
    pack_tokens: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    # Of the input, what was read from a cache: 0 to 1.
    cached_share: float = 0.0
    # As in PackCost, with answers in `price`.
    base_tokens: float = 0.0
    # The price, answers included.
    price: float = 0.0

    @classmethod
    def from_proto(cls, message: pb.WindowUsage) -> WindowUsage:
        """Return the value of a message."""
        return cls(
            call_count=message.call_count,
            pack_tokens=message.pack_tokens,
            input_tokens=message.input_tokens,
            cached_tokens=message.cached_tokens,
            cache_write_tokens=message.cache_write_tokens,
            output_tokens=message.output_tokens,
            cached_share=message.cached_share,
            base_tokens=message.base_tokens,
            price=message.price,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WindowStats(Value):
    """A window in numbers."""

    step_count: int = 0
    # Of all messages that it has read, as their context counts them.
    log_tokens: int = 0
    # Of what it shows, as they are counted, and by zone.
    tokens: int = 0
    tokens_by_zone: dict[str, int] = field(default_factory=dict, hash=False)
    # What each zone shows of the log, the deepest first.
    levels: tuple[LevelStats, ...] = ()
    # Share of the log, with what stands in front, that need not be sent: 0 to 1.
    savings: float = 0.0
    # How often the prefix broke, and why; of the last 5,000 breaks.
    breaks: dict[str, int] = field(default_factory=dict, hash=False)
    # Of its packs, if there was one behind each step and the vendor's cache stayed warm: what they cost, and the share
    # of their tokens that the pack before had in front.
    predicted: PackCost
    predicted_cached_share: float = 0.0
    # What was billed: see RecordUsage.
    usage: WindowUsage
    # See Window and RecordUsageResponse.
    token_factor: float = 0.0
    typical_factor: float = 0.0
    tokens_are_estimated: bool = False

    @classmethod
    def from_proto(cls, message: pb.WindowStatsResponse) -> WindowStats:
        """Return the value of a message."""
        return cls(
            step_count=message.step_count,
            log_tokens=message.log_tokens,
            tokens=message.tokens,
            tokens_by_zone=tokens_by_zone(message.tokens_by_zone),
            levels=tuple(map(LevelStats.from_proto, message.levels)),
            savings=message.savings,
            breaks={one.reason: one.count for one in message.breaks},
            predicted=PackCost.from_proto(message.predicted),
            predicted_cached_share=message.predicted_cached_share,
            usage=WindowUsage.from_proto(message.usage),
            token_factor=message.token_factor,
            typical_factor=message.typical_factor,
            tokens_are_estimated=message.tokens_are_estimated,
        )
