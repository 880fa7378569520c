"""The corpora that ranking is measured on. Each is left out as a whole when weights are learned on the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.quality.advice import advice
from bench.quality.agent_log import agent_log
from bench.quality.beam import conversations as beam_of
from bench.quality.conversations import Conversation
from bench.quality.locomo import conversations as locomo_of
from bench.quality.office import office
from bench.quality.paraphrases import paraphrases
from bench.quality.talk import talk

LOCOMO, BEAM, AGENTS, ADVICE = "LoCoMo", "BEAM", "agents", "advice"
OFFICE, OFFICE_LARGE, TALK, PARAPHRASES = "office", "office, 5,000", "talk", "paraphrases"

# Where words find nothing by construction, there is nothing to learn by words.
BY_MEANING_ONLY = frozenset({PARAPHRASES})


def corpora(locomo: Path | None, beam: Path | None, *, quick: bool) -> Mapping[str, Sequence[Conversation]]:
    """Return the corpora by their names; those of a folder only if it is given. A quick run has fewer conversations."""
    found: dict[str, Sequence[Conversation]] = {
        LOCOMO: locomo_of(locomo) if locomo else [],
        BEAM: (beam_of(beam)[: 3 if quick else None]) if beam else [],
        AGENTS: [agent_log(seed=3)] if quick else [agent_log(seed=3), agent_log(seed=4)],
        ADVICE: advice()[: 3 if quick else None],
        OFFICE: [office()],
        OFFICE_LARGE: [] if quick else [office(seed=2, turns=5_000)],
        TALK: [] if quick else [talk(turns=5_000, facts=60)],
        PARAPHRASES: paraphrases()[: 2 if quick else None],
    }
    return {name: conversations for name, conversations in found.items() if conversations}


def with_few_passages(name: str, conversations: Sequence[Conversation]) -> Sequence[Conversation]:
    """Return the conversations that are measured with the local model, which reads 10 long passages a second."""
    return conversations[:1] if name in (BEAM, ADVICE, AGENTS) else conversations
