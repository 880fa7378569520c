"""Values of contextkeep/context/v1/context_windows.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from contextkeep._gen.values_chat_history import BodyFile, MESSAGE_FORMATS, MessageFormat
from contextkeep._gen.values_contexts import RecalledItem
from contextkeep._gen.values_message import Imported
from contextkeep.context.v1 import context_windows_pb2 as pb
from contextkeep.values.base import Value, kept, time_of
from contextkeep.values.bases import CheckpointBase, CompressionProfileBase, OriginalBase, PackBase, WindowBase
from contextkeep.values.conversions import tokens_by_zone
from contextkeep.values.messages import ChatMessage

# What a fork inherits from its parent.
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
    """A part of a pack."""

    # "pins", "conversation", "digests", "segments", "state", "masked", "verbatim", "recalled" or "note".
    zone: str = ""
    # For summaries: 2 for a segment, 3 for a digest of segments, 4 for a digest of digests, and so on.
    level: int = 0
    step_from: int = 0
    step_to: int = 0
    # Ref of the originals for `Expand`. Empty for a text of the window itself.
    ref: str = ""
    tokens: int = 0
    # For summaries: "extractive" for lines of the originals, or "model" for the text of a model.
    method: str = ""
    # If a model was asked for the summary: "accepted", with the number of accepted lines and the first refusal if lines
    # were refused; otherwise the check that failed. The lines of the rules stand in for refused lines. Empty if no
    # model was asked.
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
    """An entry that the state shows now, or no longer shows.

    The receipt has no copy of its text: the text stays in the log, and is deleted with it.
    """

    # See StateEntry.
    section: str = ""
    # Ref of the entry's text for `Expand`.
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
    """The receipt of a break of the prefix."""

    # The epoch that began with the break.
    epoch: int = 0
    # For a fold: "high_mark", "files", "cache_cold", "requested", "goal" or "prepared". Otherwise "updated", "pinned",
    # "unpinned", "retracted", "imported" or "rolled_back".
    reason: str = ""
    # Unset if the fold was not carried out.
    created_at: datetime | None = None
    # `seq` of the newest message that the window had read.
    last_seq: int = 0
    step_count: int = 0
    # Tokens of the pack before and after the break.
    tokens_before: int = 0
    tokens_after: int = 0
    # What was done, one sentence each.
    rules: tuple[str, ...] = ()
    # Numbers of the steps whose results were cut.
    masked_steps: tuple[int, ...] = ()
    # Number of steps that were merged into summaries.
    merged_step_count: int = 0
    # Number of notes and recalled passages that were removed.
    dropped_count: int = 0
    # The new summaries.
    summaries: tuple[PackPart, ...] = ()
    # Tokens of the state.
    state_tokens: int = 0
    # Number of entries for which the state had no room.
    state_left_out_count: int = 0
    # The first zone that changed: "system", "pins", "conversation", "digests", "segments", "state" or, for a rollback,
    # "verbatim".
    first_change: str = ""
    # Tokens before that position, which stay valid in the vendor's cache.
    tokens_kept: int = 0
    # Tokens after that position, which are written again.
    tokens_written_again: int = 0
    # Number of steps after which the smaller prompt has paid for the break, at the window's prices. -1 means never.
    pays_after_steps: int = 0
    # Entries that the state shows now and did not show before.
    state_added: tuple[StateChange, ...] = ()
    # Entries that the state no longer shows: superseded, removed, or without room.
    state_removed: tuple[StateChange, ...] = ()
    # For a fold: the factor with which the budget was applied, and is applied from then on. See Window.
    token_factor: float = 0.0
    # For a prepared fold: the newest `seq` that the window had read when the fold was prepared. 0 if the fold was not
    # prepared.
    prepared_last_seq: int = 0
    # For a rollback: the number of the checkpoint.
    checkpoint: int = 0
    # Messages that the rollback left out, such as "m51..m90".
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
    """An entry of the state of the work."""

    # "goal", "sub_goal", "constraint", "value", "contested" (a rule or a value that a later statement may change: the
    # text has the newer statement, then the older one), "other_rule" (a rule of a speaker that is not among
    # `rule_authors`), "decision", "next" (what the assistant said last that it would do), "question", "error",
    # "artifact", "progress" or "pin". Counted entries are "tool" (tools that were called) and "entity" (things that
    # were mentioned), up to 50 of each, the most frequent first.
    section: str = ""
    # Name of the entry, such as the name of a value or the path of a file. A later entry with the same key replaces it.
    # For a pin, its id. For an error of a tool, the call that failed.
    key: str = ""
    # The original text.
    text: str = ""
    # For a value: the value itself. For a sub-goal: its status. For an error: what helped. For progress: per cent, if
    # known. For an artifact: "read" or "edited". For a question: the role that asks, followed by ", replied" after a
    # reply that did not surely answer it. For a contested entry: the value or the rule that may have changed. For an
    # entity: "node" (an id in the entity graph that metadata or data name), "path" or "name".
    value: str = ""
    # Ref of the source. Empty if a caller set the entry.
    ref: str = ""
    created_at: datetime
    # The source of the entry: "rule" (a rule read it from the log), "model" (a model found it there when a fold was
    # prepared) or "caller".
    source: str = ""
    # For a tool: the number of its calls. For an entity: the number of steps that mention it.
    count: int = 0
    # For a tool: the number of failed calls.
    failure_count: int = 0
    # The newest step with the tool or the entity.
    last_step: int = 0
    # The speaker of the original text, such as "user Ann", "assistant" or "tool run_tests". Empty if a caller set the
    # entry, and for counted entries. An error with its solution has the speakers within its text.
    speaker: str = ""

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
            speaker=message.speaker,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ImportanceWeights(Value):
    """Weights for choosing lines when there is no room for all. Each 0 to 1, not all 0. They need not add up to 1."""

    # How new the line is; it halves every 30 steps. Default 0.1.
    recency: float | None = None
    # How many words of the goal the line has. Default 0.15.
    relevance: float | None = None
    # How many later steps mention the same things. Default 0.1.
    causal: float | None = None
    # Whether the line says where something is. Default 0.05.
    references: float | None = None
    # Whether its step succeeded. Default 0.05.
    success: float | None = None
    # The weight of its kind in the profile. Default 0.55.
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
    """Maximum size of each zone after a fold, as a share of `token_limit`.

    Each 0 to 1, and together with `conversation_share` and `restore_files_share` up to 1.
    """

    # The last steps, verbatim. Default 0.35.
    hot: float | None = None
    # Segments. Default 0.09.
    segments: float | None = None
    # Digests. Default 0.09.
    digests: float | None = None
    # The optional part of the state. Constraints and values are always shown, whatever their size. Default 0.07.
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
    """Price of one token of each kind, in any one unit, such as dollars per million. 0 to 1,000,000."""

    # A token of a prompt. Default 1.
    input: float | None = None
    # A token of a prompt that is written to the vendor's cache. Default 1.25.
    cache_write: float | None = None
    # A token of a prompt that is read from the vendor's cache. Default 0.1.
    cache_read: float | None = None
    # A token of an answer. Default 5.
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
    """How a window folds, and how many tokens it may use.

    An unset field has its default, which its comment names. A number that is NaN, infinite or out of range, or that
    contradicts another one, is INVALID_ARGUMENT with the name of the field, such as "config.tier_ratios".
    """

    importance_weights: ImportanceWeights | None = None
    tier_ratios: TierRatios | None = None
    # Share of `token_limit` above which the window folds, 0.1 to 1. Default 0.97.
    high_mark: float | None = None
    # Share of `token_limit` that is left after a fold, from 0 to below `high_mark`. Default 0.5.
    low_mark: float | None = None
    # Number of last steps that a fold leaves as they are, if they fit into `tier_ratios.hot`, 1 to 1,000. Default 10.
    keep_last_steps: int | None = None
    # Number of steps in a segment, 1 to 1,000. Default 20.
    summarize_every_n_steps: int | None = None
    prices: TokenPrices | None = None
    # Maximum number of tokens of all packs of the window together, up to 10^15. 0, the default, means no limit. Each
    # pack counts once, with its `tokens`, whether or not it was sent to a model; a pack that waits for results does not
    # count. Packs of its forks, and of their forks, count too: the limit applies to the whole run. A fork begins
    # without a limit of its own, and may get an additional one.
    max_total_tokens: int | None = None
    # How long the vendor's cache keeps a prompt that is not sent again, in seconds, up to 86,400. 0 means forever. The
    # default is 300, and 600 for models of OpenAI. If a window was not packed for longer than this (by the clock of the
    # database), the next message causes a fold, provided that the pack is above the middle between `low_mark` and
    # `high_mark` and that the fold removes at least a quarter. The vendor would cache the whole prompt again anyway.
    # Packing the same log again gives the same pack at any time.
    cache_ttl_s: int | None = None
    # Make a checkpoint after each of this many steps, up to 1,000, and before each fold. Default 50. 0 means no
    # checkpoints.
    checkpoint_every_n_steps: int | None = None
    # What ReportResponse leaves out: "rollback_to_checkpoint", the default, or "reread_from_checkpoint".
    recovery_strategy: str | None = None
    # The writer of the segments of prepared folds (PrepareFold). "auto", the default, is the first model of LLM_MODEL
    # that accepts the input, if there is one. The name of a model selects that model. "none" uses lines of the
    # originals, as all other folds do.
    summarization_model: str | None = None
    # Replaces the default instructions of the summary, up to 4,000 characters. The form of the model's answer and its
    # checks stay the same.
    summarization_prompt: str | None = None
    # "structured", the default: each line is one statement, the most important first. "narrative": the lines tell the
    # events in order.
    summarization_style: str | None = None
    # Off by default. Windows with `learning` count which lines and results that folds left out are later expanded or
    # searched for. The counts are by kind of line and by rule for results, over all windows of the same app and
    # profile. Windows of a key of a context do not count. From 20 contexts on, and again after each doubling, the
    # service makes a version of the profile in which weights and maximum sizes differ by up to a fifth. A window that
    # is opened with `learning` gets the newest version.
    learning: bool | None = None
    # Off by default. After a message of a user, also recall passages that were last used with the current objects:
    # those that the open sub-goals name, then those of the last ten steps.
    prefetch: bool | None = None
    # Off by default. Before a fold, append a note that tells the model to save what it needs: when the next step of
    # average size would reach `high_mark`, or when a step as large as the largest of the last ten would pass
    # `token_limit`; both count the tokens of the note itself. If a still larger step passes `high_mark` first, the fold
    # waits for the next step, provided that the pack with the note fits `token_limit`.
    notice_before_fold: bool | None = None
    # Maximum size of the conversation as a share of `token_limit`: the messages of users that no step shows any more,
    # word for word. A fold that finds it larger cuts it to half of this. Default 0.2. With 0 such messages are shown
    # nowhere.
    conversation_share: float | None = None
    # Speakers whose rules are in force, up to 20: names of users, the roles "system" (messages of developers have it,
    # too) and "user", and "first_user", the first user who speaks in the context. Default: system, first_user. Rules of
    # others are listed in the state with their speaker (section "other_rule"), and lift no rules. Applies to messages
    # that the window has not read.
    rule_authors: tuple[str, ...] = ()
    # Share of `token_limit` for the newest full content of up to three files that were edited last. A fold shows them
    # again after the state, quoted, unless a step still does. Default 0: none. A file that has no room is left out.
    restore_files_share: float | None = None

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
            notice_before_fold=message.notice_before_fold if message.HasField("notice_before_fold") else None,
            conversation_share=message.conversation_share if message.HasField("conversation_share") else None,
            rule_authors=tuple(message.rule_authors),
            restore_files_share=message.restore_files_share if message.HasField("restore_files_share") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Window(WindowBase):
    """The view of a context for one model."""

    window_id: str = ""
    context_id: str = ""
    model: str = ""
    # Format of the messages in its packs.
    message_format: MessageFormat | Literal[""] = ""
    # The tokenizer that counts: "o200k", "cl100k", "claude" or "gemini".
    tokens_family: str = ""
    # Tokens that the model accepts, including its answer.
    context_tokens: int = 0
    # Maximum number of tokens of a request: the smaller of the budget and the room that the answer leaves.
    token_limit: int = 0
    # Empty in lists, as is `tools_json`.
    system_prompt: str = ""
    tools_json: str = ""
    goal: str = ""
    # Number of breaks of the prefix: by folds, by new prompts, tools and goals, by pins, by retracted messages, and by
    # rollbacks.
    epoch: int = 0
    # All messages up to this `seq` are in the window.
    reached_seq: int = 0
    # Number of steps of the window, including those in summaries.
    step_count: int = 0
    # Number of steps in summaries.
    left_out_count: int = 0
    owner_user_id: str = ""
    # The subject of the credential that opened the window.
    created_by: str = ""
    created_at: datetime
    updated_at: datetime
    is_closed: bool = False
    # What a fold keeps: "general", "coding", "research" or "operations", or a profile of the tenant with its version,
    # such as "mine@3".
    compression_profile: str = ""
    # The config of the caller, with defaults filled in.
    config: WindowConfig
    # Tokens of all packs of the window and of all its forks, each pack counted once, from the time when `config` got a
    # `max_total_tokens`. 0 without this limit. For a fork, only its own packs.
    spent_tokens: int = 0
    # Counted tokens times this factor is an upper bound of the vendor's bill in 95 of 100 calls. 1 until RecordUsage
    # has data. Packs stay within `token_limit` also after this multiplication.
    token_factor: float = 0.0
    # The counts are estimates, because the vendor's tokenizer is not public or not installed.
    tokens_are_estimated: bool = False
    # Messages that rollbacks left out, such as "m51..m90".
    left_out_refs: tuple[str, ...] = ()
    # Unset if no import wrote it.
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
    """A change of a window: one field of the `event` oneof is set."""

    # A break of the prefix.
    broken: FoldReceipt | None = None
    # A new entry of the state: read from the log, set by a caller, or a pin.
    entry: StateEntry | None = None
    # The current window, without `system_prompt` and `tools_json`. It is sent once after the stored changes, whatever
    # positions the request has, and then after each change.
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
    """What was learned for a profile: `base` with other numbers."""

    # Such as "coding" or "mine@2".
    base: str = ""
    # The app of the windows. Empty means windows without an app.
    app_id: str = ""
    # Number of contexts from which it was learned: at least 20.
    context_count: int = 0
    # Factors of the weights, by kind of line, 0.8 to 1.2. A kind without an entry has the weight of `base`.
    line_factors: dict[str, float] = field(default_factory=dict, hash=False)
    # Factors of the maximum characters of rules of `tool_output_trim`, 0.8 to 1.2, by the rule's number from 0, or
    # "default". A rule without an entry is as in `base`.
    result_factors: dict[str, float] = field(default_factory=dict, hash=False)
    # The counts behind the factors, if the request asks for them.
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
    """A compression profile: which lines of a log are worth keeping."""

    name: str = ""
    # From 1. 0 for a built-in profile.
    version: int = 0
    # YAML or JSON, if the request asks for it.
    text: str = ""
    # The subject that made the version. Empty for a built-in profile.
    created_by: str = ""
    # When the version was made. Unset for a built-in profile.
    created_at: datetime | None = None
    # Set for a learned version, which has no `text`.
    learned: LearnedProfile | None = None
    # The import of the version. Unset if no import wrote it.
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
    """How often left-out lines were looked up."""

    # Number of lines or results that folds left out.
    seen: int = 0
    # How many of those were looked up later.
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
    """The learning state of a profile and an app."""

    # The profile that windows with `learning` use.
    profile: str = ""
    app_id: str = ""
    # True if counting and learning are stopped.
    is_frozen: bool = False
    # The learned version that windows with `learning` get. 0 means that there is none.
    version: int = 0
    # Number of contexts in which something was looked up since the last undo.
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
    """A fork of a window."""

    # Such as "f3": the first part of the fork's refs. A fork of a fork is "f3:f1".
    ref: str = ""
    context_id: str = ""
    window_id: str = ""
    created_at: datetime
    # The message with its result, such as "m57". Empty if it is not merged.
    merged_ref: str = ""
    # True if it is merged or erased.
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
    """A position in a pack."""

    # The last part before the position, as a JSON Pointer into the whole `messages_json`: "/system/0" or
    # "/messages/3/content/1" for Anthropic, which accepts a `cache_control` there; "/messages/3" or "/input/3" for
    # OpenAI; "/contents/3/parts/0" for Gemini.
    pointer: str = ""
    # The zone that ends there: "system" (with tools and goal), "conversation" (with pins), "digests", "state" (with
    # segments) or "verbatim" (the whole pack).
    zone: str = ""
    # Tokens of the pack up to the position.
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
class PackSpan(Value):
    """A part of a pack that has one author: a piece of it, or some lines of the piece."""

    # The piece, as a JSON Pointer into the whole `messages_json`, as in CacheBreakpoint.
    pointer: str = ""
    # The first and the last line of the piece's text, from 1. 0 means the whole piece.
    first_line: int = 0
    last_line: int = 0
    # "user Ann", "assistant", "tool run_tests", "system", "fork f3", "model" (which wrote a summary) or "caller" (which
    # set an entry or a pin).
    author: str = ""
    # Refs of the original. Empty if the log does not have it.
    ref: str = ""
    # "user" (also "system" and "caller"), "assistant", "tool", "document" or "imported". A line that rests on several
    # authors has the lowest trust.
    trust: str = ""

    @classmethod
    def from_proto(cls, message: pb.PackSpan) -> PackSpan:
        """Return the value of a message."""
        return cls(
            pointer=message.pointer,
            first_line=message.first_line,
            last_line=message.last_line,
            author=message.author,
            ref=message.ref,
            trust=message.trust,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Pack(PackBase):
    """The messages for the next call of the model."""

    # A JSON object for the body of a request, as in GetChatHistoryResponse, with `tools` if there are any.
    messages_json: str = "{}"
    # Number of first bytes of `messages_json` with which the next pack also begins, as long as `epoch` stays the same.
    prefix_bytes: int = 0
    # SHA-256 of those bytes, in hexadecimal.
    prefix_sha: str = ""
    # Counted tokens of the whole request.
    tokens: int = 0
    # The tokens of each zone.
    tokens_by_zone: dict[str, int] = field(default_factory=dict, hash=False)
    # Number of steps that the pack shows.
    step_count: int = 0
    # The part of the log that is shown only in excerpts. Its `refs` name the messages.
    omitted_step_count: int = 0
    # The part of the log that is shown only in excerpts. Its `refs` name the messages.
    omitted_tokens: int = 0
    # Refs of the messages for `Expand`, oldest first: one ref for each summary.
    omitted_refs: tuple[str, ...] = ()
    epoch: int = 0
    # `seq` of the newest message that the window has read.
    last_seq: int = 0
    # The last step waits for results of its calls. Call the model after the results have arrived.
    is_waiting: bool = False
    # Estimated number of steps until the next fold, if they are as long as the last ones.
    fold_eta_steps: int = 0
    # The work should end soon: 90 % of `max_total_tokens` are spent, or the rest is too small for a pack of twice this
    # size (or of `token_limit`, if that is smaller).
    wrap_up: bool = False
    # `tokens` times the window's `token_factor`: the expected upper bound of the bill. Never more than the window's
    # `token_limit`.
    calibrated_tokens: int = 0
    # Positions at which to mark a stable prefix for the vendor's prompt cache: up to 4, in order. The last one is also
    # the end of the bytes with which the next pack begins. Positions after fewer than 1,024 tokens are left out,
    # because no vendor caches them; the last one always stays.
    breakpoints: tuple[CacheBreakpoint, ...] = ()
    # For ReportResponse. All packs with the same epoch and `last_seq` have the same id.
    pack_id: str = ""
    # Refs of the recalled passages, such as "m37.0", in order, without duplicates.
    recalled_refs: tuple[str, ...] = ()
    # Annotations of an extension of the operator: see docs/windows.md.
    annotations: dict[str, str] = field(default_factory=dict, hash=False)
    # Who wrote each part of the pack, in order. Refuse a tool call if its arguments stand only in parts of "tool",
    # "document" or "imported" trust: `Pack.sources_of` of the Python client and `sourcesOf` of the TypeScript client
    # find them. Texts of the service itself, such as headings, have no span.
    spans: tuple[PackSpan, ...] = ()
    # Number of spans of the part that this answer leaves out (`offset_bytes`): they are the first spans of the earlier
    # pack, and `spans` has only those after them.
    known_span_count: int = 0
    # The window reads a long log in the background, and this pack has only its prompt, its pins and the newest steps
    # that fit. Later packs have the whole log. Until then packs may begin with other steps than the one before.
    is_catching_up: bool = False
    # With REFERENCES: the files of the whole pack, in their order. The numbers of bytes and hashes of a pack are always
    # those of the form with references, because its prefix is the same in all packs.
    files: tuple[BodyFile, ...] = ()
    file_bytes: tuple[bytes, ...] = field(default=(), repr=False)
    _messages: Any = kept()
    _late_spans: Any = kept()

    @property
    def messages(self) -> dict[str, Any]:
        """Return `messages_json`, parsed."""
        return self._kept_object("_messages", self.messages_json)

    @classmethod
    def from_proto(cls, message: pb.PackResponse) -> Pack:
        """Return the value of a message."""
        value = cls(
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
            known_span_count=message.known_span_count,
            is_catching_up=message.is_catching_up,
            files=tuple(map(BodyFile.from_proto, message.files)),
        )
        value._make_late("spans", lambda: tuple(map(PackSpan.from_proto, message.spans)))
        return value


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Checkpoint(CheckpointBase):
    """A stored state of a window."""

    # From 1, unique in the window and never reused.
    number: int = 0
    # "steps", "fold" (before a fold) or "caller".
    reason: str = ""
    # Label of a checkpoint of a caller.
    label: str = ""
    # Empty if the window made it.
    created_by: str = ""
    created_at: datetime
    epoch: int = 0
    # `seq` of the newest message that the window had read; `step_count` is its number of steps.
    last_seq: int = 0
    step_count: int = 0
    # Never set: archives have no checkpoints.
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
    """The result of a rollback."""

    receipt: FoldReceipt
    # Ids of the messages that the rollback left out, oldest first, without retracted messages. Only the first 1,000.
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
    """The result of a merge: a message in the log of the parent."""

    # Context and window of the parent.
    context_id: str = ""
    window_id: str = ""
    # The message with the result, such as "m57".
    ref: str = ""
    message_id: str = ""
    # Tokens of its text.
    tokens: int = 0
    # True if the whole result fit.
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
    """The original of a ref: the bytes of a part or a passage, or messages."""

    # For a part or a passage: its original bytes, text or JSON. For a file with an address, the address; for any other
    # file, its bytes, or the asked range of them. If its record was deleted, the line of text that stands for the file.
    # A result of a tool is answered without its files, which have refs of their own.
    content: bytes = b""
    # SHA-256 of the original, in hexadecimal; also if `content` is a range of it.
    sha256: str = ""
    # For messages: the messages, up to 2 MiB, without retracted ones.
    messages: tuple[ChatMessage, ...] = ()
    # Ref of the following messages, if there are more.
    next_ref: str = ""
    # True if `content` is JSON: for data, calls and results. A result that is a text is a JSON string.
    is_json: bool = False
    # Size of the original in bytes; also if `content` is a range of it.
    size_bytes: int = 0
    # For a file with bytes: its media type.
    media_type: str = ""

    @classmethod
    def from_proto(cls, message: pb.ExpandResponse) -> Original:
        """Return the value of a message."""
        return cls(
            content=message.content,
            sha256=message.sha256,
            messages=tuple(map(ChatMessage.from_proto, message.messages)),
            next_ref=message.next_ref,
            is_json=message.is_json,
            size_bytes=message.size_bytes,
            media_type=message.media_type,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WindowHit(Value):
    """A passage of a window's log, with its steps."""

    item: RecalledItem
    # The step of the passage, or the first and the last step of its segment. 0 if the window has not read the passage.
    step_from: int = 0
    step_to: int = 0
    # How the window shows the step: "verbatim", "masked", "segments" or "digests". Empty if the window has not read it.
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
class TracedBreak(Value):
    """A break of the prefix that changed where a message is."""

    # The epoch that began with it. `GetLineage` has the receipt.
    epoch: int = 0
    # See FoldReceipt.
    reason: str = ""
    # The sentence of the receipt about the message. Empty if it has none.
    rule: str = ""
    created_at: datetime | None = None

    @classmethod
    def from_proto(cls, message: pb.TracedBreak) -> TracedBreak:
        """Return the value of a message."""
        return cls(
            epoch=message.epoch,
            reason=message.reason,
            rule=message.rule,
            created_at=time_of(message.created_at) if message.HasField("created_at") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ShownLine(Value):
    """A line of a message, as a pack shows it."""

    # The zone of the pack: see PackPart.
    zone: str = ""
    ref: str = ""
    # Up to 500 characters.
    text: str = ""

    @classmethod
    def from_proto(cls, message: pb.ShownLine) -> ShownLine:
        """Return the value of a message."""
        return cls(
            zone=message.zone,
            ref=message.ref,
            text=message.text,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TracedMessage(Value):
    """Where a message is now."""

    ref: str = ""
    # "verbatim", "conversation" (a user's words after a fold), "cleared" (its results or long texts are cut),
    # "segment", "digest", "left_out" (a rollback left it out), or "unread" (the next pack reads it, or its step waits
    # for results).
    place: str = ""
    # The step of the message, or the first and the last step of its summary. 0 if it is in no step.
    step_from: int = 0
    step_to: int = 0
    # The break that put it there. Unset if it stands where it was appended.
    since: TracedBreak | None = None
    # Whether the place shows all lines of the message.
    is_whole: bool = False
    # Unless it is verbatim: the lines of the message that packs still show, up to 50, in any zone.
    lines: tuple[ShownLine, ...] = ()

    @classmethod
    def from_proto(cls, message: pb.TracedMessage) -> TracedMessage:
        """Return the value of a message."""
        return cls(
            ref=message.ref,
            place=message.place,
            step_from=message.step_from,
            step_to=message.step_to,
            since=TracedBreak.from_proto(message.since) if message.HasField("since") else None,
            is_whole=message.is_whole,
            lines=tuple(map(ShownLine.from_proto, message.lines)),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TracedSentence(Value):
    """When packs showed a text last."""

    # The message of the range with the text that packs showed last.
    ref: str = ""
    # Whether the current pack shows the text.
    is_shown: bool = False
    # The epoch of the last pack that showed it. -1 if no pack did, or if the window does not know.
    last_epoch: int = 0
    # The break after which no pack showed it. Unset if it is shown.
    removed_by: TracedBreak | None = None
    # False if the window no longer has all that its packs of that time showed. Then an earlier break may have removed
    # it.
    is_exact: bool = False

    @classmethod
    def from_proto(cls, message: pb.TracedSentence) -> TracedSentence:
        """Return the value of a message."""
        return cls(
            ref=message.ref,
            is_shown=message.is_shown,
            last_epoch=message.last_epoch,
            removed_by=TracedBreak.from_proto(message.removed_by) if message.HasField("removed_by") else None,
            is_exact=message.is_exact,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MessageTrace(Value):
    """Where messages are in the packs of a window."""

    # The messages of the ref in the order of the log, up to 200, without retracted ones.
    messages: tuple[TracedMessage, ...] = ()
    # Unset if the request has no `text`, or if no message has it.
    sentence: TracedSentence | None = None
    # The ref to continue with, if there are more messages. A message with the `text` may be among them.
    next_ref: str = ""
    # The current epoch of the window.
    epoch: int = 0

    @classmethod
    def from_proto(cls, message: pb.TraceMessageResponse) -> MessageTrace:
        """Return the value of a message."""
        return cls(
            messages=tuple(map(TracedMessage.from_proto, message.messages)),
            sentence=TracedSentence.from_proto(message.sentence) if message.HasField("sentence") else None,
            next_ref=message.next_ref,
            epoch=message.epoch,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Calibrated(Value):
    """How the counts of a window compare with its bills."""

    # The factor that the window's budget uses from now on: see Window.
    token_factor: float = 0.0
    # The median ratio of billed to counted tokens. Use it to estimate bills; `token_factor` is the upper bound.
    typical_factor: float = 0.0
    # The ratio of this call was outside of the accepted range, and counts as 0.5 or 2. Such a bill is for something
    # else, such as pictures.
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
    """The steps of the recorded outcome, and the memory of the lesson."""

    # The first and the last step.
    step_from: int = 0
    step_to: int = 0
    # The memory of the lesson.
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
    """Billed tokens of prompts, and their cost."""

    # Tokens read from the vendor's cache.
    read_tokens: int = 0
    # Tokens written to the vendor's cache.
    written_tokens: int = 0
    # Cost in tokens without a cache: a token that is read counts as 0.1, a token that is written as 1.25.
    base_tokens: float = 0.0
    # Cost by the `prices` of the window's config, if those are per million tokens.
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
    """The cost of a window's next packs."""

    # The next pack, one step longer than the last one, if the vendor's cache holds the last pack.
    warm: PackCost
    # The next pack, if the cache holds nothing.
    cold: PackCost
    # The pack after a fold.
    fold: PackCost
    # All packs of the steps ahead, including their folds.
    ahead: PackCost
    # Number of folds among those steps.
    folds: int = 0
    # The same steps with a sliding window, which drops the older half whenever it is full.
    sliding: PackCost
    # Counted tokens of one step.
    step_tokens: int = 0
    # Expected billed tokens for each counted token: see RecordUsageResponse.
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
    # Number of steps that the zone stands for.
    step_count: int = 0
    # Tokens of these steps in the log.
    log_tokens: int = 0
    # Tokens that the zone shows.
    tokens: int = 0
    # `log_tokens` divided by `tokens`.
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
    """Sum of all bills for packs of a window."""

    call_count: int = 0
    # Tokens of packs, as the window counted them.
    pack_tokens: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    # Share of the input that was read from a cache: 0 to 1.
    cached_share: float = 0.0
    # As in PackCost; only `price` includes answers.
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
    """Statistics of a window."""

    step_count: int = 0
    # Tokens of all messages that it has read, as their context counts them.
    log_tokens: int = 0
    # Counted tokens of the window; `tokens_by_zone` has them by zone.
    tokens: int = 0
    tokens_by_zone: dict[str, int] = field(default_factory=dict, hash=False)
    # What each zone shows of the log, the deepest zone first.
    levels: tuple[LevelStats, ...] = ()
    # Share of the log, with prompt, tools and goal, that need not be sent: 0 to 1.
    savings: float = 0.0
    # Number of breaks of the prefix by reason, over the last 5,000 breaks.
    breaks: dict[str, int] = field(default_factory=dict, hash=False)
    # Cost of its packs with one pack after each step and a warm cache of the vendor. `predicted_cached_share` is the
    # share of their tokens with which the pack before also began.
    predicted: PackCost
    predicted_cached_share: float = 0.0
    # Billed tokens: see RecordUsage.
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
