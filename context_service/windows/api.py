"""The proto service `ContextWindows`: parse, one call, render."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import asdict, replace
from functools import partial
from typing import Any
from uuid import UUID

from google.protobuf.message import Message

from context_service.checkpoints.model import Checkpoint
from context_service.checkpoints.pure.left_out import LeftOut
from context_service.checkpoints.rules.checkpoints import Checkpoints, RolledBack
from context_service.checkpoints.rules.report_response import PackId, Recovered, Recovery
from context_service.contexts.rules.recall import ITEMS_DEFAULT, RecallQuery
from context_service.contexts.wire.recall import by_meaning, recalled_item, which_of
from context_service.contexts.wire.requests import check_same_caller, lifetime_of, principal_of
from context_service.folding.pure.summaries import SEGMENT
from context_service.forks.model import Fork
from context_service.forks.rules.fork import Forked, Forks, Inherits, Task
from context_service.forks.rules.merge import Merges
from context_service.history.wire import messages as message_wire
from context_service.kernel.rendering import Format
from context_service.kernel.tokens import calibrated, is_exact
from context_service.kernel.wire import times
from context_service.kernel.wire.imported import imported_of
from context_service.packing.model import BY_RULE, SUMMARY, Pack, Prefix, Receipt, StoredEntry, Zones
from context_service.packing.pure.tallies import ENTITY, TOOL, Tally, kind_of
from context_service.packing.rules.pack import Packs
from context_service.profiles.model import LearningState, StoredProfile
from context_service.profiles.pure.lookups import Counts
from context_service.profiles.rules.learning import Learning
from context_service.profiles.rules.profiles import OwnProfiles
from context_service.usage import wire as statistics_wire
from context_service.usage.model import Outcome, RecordedOutcome, Usage
from context_service.usage.rules.outcomes import Outcomes
from context_service.usage.rules.statistics import Statistics
from context_service.usage.rules.usage import Billing
from context_service.windows.model import Window
from context_service.windows.pure.config import Config
from context_service.windows.pure.patches import StateStatement
from context_service.windows.pure.refs import fork_ref, refs_between
from context_service.windows.rules.explain import Accounts, Explained, State
from context_service.windows.rules.originals import Originals, StepRange
from context_service.windows.rules.update_window import Change, Editing
from context_service.windows.rules.watch import WatchPosition, WindowEvent, WindowWatching
from context_service.windows.rules.windows import Opening, Windows
from contextkeep.context.v1 import chat_history_pb2, context_windows_pb2_grpc
from contextkeep.context.v1 import context_windows_pb2 as pb
from contextkeep.errors import InvalidArgument
from service_runtime import calls
from service_runtime.auth import Authenticator
from service_runtime.copying import copied
from service_runtime.documents import beside_the_loop
from service_runtime.given_keys import IssuedKey
from service_runtime.ids import parse_id
from service_runtime.pages import PageRequest
from service_runtime.requests import RESPONSE, request_of, unpacked

_PART_BYTES = 80  # to render a part of a pack takes as long as to parse so many bytes

_FORMATS = {
    Format.OPENAI: chat_history_pb2.MESSAGE_FORMAT_OPENAI,
    Format.OPENAI_RESPONSES: chat_history_pb2.MESSAGE_FORMAT_OPENAI_RESPONSES,
    Format.ANTHROPIC: chat_history_pb2.MESSAGE_FORMAT_ANTHROPIC,
    Format.GEMINI: chat_history_pb2.MESSAGE_FORMAT_GEMINI,
}

_INHERITS = {
    pb.FORK_INHERITANCE_UNSPECIFIED: Inherits.STATE,
    pb.FORK_INHERITANCE_NOTHING: Inherits.NOTHING,
    pb.FORK_INHERITANCE_PINS: Inherits.PINS,
    pb.FORK_INHERITANCE_STATE: Inherits.STATE,
}


class ContextWindowsServicer(context_windows_pb2_grpc.ContextWindowsServicer):
    """Answers the RPCs of `ContextWindows`."""

    def __init__(
        self,
        windows: Windows,
        profiles: OwnProfiles,
        learning: Learning,
        editing: Editing,
        packs: Packs,
        checkpoints: Checkpoints,
        recovery: Recovery,
        forks: Forks,
        merges: Merges,
        originals: Originals,
        accounts: Accounts,
        billing: Billing,
        outcomes: Outcomes,
        statistics: Statistics,
        watching: WindowWatching,
        callers: Authenticator,
    ) -> None:
        self._windows = windows
        self._profiles = profiles
        self._learning = learning
        self._editing = editing
        self._packs = packs
        self._checkpoints = checkpoints
        self._recovery = recovery
        self._forks = forks
        self._merges = merges
        self._originals = originals
        self._accounts = accounts
        self._billing = billing
        self._outcomes = outcomes
        self._statistics = statistics
        self._watching = watching
        self._callers = callers

    async def OpenWindow(self, request: pb.OpenWindowRequest, context: object) -> pb.OpenWindowResponse:
        """Open a window on a context."""

        def response(window: Window) -> pb.OpenWindowResponse:
            return pb.OpenWindowResponse(window=_window(window))

        window = await self._windows.open(
            parse_id("context_id", request.context_id),
            copied(Opening, request, format=message_wire.message_format(request.format), config=_said(request.config)),
            principal=principal_of(request.subject_user_id),
            request=request_of("OpenWindow", request, response=response),
        )
        return response(window)

    async def GetWindow(self, request: pb.GetWindowRequest, context: object) -> pb.GetWindowResponse:
        """Read a window, and what was forked from it."""
        principal = principal_of(request.subject_user_id)
        window = await self._windows.read(parse_id("window_id", request.window_id), principal=principal)
        forks = await self._forks.of(window, principal=principal)
        return pb.GetWindowResponse(window=_window(window), forks=map(_fork, forks))

    async def ListWindows(self, request: pb.ListWindowsRequest, context: object) -> pb.ListWindowsResponse:
        """List the windows of a context."""
        found, next_page_token = await self._windows.windows(
            parse_id("context_id", request.context_id),
            PageRequest(size=request.page_size, token=request.page_token),
            principal=principal_of(request.subject_user_id),
        )
        return pb.ListWindowsResponse(windows=map(_window, found), next_page_token=next_page_token)

    async def CloseWindow(self, request: pb.CloseWindowRequest, context: object) -> pb.CloseWindowResponse:
        """Close a window."""

        def response(window: Window) -> pb.CloseWindowResponse:
            return pb.CloseWindowResponse(window=_window(window))

        window = await self._windows.close(
            parse_id("window_id", request.window_id),
            principal=principal_of(request.subject_user_id),
            request=request_of("CloseWindow", request, response=response),
        )
        return response(window)

    async def UpdateWindow(self, request: pb.UpdateWindowRequest, context: object) -> pb.UpdateWindowResponse:
        """Change what stands in front of all, and the config."""

        def response(window: Window) -> pb.UpdateWindowResponse:
            return pb.UpdateWindowResponse(window=_window(window))

        window = await self._editing.update(
            parse_id("window_id", request.window_id),
            Change(
                system_prompt=request.system_prompt if request.HasField("system_prompt") else None,
                tools_json=request.tools_json if request.HasField("tools_json") else None,
                goal=request.goal if request.HasField("goal") else None,
                config=_said(request.config),
                token_budget=request.token_budget if request.HasField("token_budget") else None,
                output_reservation=request.output_reservation if request.HasField("output_reservation") else None,
            ),
            principal=principal_of(request.subject_user_id),
            request=request_of("UpdateWindow", request, response=response),
        )
        return response(window)

    async def Pin(self, request: pb.PinRequest, context: object) -> pb.PinResponse:
        """Pin a text, or what a ref is of."""
        pin_id, pins_tokens = await self._editing.pin(
            parse_id("window_id", request.window_id),
            request.text,
            request.ref,
            principal=principal_of(request.subject_user_id),
            request=request_of("Pin", request, replay=lambda answer: pb.PinResponse(**answer)),
        )
        return pb.PinResponse(pin_id=str(pin_id), pins_tokens=pins_tokens)

    async def Unpin(self, request: pb.UnpinRequest, context: object) -> pb.UnpinResponse:
        """Remove a pin."""
        pins_tokens = await self._editing.unpin(
            parse_id("window_id", request.window_id),
            parse_id("pin_id", request.pin_id),
            principal=principal_of(request.subject_user_id),
            request=request_of("Unpin", request, replay=lambda answer: pb.UnpinResponse(**answer)),
        )
        return pb.UnpinResponse(pins_tokens=pins_tokens)

    async def PutProfile(self, request: pb.PutProfileRequest, context: object) -> pb.PutProfileResponse:
        """Register a profile."""

        def response(stored: StoredProfile) -> pb.PutProfileResponse:
            return pb.PutProfileResponse(profile=_profile(replace(stored, text="")))

        stored = await self._profiles.put(
            request.name,
            request.text,
            principal=calls.principal(),
            request=request_of("PutProfile", request, response=response),
        )
        return response(stored)

    async def ListProfiles(self, request: pb.ListProfilesRequest, context: object) -> pb.ListProfilesResponse:
        """List profiles, or the versions of one."""
        if request.with_evidence:
            calls.require("admin")
        found, next_page_token = await self._profiles.page(
            request.name,
            PageRequest(size=request.page_size, token=request.page_token),
            principal=calls.principal(),
            with_text=request.with_text,
        )
        made = [_profile(one, with_evidence=request.with_evidence) for one in found]
        return pb.ListProfilesResponse(profiles=made, next_page_token=next_page_token)

    async def SetLearning(self, request: pb.SetLearningRequest, context: object) -> pb.SetLearningResponse:
        """Freeze or undo what is learned of a profile."""

        def response(known: LearningState) -> pb.SetLearningResponse:
            return copied(pb.SetLearningResponse, known)

        known = await self._learning.change(
            request.profile,
            request.app_id,
            is_frozen=request.is_frozen if request.HasField("is_frozen") else None,
            undoes=request.undo,
            principal=calls.principal(),
            request=request_of("SetLearning", request, response=response),
        )
        return response(known)

    async def PatchState(self, request: pb.PatchStateRequest, context: object) -> pb.PatchStateResponse:
        """Set and remove entries of the state."""
        changed_count = await self._editing.patch_state(
            parse_id("window_id", request.window_id),
            [copied(StateStatement, one) for one in request.set],
            [StateStatement(section=one.section, key=one.key, text=one.text) for one in request.remove],
            principal=principal_of(request.subject_user_id),
            request=request_of("PatchState", request, replay=lambda answer: pb.PatchStateResponse(**answer)),
        )
        return pb.PatchStateResponse(changed_count=changed_count)

    async def Pack(self, request: pb.PackRequest, context: object) -> pb.PackResponse:
        """Pack what a model shall see now."""
        pack = await self._packs.pack(
            parse_id("window_id", request.window_id),
            principal=principal_of(request.subject_user_id),
            recalls=not request.without_recall,
            known=Prefix(request.if_prefix_sha, request.if_prefix_bytes),
        )
        return _pack(pack)

    async def ReportResponse(self, request: pb.ReportResponseRequest, context: object) -> pb.ReportResponseResponse:
        """Take back what led to a response that is of no use."""
        recovered = await self._recovery.report(
            parse_id("window_id", request.window_id),
            request.pack_id,
            is_invalid=request.invalid,
            expected_last_seq=request.expected_last_seq if request.HasField("expected_last_seq") else None,
            principal=principal_of(request.subject_user_id),
            request=request_of("ReportResponse", request, response=_recovered),
        )
        return _recovered(recovered)

    async def Fold(self, request: pb.FoldRequest, context: object) -> pb.FoldResponse:
        """Fold a window now, or say what that would do."""
        receipt = await self._packs.fold(
            parse_id("window_id", request.window_id),
            principal=principal_of(request.subject_user_id),
            dry_run=request.dry_run,
        )
        return pb.FoldResponse(receipt=_receipt(receipt))

    async def PrepareFold(self, request: pb.PrepareFoldRequest, context: object) -> pb.PrepareFoldResponse:
        """Work out a fold, and keep it."""
        receipt, epoch = await self._packs.prepare_fold(
            parse_id("window_id", request.window_id),
            principal=principal_of(request.subject_user_id),
            expected_epoch=request.expected_epoch if request.HasField("expected_epoch") else None,
        )
        return pb.PrepareFoldResponse(receipt=_receipt(receipt), epoch=epoch)

    async def CommitFold(self, request: pb.CommitFoldRequest, context: object) -> pb.CommitFoldResponse:
        """Fold a window as was prepared."""

        def response(receipt: Receipt) -> pb.CommitFoldResponse:
            return pb.CommitFoldResponse(receipt=_receipt(receipt))

        receipt = await self._packs.commit_fold(
            parse_id("window_id", request.window_id),
            principal=principal_of(request.subject_user_id),
            expected_epoch=request.expected_epoch if request.HasField("expected_epoch") else None,
            request=request_of("CommitFold", request, response=response),
        )
        return response(receipt)

    async def CreateCheckpoint(
        self, request: pb.CreateCheckpointRequest, context: object
    ) -> pb.CreateCheckpointResponse:
        """Keep what a window is."""

        def response(made: Checkpoint) -> pb.CreateCheckpointResponse:
            return pb.CreateCheckpointResponse(checkpoint=_checkpoint(made))

        made = await self._checkpoints.create(
            parse_id("window_id", request.window_id),
            request.label,
            principal=principal_of(request.subject_user_id),
            request=request_of("CreateCheckpoint", request, response=response),
        )
        return response(made)

    async def ListCheckpoints(self, request: pb.ListCheckpointsRequest, context: object) -> pb.ListCheckpointsResponse:
        """List the checkpoints of a window."""
        found, next_page_token = await self._checkpoints.page(
            parse_id("window_id", request.window_id),
            PageRequest(size=request.page_size, token=request.page_token),
            principal=principal_of(request.subject_user_id),
        )
        return pb.ListCheckpointsResponse(checkpoints=map(_checkpoint, found), next_page_token=next_page_token)

    async def Rollback(self, request: pb.RollbackRequest, context: object) -> pb.RollbackResponse:
        """Make a window what it was."""

        def response(done: RolledBack) -> pb.RollbackResponse:
            return pb.RollbackResponse(
                receipt=_receipt(done.receipt),
                left_out_message_ids=done.message_ids,
                left_out_message_count=done.message_count,
            )

        done = await self._checkpoints.rollback(
            parse_id("window_id", request.window_id),
            request.checkpoint,
            expected_last_seq=request.expected_last_seq,
            principal=principal_of(request.subject_user_id),
            request=request_of("Rollback", request, response=response),
        )
        return response(done)

    async def ForkWindow(self, request: pb.ForkWindowRequest, context: object) -> pb.ForkWindowResponse:
        """Fork a window."""
        if request.inherits not in _INHERITS:
            raise InvalidArgument("inherits is none that is known", field="inherits")
        principal = principal_of(request.subject_user_id)
        lifetime = lifetime_of("key_ttl_s", request.key_ttl_s)

        def without_key(forked: Forked) -> pb.ForkWindowResponse:
            return pb.ForkWindowResponse(window=_window(forked.window), ref=fork_ref(forked.number))

        async def replay(answer: dict[str, Any]) -> pb.ForkWindowResponse:
            """Return the fork, and another key: nobody can read the first one again."""
            response = pb.ForkWindowResponse.FromString(unpacked(answer[RESPONSE]))
            key = await self._forks.key_again(UUID(response.window.context_id), principal, lifetime)
            return _with_key(response, key)

        forked = await self._forks.fork(
            parse_id("window_id", request.window_id),
            Task(
                text=request.task,
                inherits=_INHERITS[request.inherits],
                model=request.model,
                context_tokens=request.context_tokens,
                system_prompt=request.system_prompt if request.HasField("system_prompt") else None,
                tools_json=request.tools_json if request.HasField("tools_json") else None,
            ),
            lifetime=lifetime,
            principal=principal,
            request=request_of("ForkWindow", request, response=without_key, replay=replay),
        )
        return _with_key(without_key(forked), forked.key)

    async def MergeWindow(self, request: pb.MergeWindowRequest, context: object) -> pb.MergeWindowResponse:
        """Bring back what came of a fork."""

        def response(merged: Fork) -> pb.MergeWindowResponse:
            return copied(
                pb.MergeWindowResponse,
                merged,
                ref=refs_between(merged.merged_seq, merged.merged_seq),
                message_id=merged.merged_id,
                tokens=merged.merged_tokens,
                fork_ref=fork_ref(merged.number),
            )

        merged = await self._merges.merge(
            parse_id("window_id", request.window_id),
            tokens_max=request.tokens_max,
            tool_call_id=request.tool_call_id,
            principal=principal_of(request.subject_user_id),
            request=request_of("MergeWindow", request, response=response),
        )
        return response(merged)

    async def Expand(self, request: pb.ExpandRequest, context: object) -> pb.ExpandResponse:
        """Answer the original of a ref."""
        original = await self._originals.expand(
            parse_id("window_id", request.window_id), request.ref, principal=principal_of(request.subject_user_id)
        )
        answer = copied(pb.ExpandResponse, original, messages=None)
        for message in original.messages:
            message_wire.fill_of_context(answer.messages.add(), message)
        return answer

    async def SearchWindow(self, request: pb.SearchWindowRequest, context: object) -> pb.SearchWindowResponse:
        """Find passages of a window's log."""
        asked = RecallQuery(
            text=request.query, items_max=request.limit or ITEMS_DEFAULT, which=which_of(request.filter, "filter")
        )
        hits, meaning = await self._originals.search(
            parse_id("window_id", request.window_id),
            asked,
            StepRange(first=request.step_from, last=request.step_to),
            principal=principal_of(request.subject_user_id),
        )
        return pb.SearchWindowResponse(
            hits=[copied(pb.WindowHit, hit, item=recalled_item(hit.item)) for hit in hits],
            by_meaning=by_meaning(meaning),
        )

    async def ExplainPack(self, request: pb.ExplainPackRequest, context: object) -> pb.ExplainPackResponse:
        """Say part by part what a window shows."""
        explained = await self._accounts.explained(
            parse_id("window_id", request.window_id), principal=principal_of(request.subject_user_id)
        )
        return await beside_the_loop(_PART_BYTES * len(explained.parts), _explained, explained)

    async def GetLineage(self, request: pb.GetLineageRequest, context: object) -> pb.GetLineageResponse:
        """List the breaks of the prefix."""
        found, next_page_token = await self._accounts.lineage(
            parse_id("window_id", request.window_id),
            PageRequest(size=request.page_size, token=request.page_token),
            principal=principal_of(request.subject_user_id),
        )
        size = sum(20 * len(one.account.masked_steps) + _PART_BYTES * len(one.account.summaries) for one in found)
        receipts = await beside_the_loop(size, _receipts, found)
        return pb.GetLineageResponse(receipts=receipts, next_page_token=next_page_token)

    async def GetState(self, request: pb.GetStateRequest, context: object) -> pb.GetStateResponse:
        """Answer the state of the work."""
        state = await self._accounts.state(
            parse_id("window_id", request.window_id),
            request.sections,
            PageRequest(size=request.page_size, token=request.page_token),
            principal=principal_of(request.subject_user_id),
        )
        answer = pb.GetStateResponse(entries=map(_entry, state.held), next_page_token=state.next_page_token)
        answer.entries.extend(_tallied(state))
        return answer

    async def WatchWindow(
        self, request: pb.WatchWindowRequest, context: object
    ) -> AsyncIterator[pb.WatchWindowResponse]:
        """Tell what changes of a window."""
        calls.leave_place()  # watches have places of their own
        happened = self._watching.watch(
            parse_id("window_id", request.window_id),
            WatchPosition(request.epoch_after, request.entry_from),
            until_now=request.until_now,
            principal=principal_of(request.subject_user_id),
            check=partial(check_same_caller, self._callers),
        )
        async with aclosing(happened):
            async for one in happened:
                yield _happened(one)

    async def RecordUsage(self, request: pb.RecordUsageRequest, context: object) -> pb.RecordUsageResponse:
        """Keep what a vendor billed for a pack."""
        learned = await self._billing.record(
            parse_id("window_id", request.window_id),
            request.epoch if request.HasField("epoch") else None,
            Usage(
                pack_tokens=request.pack_tokens,
                input_tokens=request.input_tokens,
                cached_tokens=request.cached_tokens,
                cache_write_tokens=request.cache_write_tokens,
                output_tokens=request.output_tokens,
            ),
            principal=principal_of(request.subject_user_id),
            request=request_of("RecordUsage", request, replay=lambda answer: pb.RecordUsageResponse(**answer)),
        )
        return pb.RecordUsageResponse(**asdict(learned))

    async def RecordOutcome(self, request: pb.RecordOutcomeRequest, context: object) -> pb.RecordOutcomeResponse:
        """Keep how steps ended."""

        def response(recorded: RecordedOutcome) -> pb.RecordOutcomeResponse:
            return copied(pb.RecordOutcomeResponse, recorded)

        recorded = await self._outcomes.record(
            parse_id("window_id", request.window_id),
            copied(
                Outcome,
                request,
                is_success=request.success,
                quality=request.quality if request.HasField("quality") else None,
            ),
            principal=principal_of(request.subject_user_id),
            request=request_of("RecordOutcome", request, response=response),
        )
        return response(recorded)

    async def EstimateCost(self, request: pb.EstimateCostRequest, context: object) -> pb.EstimateCostResponse:
        """Say what the next packs of a window cost."""
        estimate = await self._statistics.estimate(
            parse_id("window_id", request.window_id),
            request.steps,
            request.step_tokens,
            principal=principal_of(request.subject_user_id),
        )
        return statistics_wire.estimate_response(estimate)

    async def WindowStats(self, request: pb.WindowStatsRequest, context: object) -> pb.WindowStatsResponse:
        """Answer a window in numbers."""
        statistics = await self._statistics.of(
            parse_id("window_id", request.window_id), principal=principal_of(request.subject_user_id)
        )
        return statistics_wire.statistics_response(statistics, zones=_zones(statistics.zones))


def _recovered(recovered: Recovered | None) -> pb.ReportResponseResponse:
    answer = pb.ReportResponseResponse()
    if recovered is None:
        return answer
    if recovered.pack:
        answer.pack.CopyFrom(_pack(recovered.pack))
    if done := recovered.done:
        answer.receipt.CopyFrom(_receipt(done.receipt))
        answer.left_out_message_ids.extend(done.message_ids)
        answer.left_out_message_count = done.message_count
    return answer


def _with_key(response: pb.ForkWindowResponse, key: IssuedKey | None) -> pb.ForkWindowResponse:
    if key:
        response.key = key.key
        response.key_expires_at.CopyFrom(times.timestamp(key.expires_at))
    return response


def _fork(fork: Fork) -> pb.WindowFork:
    return pb.WindowFork(
        ref=fork_ref(fork.number),
        context_id=str(fork.fork_context_id),
        window_id=str(fork.fork_window_id),
        created_at=times.timestamp(fork.created_at),
        merged_ref=refs_between(fork.merged_seq, fork.merged_seq) if fork.merged_seq else "",
        is_ended=fork.ended_at is not None,
    )


def _pack(pack: Pack) -> pb.PackResponse:
    window = pack.window
    return copied(
        pb.PackResponse,
        pack,
        pack_id=str(PackId.of(pack)),
        messages_json=pack.messages_json.decode(),
        tokens=pack.zones.all,
        tokens_by_zone=_zones(pack.zones),
        omitted=pb.PackOmissions(step_count=window.first_number, tokens=window.left_out_tokens, refs=pack.omitted_refs),
        epoch=window.epoch,
        wrap_up=pack.wraps_up,
        calibrated_tokens=calibrated(pack.zones.all, window.token_factor),
        breakpoints=[pb.CacheBreakpoint(**one._asdict()) for one in pack.breakpoints],
    )


def _profile(stored: StoredProfile, *, with_evidence: bool = False) -> pb.CompressionProfile:
    return copied(
        pb.CompressionProfile,
        stored,
        learned=_learned(stored, with_evidence=with_evidence),
        is_built_in=not stored.version,
        imported=imported_of(stored.imported_json),
    )


def _learned(stored: StoredProfile, *, with_evidence: bool) -> pb.LearnedProfile | None:
    if stored.learned is None:
        return None
    counts = stored.evidence if with_evidence and stored.evidence else Counts()
    return copied(
        pb.LearnedProfile,
        stored,
        line_factors=stored.learned.lines,
        result_factors=stored.learned.results,
        line_counts={kind: pb.LearnedCount(seen=one.seen, asked=one.asked) for kind, one in counts.lines.items()},
        result_counts={rule: pb.LearnedCount(seen=one.seen, asked=one.asked) for rule, one in counts.results.items()},
    )


def _checkpoint(made: Checkpoint) -> pb.Checkpoint:
    return copied(pb.Checkpoint, made, last_seq=made.reached_seq, imported=imported_of(made.imported_json))


def _said(message: Message) -> dict[str, Any]:
    """Return what is set in a message, by name."""
    return {field.name: _said(value) if isinstance(value, Message) else value for field, value in message.ListFields()}


def _config(config: Config) -> pb.WindowConfig:
    return copied(
        pb.WindowConfig,
        config,
        importance_weights=pb.ImportanceWeights(**asdict(config.weights)),
        tier_ratios=pb.TierRatios(**asdict(config.shares)),
        summarize_every_n_steps=config.segment_steps,
        prices=pb.TokenPrices(**asdict(config.prices)),
        max_total_tokens=config.total_tokens_max,
        checkpoint_every_n_steps=config.checkpoint_steps,
    )


def _zones(zones: Zones) -> pb.PackZones:
    return copied(pb.PackZones, zones, note=zones.notes)


def _explained(explained: Explained) -> pb.ExplainPackResponse:
    return pb.ExplainPackResponse(
        parts=_parts(explained), tokens_by_zone=_zones(explained.zones), epoch=explained.window.epoch
    )


def _receipts(found: Sequence[Receipt]) -> list[pb.FoldReceipt]:
    return list(map(_receipt, found))


def _parts(explained: Explained) -> Iterator[pb.PackPart]:
    if explained.window.pins_tokens:
        yield pb.PackPart(zone="pins", tokens=explained.window.pins_tokens)
    state = explained.window.state_tokens
    for part in explained.parts:
        if part.kind != SUMMARY and state:  # it stands behind the summaries
            yield pb.PackPart(zone="state", tokens=state)
            state = 0
        yield copied(
            pb.PackPart,
            part,
            level=part.level if part.kind == SUMMARY else 0,
            ref=refs_between(part.seq_from, part.seq_to) if part.seq_from else "",
        )


def _receipt(receipt: Receipt) -> pb.FoldReceipt:
    account = receipt.account
    return copied(
        pb.FoldReceipt,
        account,
        epoch=receipt.epoch,
        reason=receipt.reason,
        created_at=times.timestamp(receipt.created_at) if receipt.created_at else None,
        last_seq=receipt.last_seq,
        step_count=receipt.step,
        tokens_before=receipt.tokens_before,
        tokens_after=receipt.tokens_after,
        merged_step_count=account.merged_steps,
        dropped_count=account.dropped_blocks,
        summaries=[
            copied(
                pb.PackPart,
                one,
                zone="segments" if one.level == SEGMENT else "digests",
                ref=refs_between(one.seq_from, one.seq_to),
            )
            for one in account.summaries
        ],
        state_left_out_count=account.state_left_out,
        state_added=[pb.StateChange(section=one.section, ref=one.ref) for one in account.state_added],
        state_removed=[pb.StateChange(section=one.section, ref=one.ref) for one in account.state_removed],
        tokens_written_again=account.written_again,
        prepared_last_seq=account.prepared_seq,
        left_out_refs=LeftOut(tuple((first, last) for first, last in account.left_out)).refs,
        left_out_step_count=account.steps_left_out,
    )


def _entry(held: StoredEntry) -> pb.StateEntry:
    return pb.StateEntry(
        section=held.entry.section,
        key=held.entry.key,
        text=held.entry.text,
        value=held.entry.value,
        ref=held.entry.ref,
        created_at=times.timestamp(held.created_at),
        source=held.source,
    )


def _tallied(state: State) -> Iterator[pb.StateEntry]:
    for section, of in ((TOOL, state.tallies.tools), (ENTITY, state.tallies.entities)):
        for name, tally in of.items():
            yield pb.StateEntry(
                section=section,
                key=name,
                text=_times_said(section, name, tally),
                value=kind_of(name) if section == ENTITY else "",
                ref=refs_between(tally.seq, tally.seq),
                created_at=times.timestamp(state.window.updated_at),
                source=BY_RULE,
                count=tally.count,
                failure_count=tally.failures,
                last_step=tally.step,
            )


def _times_said(section: str, name: str, tally: Tally) -> str:
    if section == ENTITY:
        return f"{name} ({_several(tally.count, 'step')})"
    return f"{name} ({_several(tally.count, 'call')}, {tally.failures} failed)"


def _several(count: int, of: str) -> str:
    return f"{count} {of}" if count == 1 else f"{count} {of}s"


def _happened(happened: WindowEvent) -> pb.WatchWindowResponse:
    response = pb.WatchWindowResponse(epoch_after=happened.place.epoch_after, entry_from=happened.place.entry_from)
    match happened.what:
        case Receipt() as receipt:
            response.broken.CopyFrom(_receipt(receipt))
        case StoredEntry() as held:
            response.entry.CopyFrom(_entry(held))
        case Window() as window:
            response.window.CopyFrom(_window(window))
        case None:
            pass
    return response


def _window(window: Window) -> pb.Window:
    return copied(
        pb.Window,
        window,
        format=_FORMATS[window.format],
        left_out_count=window.first_number,
        is_closed=window.closed_at is not None,
        compression_profile=window.profile,
        config=_config(window.config),
        tokens_are_estimated=not is_exact(window.tokens_family),
        left_out_refs=window.left_out.refs,
        imported=imported_of(window.imported_json),
    )
