"""Checks of the memories and questions that callers send."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from context_service.memories.model import MemoryFilter, MemoryInput, MemoryKind
from contextkeep.errors import InvalidArgument
from service_runtime.inputs.documents import parse_object
from service_runtime.values.checks import check_between, check_text, check_texts

TEXT_CHARS_MAX = 8_000
KEY_CHARS_MAX = 200
EXPERIENCE_CHARS_MAX = 2_000  # the most characters of a goal, and also of an outcome
LABEL_CHARS_MAX, URI_CHARS_MAX, REF_CHARS_MAX = 500, 2_000, 200
QUERY_CHARS_MAX = 8_000
RUNS_MAX = 20
NAME_CHARS_MAX = 512  # the most characters of the id of an app or an agent bundle
METADATA_BYTES_MAX = 8_192
TAGS_MAX, TAG_CHARS_MAX = 32, 128
_NESTING_MAX = 32


def check_memory(memory_input: MemoryInput) -> None:
    """Check the fields of a memory.

    Raises:
        InvalidArgument: a field is malformed.
        LimitExceeded: a field is too long or too large.
    """
    if not memory_input.text.strip():
        raise InvalidArgument("memory.text must not be blank", field="memory.text")
    check_text("memory.text", memory_input.text, chars_max=TEXT_CHARS_MAX)
    check_text("memory.key", memory_input.key, chars_max=KEY_CHARS_MAX)
    check_text("memory.app_id", memory_input.app_id, chars_max=NAME_CHARS_MAX)
    check_text("memory.agent_bundle_id", memory_input.agent_bundle_id, chars_max=NAME_CHARS_MAX)
    check_between("memory.confidence", memory_input.confidence, 0, 1)
    _check_labels(
        "memory.tags", memory_input.tags, field="memory.metadata_json", metadata_json=memory_input.metadata_json
    )
    if memory_input.valid_from and memory_input.valid_to and memory_input.valid_from >= memory_input.valid_to:
        raise InvalidArgument("memory.valid_to must be after valid_from", field="memory.valid_to")
    if memory_input.expires_at and memory_input.expires_at <= datetime.now(UTC):
        raise InvalidArgument("memory.expires_at must be in the future", field="memory.expires_at")
    if source := memory_input.source:
        for name, text, chars_max in (
            ("label", source.label, LABEL_CHARS_MAX),
            ("uri", source.uri, URI_CHARS_MAX),
            ("context_id", source.context_id, REF_CHARS_MAX),
            ("ref", source.ref, REF_CHARS_MAX),
        ):
            check_text(f"memory.source.{name}", text, chars_max=chars_max)
    if experience := memory_input.experience:
        if memory_input.kind is not MemoryKind.EXPERIENCE:
            raise InvalidArgument(
                f"memory.experience must be empty unless memory.kind is experience (got {memory_input.kind.value})",
                field="memory.experience",
            )
        check_text("memory.experience.goal", experience.goal, chars_max=EXPERIENCE_CHARS_MAX)
        check_text("memory.experience.outcome", experience.outcome, chars_max=EXPERIENCE_CHARS_MAX)
        if experience.quality is not None:
            check_between("memory.experience.quality", experience.quality, 0, 1)


def check_filter(which: MemoryFilter) -> None:
    """Refuse a filter that no memory can match.

    Raises:
        InvalidArgument: the times are in the wrong order, or the key, a tag or the metadata are malformed.
        LimitExceeded: the key, a tag, the list of tags or the metadata are too long.
    """
    _check_labels(
        "filter.tags", which.tags, field="filter.metadata_contains_json", metadata_json=which.metadata_contains_json
    )
    check_text("filter.key", which.key, chars_max=KEY_CHARS_MAX)
    if which.happened_from and which.happened_to and which.happened_from >= which.happened_to:
        raise InvalidArgument("filter.happened_to must be after happened_from", field="filter.happened_to")


def _check_labels(tags_field: str, tags: Sequence[str], *, field: str, metadata_json: str) -> None:
    """Check tags and metadata, and raise as `check_filter`."""
    check_texts(tags_field, tags, count_max=TAGS_MAX, chars_max=TAG_CHARS_MAX)
    parse_object(field, metadata_json, size_bytes_max=METADATA_BYTES_MAX, nesting_max=_NESTING_MAX)


def check_question(query: str, *, limit: int, limit_max: int) -> None:
    """Check a question.

    Raises:
        InvalidArgument: the question is blank, or the limit is not between 1 and `limit_max`.
        LimitExceeded: the question is too long.
    """
    if not query.strip():
        raise InvalidArgument("query must not be blank", field="query")
    check_text("query", query, chars_max=QUERY_CHARS_MAX)
    check_between("limit", limit, 1, limit_max)


def check_runs(runs: Sequence[str]) -> None:
    """Check the ids of runs.

    Raises:
        InvalidArgument: an id is malformed.
        LimitExceeded: an id is too long, or there are too many ids.
    """
    check_texts("run_context_ids", runs, count_max=RUNS_MAX, chars_max=REF_CHARS_MAX)
