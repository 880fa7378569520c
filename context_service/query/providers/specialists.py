"""The family `sub-agent`: specialists, each of which searches one folder of the workspace in several steps.

Without a model, the steps are queries that are derived from the question. With a model, the model decides what to
search and read, within a number of steps, and the hits are those that it cites. In both cases the hits are passages of
records, word for word, that the caller may read. If the model fails, the derived queries are used.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from context_service.kernel.llm.texts import Chat, ChatFailed
from context_service.query.model import DEADLINE_S_MAX, WORKSPACE, SearchRoots
from context_service.query.providers import (
    Answered,
    Expanded,
    Hit,
    ProviderInfo,
    ProviderQuery,
    QueryScope,
    State,
    native,
)
from context_service.query.providers.workspace import TRUST, Workspace
from context_service.query.pure import specialist_prompts
from context_service.query.pure.fusion import Candidate, Fused, distinctive, fused
from context_service.query.pure.provider_table import ProviderEntry
from context_service.specialists.model import Specialist
from context_service.specialists.room import Specialists
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.rpc.calls import answer_s, remaining_s
from service_runtime.rpc.principal import Principal

SUB_AGENT = "sub-agent"
DEADLINE_MODEL_S = 15.0  # the deadline of a specialist with a model, unless a setting has another one
_MODEL_SHARE = 0.8  # the share of the time in which the model must answer; the rest is for plain queries
_EXPANDED_BY = 3  # hits whose words the last query asks for, too
_SCORED_BYTES = 16  # scoring a character takes as long as parsing this many bytes (for `beside_the_loop`)
_DISPLAY_CHARS_MAX = 100
_TEAM = frozenset({QueryScope.TEAM})


class SpecialistProviders:
    """The specialists of tenants, each as a provider.

    Args:
        specialists: The store of specialists.
        workspace: Searches the records of their folders.
        chat: The model that decides what to search and read. Without one, queries are made from the question.
    """

    family = SUB_AGENT

    def __init__(self, specialists: Specialists, workspace: Workspace, *, chat: Chat | None) -> None:
        self._specialists = specialists
        self._workspace = workspace
        self._chat = chat

    @property
    def changes(self) -> int:
        """A counter that grows when this process changes a specialist."""
        return self._specialists.changes

    async def of(self, principal: Principal) -> Sequence[ProviderEntry]:
        """Return the specialists of a principal's tenant. One without a folder is included: its status says so."""
        return [
            native(
                SpecialistProvider(specialist, self._workspace, chat=self._chat),
                trust=TRUST,
                waits=self._chat is not None,
            )
            for specialist in await self._specialists.all(principal=principal)
        ]


class SpecialistProvider:
    """One specialist as a provider."""

    def __init__(self, specialist: Specialist, workspace: Workspace, *, chat: Chat | None) -> None:
        self._specialist = specialist
        self._workspace = workspace
        self._chat = chat
        self.info = ProviderInfo(
            id=specialist.provider_id,
            family=SUB_AGENT,
            display_name=specialist.display_name[:_DISPLAY_CHARS_MAX],
            scopes=_TEAM,
            is_default=specialist.is_default,
            deadline_s=DEADLINE_MODEL_S if chat else None,
        )

    async def search(self, request: ProviderQuery, principal: Principal) -> Answered:
        """Return passages of the folder.

        The state is STALE if not the whole folder is searched, or the configured model did not decide the searches.
        """
        if not self._specialist.node_ids:
            return Answered(state=State.SKIPPED, reason="not wired: it has no folder")
        if WORKSPACE in request.refused_ids:
            reason = f"its folder is of the provider {WORKSPACE}, which is disabled, or not allowed here"
            return Answered(state=State.SKIPPED, reason=reason)
        if QueryScope.TEAM not in request.scopes:
            return Answered(state=State.SKIPPED, reason="what it finds is the tenant's, and no user's own")
        if request.is_second_pass:
            return Answered()  # it has asked several times already
        node_ids, is_whole = await self._workspace.below(self._target)
        folder = _Folder(self._workspace, node_ids, request, principal)
        await folder.search(request.query)
        reasons = [] if is_whole else [f"only the first {len(node_ids)} nodes of its folder are searched"]
        hits, mode = None, "queries"
        if self._chat is not None:
            try:
                hits, mode = await self._by_model(self._chat, folder), "model"
            except (ChatFailed, specialist_prompts.NoStep) as error:
                reasons.append(f"by queries alone: {error}")
        if hits is None:
            hits = await self._by_queries(folder)
        return Answered(
            hits=hits[: request.limit],
            state=State.STALE if reasons else State.OK,
            reason="; ".join(reasons),
            target=f"specialist {self._specialist.specialist_id}, {folder.target}",
            mode=mode,
        )

    async def expand(self, source_ids: Sequence[str], request: ProviderQuery, principal: Principal) -> list[Expanded]:
        """Return the records that hits were taken from, if they are in the folder."""
        if not self._specialist.node_ids or WORKSPACE in request.refused_ids:
            return []
        within = replace(request, agent_id=self.info.id, target=self._target)
        expanded = await self._workspace.expand(source_ids, within, principal)
        return [whole for whole in expanded if whole.scope is QueryScope.TEAM]

    @property
    def _target(self) -> SearchRoots:
        return SearchRoots(whose=f"specialist {self._specialist.specialist_id}", node_ids=self._specialist.node_ids)

    async def _by_model(self, chat: Chat, folder: _Folder) -> list[Hit]:
        """Let a model decide what to search and read, and return the hits that it cites.

        Raises:
            ChatFailed, NoStep: the model failed, or answered with no valid step.
        """
        folder_view = specialist_prompts.ShownFolder(question=folder.asked.query)
        folder_view.add_search(folder.asked.query, list(folder.hits.values()))
        system = specialist_prompts.instructions(self._specialist.instructions)
        seconds = min(answer_s(remaining_s()), DEADLINE_S_MAX) * _MODEL_SHARE
        try:
            async with asyncio.timeout(seconds):
                while True:
                    left = self._specialist.steps_max - folder.steps if folder_view.left_chars > 0 else 0
                    text = await chat.text(
                        system=system, user=folder_view.prompt(left), tokens_max=specialist_prompts.TOKENS_MAX
                    )
                    match folder_view.step(text):
                        case specialist_prompts.Cite(numbers=numbers):
                            return [folder_view.hits[number - 1] for number in numbers]
                        case _ if not left:
                            raise specialist_prompts.NoStep("the model used all its steps, and cited nothing")
                        case specialist_prompts.Search(query=query):
                            folder_view.add_search(query, await folder.search(query))
                        case specialist_prompts.Read(number=number):
                            folder_view.add_reading(number, await self._text_of(folder_view.hits[number - 1], folder))
        except TimeoutError:
            raise ChatFailed(f"the model took more than {seconds:.1f} s") from None

    async def _text_of(self, hit: Hit, folder: _Folder) -> str:
        folder.steps += 1
        whole = await self.expand([hit.source_id], folder.asked, folder.principal)
        return whole[0].text if whole else ""

    async def _by_queries(self, folder: _Folder) -> list[Hit]:
        """Return the hits, best first, for the question, its parts, and words of the best hits so far."""
        question, steps_max = folder.asked.query, self._specialist.steps_max
        for query in specialist_prompts.queries_of(question)[1:]:
            if folder.steps >= steps_max or not folder.has_time:
                break
            await folder.search(query)
        best = await folder.best()
        words = distinctive(question, best[:_EXPANDED_BY])
        if words and folder.steps < steps_max and folder.has_time:
            await folder.search(" ".join([question, *words]))
            best = await folder.best()
        return [fused_hit.best.hit for fused_hit in best]


class _Folder:
    """The folder of a specialist, and what one question has read of it so far.

    Args:
        workspace: Searches the records of the folder.
        node_ids: The nodes that make up the folder.
        request: The query that the provider got.
        principal: The caller; only records that it may see are searched.
    """

    def __init__(
        self, workspace: Workspace, node_ids: Sequence[UUID], request: ProviderQuery, principal: Principal
    ) -> None:
        self._workspace = workspace
        # The folder belongs to the specialist, so the agent of the query is left out here. The agent's policy was
        # checked before the specialist was asked.
        self._within = replace(request, node_ids=tuple(node_ids), agent_id="", target=None, scopes=_TEAM)
        self._slowest_s = 0.0
        self.asked = request
        self.principal = principal
        self.hits: dict[str, Hit] = {}  # by their ids, as they were found
        self.steps = 0
        self.target = ""

    @property
    def has_time(self) -> bool:
        """Whether another search would end in time."""
        return answer_s(remaining_s()) > 2 * self._slowest_s

    async def search(self, query: str) -> list[Hit]:
        """Search the folder, and return the hits, each with the query that found it first."""
        began = time.monotonic()
        answer = await self._workspace.search(replace(self._within, query=query), self.principal)
        self._slowest_s = max(self._slowest_s, time.monotonic() - began)
        self.steps += 1
        self.target = answer.target
        by = {"asked": query[: specialist_prompts.QUERY_CHARS_MAX]}
        return [
            self.hits.setdefault(hit.source_id, replace(hit, metadata={**hit.metadata, **by})) for hit in answer.hits
        ]

    async def best(self) -> list[Fused]:
        """Return all hits that were found, ranked by how well they answer the question."""
        candidates = [
            Candidate(provider_id=SUB_AGENT, place=place, trust=TRUST, hit=hit)
            for place, hit in enumerate(self.hits.values(), 1)
        ]
        size_bytes = _SCORED_BYTES * sum(len(hit.snippet) for hit in self.hits.values())
        best, _ = await beside_the_loop(size_bytes, fused, self.asked.query, candidates)
        return best
