"""Writes a company into the sources that we have ourselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from contextkeep import ContextClient, new_id
from tests.bench.company.generated import FILES, MEMORY, TALK, WIKI, Company, by_document

_TOGETHER = 100  # messages


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """Where a company is."""

    user_id: str
    context_ids: Sequence[str]


def filled(client: ContextClient, company: Company) -> Filled:
    """Write it, and return when all of it is indexed."""
    user_id = str(new_id())
    for about, facts in by_document(company.facts, WIKI).items():
        sections = "\n\n".join(one.text for one in facts)
        client.put_page(about, f"# {about}\n\n{sections}\n", subject_user_id=user_id)
    for one in company.facts:
        if one.source == MEMORY:
            client.retain_memory(one.text, happened_at=one.said_at, subject_user_id=user_id)
    for about, facts in by_document(company.facts, FILES).items():
        for number, one in enumerate(facts, 1):
            client.insert_wm_record("text/markdown", f"{about} {number}.md", content_text=one.text)
    talk = [one.text for one in company.facts if one.source == TALK]
    context_id = client.send_message("Notes of the sales team.", recall=False).context_id
    for start in range(0, len(talk), _TOGETHER):
        client.append_messages(talk[start : start + _TOGETHER], context_id)
    while not client.wait_for_index(context_id).is_complete:
        continue
    return Filled(user_id=user_id, context_ids=[context_id])
