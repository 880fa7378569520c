"""The provider `context`: messages of the contexts that the query names, or else of the user's own contexts."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import orjson

from context_service.contexts.model import Context, ContextFilter
from context_service.contexts.pure.refs import place_of
from context_service.contexts.room import (
    ArtifactRows,
    ContextsFinding,
    ContextsQuery,
    Filter,
    Log,
    RecallAsked,
    RecalledItem,
    Recalling,
)
from context_service.kernel.parts import Part
from context_service.query.model import CONTEXT, with_words_only
from context_service.query.providers import Answered, Expanded, Hit, ProviderInfo, ProviderQuery, QueryScope, State
from context_service.query.pure.hit_checks import has_value
from context_service.retrieval.pure.part_texts import part_text
from contextkeep.errors import ContextNotFound, InvalidArgument
from service_runtime.rpc.principal import Principal

TRUST = 2


_OWN = "the user's own contexts"
_PASSAGES_MAX = 3  # passages of each of the user's own contexts


class Contexts:
    """The provider that searches the contexts that a query names, with the ranking of recall.

    A context that the caller may not read is treated as if it did not exist. A query that names none searches the
    findable contexts of the caller's user. A key that is bound to a context searches no others.

    Args:
        log: The contexts and their messages.
        artifacts: The artifacts of the contexts' tasks.
        recalling: Searches one context.
        finding: Searches the contexts of a user.
    """

    info = ProviderInfo(id=CONTEXT, family=CONTEXT, display_name="Contexts", is_default=False, filters_metadata=True)

    def __init__(self, log: Log, artifacts: ArtifactRows, recalling: Recalling, finding: ContextsFinding) -> None:
        self._log = log
        self._artifacts = artifacts
        self._recalling = recalling
        self._finding = finding

    async def search(self, request: ProviderQuery, principal: Principal) -> Answered:
        """Return passages of the named contexts; `reason` says which contexts were not searched."""
        principal = principal.without_admin()
        if not request.context_ids:
            return await self._of_user(request, principal)
        hits: list[Hit] = []
        left_out: list[str] = []
        searched = missing = 0
        by_meaning, error = False, ""
        for context_id in request.context_ids:
            context = await self._log.read(context_id, principal=principal)
            if context is None:
                left_out.append(f"CONTEXT_NOT_FOUND: {context_id}")
                missing += 1
                continue
            if not _has_metadata(context, request):
                left_out.append(f"{context_id} has other metadata")
                continue
            scope = QueryScope.PERSONAL if context.owner_user_id else QueryScope.TEAM
            if scope not in request.scopes:
                left_out.append(f"{context_id} is {scope.name}")
                continue
            which = Filter(said_from=request.time_from, said_to=request.time_to)
            try:
                question = RecallAsked(
                    text=request.query, items_max=request.limit, which=which, may_rerank=False, score_min=0.0
                )
                results = await self._recalling.search(context_id, question, principal=principal, context=context)
            except ContextNotFound:  # the context was deleted after it was read above
                left_out.append(f"CONTEXT_NOT_FOUND: {context_id}")
                missing += 1
                continue
            searched += 1
            by_meaning = by_meaning or results.meaning.is_compared
            error = error or results.meaning.error
            hits.extend(_hit(item, context, scope) for item in results.items)
        reason = "; ".join(left_out)
        if not searched:
            return Answered(state=State.SKIPPED, reason=reason)
        answer = Answered(
            hits=sorted(hits, key=lambda hit: -(hit.score or 0.0))[: request.limit],
            state=State.STALE if missing else State.OK,
            reason=reason,
            target=f"{searched} of {len(request.context_ids)} contexts",
            mode="words and meaning" if by_meaning else "words",
        )
        return with_words_only(answer, error)

    async def _of_user(self, request: ProviderQuery, principal: Principal) -> Answered:
        """Return passages of the user's own contexts; SKIPPED without a user, and for a key of a context."""
        if not principal.user_id or principal.context_id:
            return Answered(
                state=State.SKIPPED,
                reason="context_ids names no context, and only a user's key that is bound to none searches its own",
            )
        if QueryScope.PERSONAL not in request.scopes:
            return Answered(state=State.SKIPPED, reason=f"{_OWN} are {QueryScope.PERSONAL.name}", target=_OWN)
        question = ContextsQuery(
            text=request.query,
            limit=request.limit,
            passages_max=_PASSAGES_MAX,
            contexts=ContextFilter(metadata_contains_json=orjson.dumps(request.metadata).decode()),
            passages=Filter(said_from=request.time_from, said_to=request.time_to),
        )
        search = await self._finding.find(question, principal=principal)
        hits = [
            _hit(item, result.context, QueryScope.PERSONAL) for result in search.contexts for item in result.passages
        ]
        answer = Answered(
            hits=sorted(hits, key=lambda hit: -(hit.score or 0.0))[: request.limit],
            state=State.STALE if search.next_cursor else State.OK,
            reason=f"only the newest {search.searched_count:,} are searched" if search.next_cursor else "",
            target=f"{search.searched_count:,} of {_OWN}",
            mode="words and meaning" if search.meaning.is_compared else "words",
        )
        return with_words_only(answer, search.meaning.error)

    async def expand(self, source_ids: Sequence[str], request: ProviderQuery, principal: Principal) -> list[Expanded]:
        """Return the messages and artifacts that hits were taken from."""
        principal = principal.without_admin()
        expanded = [await self._expand(source_id, principal) for source_id in source_ids]
        return [whole for whole in expanded if whole]

    async def _expand(self, source_id: str, principal: Principal) -> Expanded | None:
        """Return the message or artifact that a hit's id names.

        Returns:
            None if the id has another form, or the caller may not read the context, or the text is gone.
        """
        try:
            name, _, ref = source_id.partition("/")
            context_id, place = UUID(name), place_of(ref, field="expand_refs")
        except (ValueError, InvalidArgument):
            return None
        if str(context_id) != name or (context := await self._log.read(context_id, principal=principal)) is None:
            return None
        title = context.title or "conversation"
        scope = QueryScope.PERSONAL if context.owner_user_id else QueryScope.TEAM
        if place < 0:
            for artifact in await self._artifacts.read_at(context_id, place, principal=principal) or ():
                text = "\n".join(filter(None, (artifact.name, artifact.description, *_texts(artifact.parts))))
                return Expanded(
                    source_id=source_id,
                    text=text,
                    title=f"{title}: {artifact.name}",
                    scope=scope,
                    as_of=artifact.updated_at,
                )
            return None
        for message in (
            await self._log.page(
                context_id, principal=principal, seq_from=place, seq_to=place, count=1, newest_first=False
            )
            or ()
        ):
            origin = "imported" if message.is_imported else ""
            who = " ".join(filter(None, (origin, message.role, message.name)))
            return Expanded(
                source_id=source_id,
                text="\n".join(filter(None, (message.content, *_texts(message.parts)))),
                title=f"{title}: {who}",
                scope=scope,
                as_of=message.said_at,
            )
        return None


def _has_metadata(context: Context, request: ProviderQuery) -> bool:
    """Say whether a context has the metadata that a query wants."""
    if not request.metadata:
        return True
    metadata = orjson.loads(context.metadata_json or "{}")
    return all(has_value(metadata, name, value) for name, value in request.metadata.items())


def _texts(parts: Sequence[Part]) -> list[str]:
    return [reply.text for part in parts if (reply := part_text(part))]


def _hit(hit: RecalledItem, context: Context, scope: QueryScope) -> Hit:
    """Return a recalled passage as a hit, with the context and the ref of its message in the metadata."""
    return Hit(
        source_id=f"{context.context_id}/{hit.ref}",
        title=f"{context.title or 'conversation'}: {hit.speaker}",
        snippet=hit.text,
        scope=scope,
        score=hit.score,
        label=context.title or str(context.context_id),
        superseded_by=f"{context.context_id}/{hit.superseded_by}" if hit.superseded_by else "",
        metadata={
            "context_id": str(context.context_id),
            "ref": hit.ref,
            "kind": hit.kind,
            "role": hit.role,
            "message_id": hit.message_id,
            "superseded_by": hit.superseded_by,
        },
        as_of=hit.said_at,
        cosine=hit.cosine,
    )
