"""The config of a window: numbers for its folds and its cost, each with a default.

Only the fields that a caller gave are stored, so that an update changes only the fields that it names. A new config
applies from the next pack on. It does not change earlier parts of the packs by itself.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, TypeVar

import orjson

from context_service.folding.pure.importance import Weights
from context_service.usage.pure.prices import Prices
from contextkeep.errors import InvalidArgument
from service_runtime.values.checks import check_between, check_text, check_texts

KEEP_LAST_STEPS, SEGMENT_STEPS = 10, 20
STEPS_MAX = 1_000  # the most for either of these two
HIGH_MARK, LOW_MARK = 0.97, 0.50
HIGH_MARK_MIN = 0.1  # with a lower mark every pack would fold
BUDGET_SHARE, OUTPUT_RESERVATION = 0.8, 4_096
PRICE_MAX = 1_000_000
TOTAL_TOKENS_MAX = 10**15
CONVERSATION_SHARE = 0.20
CACHE_TTL_S, CACHE_TTL_S_MAX = 300, 86_400
CHECKPOINT_STEPS = 50
BY_ANY_MODEL, NO_MODEL = "auto", "none"  # which model writes segments: any configured one, or none
STYLES = ("structured", "narrative")  # the styles in which a model can write segments
PROMPT_CHARS_MAX, MODEL_CHARS_MAX, AUTHOR_CHARS_MAX = 4_000, 200, 64
AUTHORS_MAX = 20  # the most `rule_authors`
ROLLBACK, REREAD = "rollback_to_checkpoint", "reread_from_checkpoint"  # strategies of recovery
FIRST_USER = "first_user"  # in `rule_authors`, the first user who speaks in the context
RULE_AUTHORS = ("system", FIRST_USER)  # messages of developers have the role system, too

_ROUNDING = 1e-9  # sums of floats such as 0.7 + 0.2 + 0.1 may differ from 1 by rounding
_N = TypeVar("_N", int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """The shares of a window's limit that each zone of a pack may have after a fold. Callers name them `tier_ratios`.

    Their sum, together with `Config.conversation_share` and `Config.restore_files_share`, is at most 1.
    """

    hot: float = 0.35
    segments: float = 0.09
    digests: float = 0.09
    state: float = 0.07


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """How a window folds, and how much it may cost.

    Attributes:
        weights: The weights of the features that make a line worth keeping: `importance_weights` for callers.
        shares: See `Shares`.
        conversation_share: The share of the limit for users' messages whose steps are no longer shown.
        restore_files_share: The share of the limit for files that were edited last, which a fold shows again.
        high_mark: The share of the limit above which the window folds.
        low_mark: The share of the limit down to which a fold reduces the window.
        keep_last_steps: The number of steps that a fold leaves as they are, if they have room.
        segment_steps: The number of steps of a segment: `summarize_every_n_steps` for callers.
        prices: The prices of tokens, for receipts and estimates.
        total_tokens_max: The most tokens of all packs together: `max_total_tokens` for callers. 0 means no limit.
        token_budget: The share of the model's context that a request may use.
        output_reservation: The tokens of the model's context that are reserved for the answer.
        cache_ttl_s: Seconds without a pack after which the vendor's cache is cold. 0 means never.
        checkpoint_steps: The window makes a checkpoint after this number of steps, and before each fold:
            `checkpoint_every_n_steps` for callers. 0 makes none.
        recovery_strategy: The messages that are left out after an invalid response of the model: with `ROLLBACK` all
            messages after the checkpoint, with `REREAD` only the messages after the pack.
        summarization_model: The writer of segments of prepared folds: `BY_ANY_MODEL` for any configured model, a
            model by its name, or `NO_MODEL`.
        summarization_prompt: Instructions for the content; empty takes the default. The form of the answer is fixed.
        summarization_style: One of `STYLES`.
        learning: The window uses learned versions of its profile, and counts lookups: see `profiles.rules.learning`.
        prefetch: The window also recalls passages about the things that its goals and last steps name.
        notice_before_fold: Before a fold, a note tells the model to save its results.
        rule_authors: The speakers whose rules are in force: roles, names of users, and `first_user`.
    """

    weights: Weights = Weights()
    shares: Shares = Shares()
    conversation_share: float = CONVERSATION_SHARE
    restore_files_share: float = 0.0
    high_mark: float = HIGH_MARK
    low_mark: float = LOW_MARK
    keep_last_steps: int = KEEP_LAST_STEPS
    segment_steps: int = SEGMENT_STEPS
    prices: Prices = Prices()
    total_tokens_max: int = 0
    token_budget: float = BUDGET_SHARE
    output_reservation: int = OUTPUT_RESERVATION
    cache_ttl_s: int = CACHE_TTL_S
    checkpoint_steps: int = CHECKPOINT_STEPS
    recovery_strategy: str = ROLLBACK
    summarization_model: str = BY_ANY_MODEL
    summarization_prompt: str = ""
    summarization_style: str = STYLES[0]
    learning: bool = False
    prefetch: bool = False
    notice_before_fold: bool = False
    rule_authors: tuple[str, ...] = RULE_AUTHORS


DEFAULT = Config()
NOTHING = "{}"  # a config without any field


def config_of(settings: Mapping[str, Any]) -> Config:
    """Return a config made of the given fields, by the names that callers use, and of defaults for the others.

    Raises:
        InvalidArgument: a number is out of range, or two contradict each other; the error names the field.
    """
    shares = Shares(**_group("tier_ratios", Shares, settings, most=1))
    conversation = _number("conversation_share", settings.get("conversation_share", CONVERSATION_SHARE), 0, 1)
    files = _number("restore_files_share", settings.get("restore_files_share", 0.0), 0, 1)
    if sum(getattr(shares, field.name) for field in fields(shares)) + conversation + files > 1 + _ROUNDING:
        names = ("tier_ratios", "restore_files_share", "conversation_share")
        raise InvalidArgument(
            "the shares of config.tier_ratios, config.conversation_share and config.restore_files_share must be at "
            "most 1 together",
            field=f"config.{next((name for name in names if name in settings), 'conversation_share')}",
        )
    weights = Weights(**_group("importance_weights", Weights, settings, most=1))
    if not any(getattr(weights, field.name) for field in fields(weights)):
        raise InvalidArgument(
            "at least one of config.importance_weights must be above 0", field="config.importance_weights"
        )
    config = Config(
        weights=weights,
        shares=shares,
        conversation_share=conversation,
        restore_files_share=files,
        high_mark=_number("high_mark", settings.get("high_mark", HIGH_MARK), HIGH_MARK_MIN, 1),
        low_mark=_number("low_mark", settings.get("low_mark", LOW_MARK), 0, 1),
        keep_last_steps=_number("keep_last_steps", settings.get("keep_last_steps", KEEP_LAST_STEPS), 1, STEPS_MAX),
        segment_steps=_number(
            "summarize_every_n_steps", settings.get("summarize_every_n_steps", SEGMENT_STEPS), 1, STEPS_MAX
        ),
        prices=Prices(**_group("prices", Prices, settings, most=PRICE_MAX)),
        total_tokens_max=_number("max_total_tokens", settings.get("max_total_tokens", 0), 0, TOTAL_TOKENS_MAX),
        token_budget=settings.get("token_budget", BUDGET_SHARE),
        output_reservation=settings.get("output_reservation", OUTPUT_RESERVATION),
        cache_ttl_s=_number("cache_ttl_s", settings.get("cache_ttl_s", CACHE_TTL_S), 0, CACHE_TTL_S_MAX),
        checkpoint_steps=_number(
            "checkpoint_every_n_steps", settings.get("checkpoint_every_n_steps", CHECKPOINT_STEPS), 0, STEPS_MAX
        ),
        recovery_strategy=settings.get("recovery_strategy", ROLLBACK),
        summarization_model=settings.get("summarization_model", BY_ANY_MODEL),
        summarization_prompt=settings.get("summarization_prompt", ""),
        summarization_style=settings.get("summarization_style", STYLES[0]),
        learning=settings.get("learning", False),
        prefetch=settings.get("prefetch", False),
        notice_before_fold=settings.get("notice_before_fold", False),
        rule_authors=tuple(settings.get("rule_authors", RULE_AUTHORS)),
    )
    if config.recovery_strategy not in (ROLLBACK, REREAD):
        raise InvalidArgument(
            f"config.recovery_strategy must be {ROLLBACK} or {REREAD} (got {reprlib.repr(config.recovery_strategy)})",
            field="config.recovery_strategy",
        )
    check_text("config.summarization_model", config.summarization_model, chars_max=MODEL_CHARS_MAX, required=True)
    check_text("config.summarization_prompt", config.summarization_prompt, chars_max=PROMPT_CHARS_MAX)
    if config.summarization_style not in STYLES:
        raise InvalidArgument(
            f"config.summarization_style must be one of {', '.join(STYLES)} "
            f"(got {reprlib.repr(config.summarization_style)})",
            field="config.summarization_style",
        )
    check_texts("config.rule_authors", config.rule_authors, count_max=AUTHORS_MAX, chars_max=AUTHOR_CHARS_MAX)
    if config.low_mark >= config.high_mark:
        raise InvalidArgument(
            f"config.low_mark must be below config.high_mark (got {config.low_mark:g} and {config.high_mark:g})",
            field="config.low_mark" if "low_mark" in settings else "config.high_mark",
        )
    return config


def check_model(config: Config, models: Sequence[str]) -> None:
    """Refuse a config that names a model that is not configured.

    Args:
        config: The config that a window would get.
        models: The configured models that write segments.

    Raises:
        InvalidArgument: the config names another model.
    """
    names = (BY_ANY_MODEL, NO_MODEL, *models)
    if config.summarization_model not in names:
        raise InvalidArgument(
            f"config.summarization_model must be one of {', '.join(names)} "
            f"(got {reprlib.repr(config.summarization_model)})",
            field="config.summarization_model",
        )


def limit_of(context_tokens: int, config: Config) -> int:
    """Return how many tokens a request may have.

    This is the smaller of two numbers: the budget's share of the context, and the context without the reserved answer.

    Args:
        context_tokens: The size of the model's context, with its answer.
        config: The config, with its `token_budget` and `output_reservation`.

    Raises:
        InvalidArgument: `token_budget` or `output_reservation` is out of range.
    """
    if not 0 < config.token_budget <= 1:
        raise InvalidArgument(
            f"token_budget is a share, so it must be above 0 and at most 1 (got {config.token_budget:g})",
            field="token_budget",
        )
    if not 0 < config.output_reservation < context_tokens:
        raise InvalidArgument(
            f"output_reservation must be above 0 and below {context_tokens}, the tokens that the model takes "
            f"(got {config.output_reservation})",
            field="output_reservation",
        )
    return min(math.floor(config.token_budget * context_tokens), context_tokens - config.output_reservation)


def budget_of(token_budget: float | None, output_reservation: int | None) -> dict[str, float | int | None]:
    """Return the changed fields of the budget, for `updated`.

    Args:
        token_budget: The new share; 0 resets it to its default, and None leaves it unchanged.
        output_reservation: The new number; 0 and None as for `token_budget`.
    """
    budget = {"token_budget": token_budget, "output_reservation": output_reservation}
    return {name: value or None for name, value in budget.items() if value is not None}


def updated(text: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a stored config with changes. In a group such as the weights, only named fields change.

    Args:
        text: The stored config, as `config_json` wrote it.
        fields: The changed fields; None resets a field to its default.
    """
    now = orjson.loads(text)
    for name, value in fields.items():
        now[name] = {**now.get(name, {}), **value} if isinstance(value, Mapping) else value
    return {name: value for name, value in now.items() if value is not None}


def config_json(fields: Mapping[str, Any]) -> str:
    """Return the given fields as JSON."""
    return orjson.dumps(dict(fields), option=orjson.OPT_SORT_KEYS).decode()


@lru_cache(maxsize=1024)
def parse_config(text: str) -> Config:
    """Return the config that `config_json` wrote."""
    return config_of(orjson.loads(text))


def _group(name: str, of: type, settings: Mapping[str, Any], *, most: float) -> dict[str, float]:
    """Return the given fields of a group of numbers, such as the weights, by the names of the group's class `of`.

    Raises:
        InvalidArgument: a number is below 0 or above `most`.
    """
    group = settings.get(name, {})
    names = [field.name for field in fields(of) if field.name in group]
    return {key: _number(f"{name}.{key}", group[key], 0, most) for key in names}


def _number(name: str, value: _N, least: float, most: float) -> _N:
    check_between(f"config.{name}", value, least, most)
    return value
