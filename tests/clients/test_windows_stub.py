"""Windows through the generated stub on a sync channel, as a bundle calls it: a claim for each RPC."""

from __future__ import annotations

import hashlib
import json

import grpc
import pytest

from contextkeep import ContextClient, MessageInput, PartInput, ToolCallInput, ToolResultInput
from contextkeep.context.v1 import chat_history_pb2
from contextkeep.context.v1 import context_windows_pb2 as pb
from contextkeep.context.v1.context_windows_pb2_grpc import ContextWindowsStub
from contextkeep.errors import WindowClosed
from tests.conftest import KEY, METADATA
from tests.errors import raised

STUB = ContextWindowsStub


@pytest.fixture
def context_id(stack) -> str:
    """A context with one message."""
    with ContextClient(stack.context, api_key=KEY) as context:
        return context.send_message("Hello").context_id


@pytest.fixture
def window(grpc_stub, context_id) -> pb.Window:
    request = pb.OpenWindowRequest(context_id=context_id, model="gpt-5", system_prompt="Be brief.")
    return grpc_stub.OpenWindow(request, metadata=METADATA).window


def test_OpenWindow_knows_what_its_model_takes(grpc_stub, window):
    assert (window.context_tokens, window.token_limit) == (400_000, 320_000)
    assert (window.tokens_family, window.format) == ("o200k", chat_history_pb2.MESSAGE_FORMAT_OPENAI)


def test_GetWindow_answers_one_with_its_prompt(grpc_stub, window):
    answer = grpc_stub.GetWindow(pb.GetWindowRequest(window_id=window.window_id), metadata=METADATA)
    assert answer.window == window
    assert answer.window.system_prompt == "Be brief."


def test_ListWindows_answers_those_of_a_context(grpc_stub, context_id, window):
    answer = grpc_stub.ListWindows(pb.ListWindowsRequest(context_id=context_id), metadata=METADATA)
    assert [one.window_id for one in answer.windows] == [window.window_id]


def test_Pack_answers_the_messages_for_the_next_call_of_the_model(grpc_stub, window):
    pack = grpc_stub.Pack(pb.PackRequest(window_id=window.window_id), metadata=METADATA)
    assert json.loads(pack.messages_json)["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
    ]
    assert (pack.last_seq, pack.step_count, pack.tokens_by_zone.verbatim > 0) == (1, 1, True)


@pytest.fixture
def folded(grpc_stub, window, context_id, stack) -> pb.Window:
    """A window that was folded: twenty steps are behind it, with long results."""
    rows = "\n".join(f"row {n} of a long listing" for n in range(300))
    with ContextClient(stack.context, api_key=KEY) as context:
        for n in range(12):
            call = PartInput(tool_call=ToolCallInput(id=f"c{n}", name="look", arguments={}))
            result = PartInput(tool_result=ToolResultInput(tool_call_id=f"c{n}", content=rows))
            messages = [MessageInput(role="assistant", parts=[call]), MessageInput(role="tool", parts=[result])]
            context.append_messages(messages, context_id)
    grpc_stub.Pack(pb.PackRequest(window_id=window.window_id), metadata=METADATA)
    return window


def test_Fold_masks_results_and_gives_account(grpc_stub, folded):
    planned = grpc_stub.Fold(pb.FoldRequest(window_id=folded.window_id, dry_run=True), metadata=METADATA).receipt
    receipt = grpc_stub.Fold(pb.FoldRequest(window_id=folded.window_id), metadata=METADATA).receipt
    assert (receipt.epoch, receipt.reason, receipt.tokens_after) == (1, "requested", planned.tokens_after)
    assert receipt.tokens_after < receipt.tokens_before
    assert list(receipt.masked_steps)[:2] == [2, 3]


def test_PrepareFold_changes_no_pack(grpc_stub, folded):
    packing = pb.PackRequest(window_id=folded.window_id, without_recall=True)
    before = grpc_stub.Pack(packing, metadata=METADATA)
    prepared = grpc_stub.PrepareFold(pb.PrepareFoldRequest(window_id=folded.window_id), metadata=METADATA)
    assert prepared.receipt.tokens_after < prepared.receipt.tokens_before
    assert grpc_stub.Pack(packing, metadata=METADATA) == before


def test_CommitFold_does_what_was_prepared(grpc_stub, folded):
    prepared = grpc_stub.PrepareFold(pb.PrepareFoldRequest(window_id=folded.window_id), metadata=METADATA)
    committing = pb.CommitFoldRequest(window_id=folded.window_id, expected_epoch=prepared.epoch)
    receipt = grpc_stub.CommitFold(committing, metadata=METADATA).receipt
    assert (receipt.epoch, receipt.reason) == (prepared.epoch + 1, "prepared")
    assert receipt.masked_steps == prepared.receipt.masked_steps
    assert receipt.tokens_after == prepared.receipt.tokens_after < receipt.tokens_before
    with pytest.raises(grpc.RpcError) as error:
        grpc_stub.CommitFold(committing, metadata=METADATA)
    assert error.value.code() == grpc.StatusCode.ABORTED


def test_CreateCheckpoint_keeps_what_the_window_is(grpc_stub, folded):
    making = pb.CreateCheckpointRequest(window_id=folded.window_id, label="before it")
    made = grpc_stub.CreateCheckpoint(making, metadata=METADATA).checkpoint
    assert (made.number, made.reason, made.label, made.epoch, made.step_count) == (1, "caller", "before it", 0, 13)


def test_ListCheckpoints_lists_the_newest_first(grpc_stub, folded):
    making = pb.CreateCheckpointRequest(window_id=folded.window_id)
    made = [grpc_stub.CreateCheckpoint(making, metadata=METADATA).checkpoint for _ in range(2)]
    listing = pb.ListCheckpointsRequest(window_id=folded.window_id)
    assert list(grpc_stub.ListCheckpoints(listing, metadata=METADATA).checkpoints) == made[::-1]


def test_Rollback_undoes_a_fold(grpc_stub, folded):
    packing = pb.PackRequest(window_id=folded.window_id, without_recall=True)
    before = grpc_stub.Pack(packing, metadata=METADATA)
    making = pb.CreateCheckpointRequest(window_id=folded.window_id)
    made = grpc_stub.CreateCheckpoint(making, metadata=METADATA).checkpoint
    grpc_stub.Fold(pb.FoldRequest(window_id=folded.window_id), metadata=METADATA)
    going_back = pb.RollbackRequest(
        window_id=folded.window_id, checkpoint=made.number, expected_last_seq=before.last_seq
    )
    done = grpc_stub.Rollback(going_back, metadata=METADATA)
    assert (done.receipt.reason, done.receipt.epoch, done.left_out_message_count) == ("rolled_back", 2, 0)
    assert grpc_stub.Pack(packing, metadata=METADATA).messages_json == before.messages_json


def test_ReportResponse_answers_the_pack_to_try_again_with(grpc_stub, folded):
    packing = pb.PackRequest(window_id=folded.window_id, without_recall=True)
    pack = grpc_stub.Pack(packing, metadata=METADATA)
    reporting = pb.ReportResponseRequest(window_id=folded.window_id, pack_id=pack.pack_id, invalid=True)
    answer = grpc_stub.ReportResponse(reporting, metadata=METADATA)
    assert (answer.receipt.reason, answer.left_out_message_count) == ("rolled_back", 0)
    assert (answer.pack.messages_json, answer.pack.epoch) == (pack.messages_json, 1)


def test_ForkWindow_gives_a_task_a_window_of_its_own(grpc_stub, window):
    forking = pb.ForkWindowRequest(window_id=window.window_id, task="Which files are there?")
    made = grpc_stub.ForkWindow(forking, metadata=METADATA)
    assert (made.ref, made.window.goal, made.window.system_prompt) == ("f1", "Which files are there?", "Be brief.")
    assert made.window.context_id != window.context_id and made.key
    (fork,) = grpc_stub.GetWindow(pb.GetWindowRequest(window_id=window.window_id), metadata=METADATA).forks
    assert (fork.ref, fork.window_id, fork.is_ended) == ("f1", made.window.window_id, False)


def test_MergeWindow_brings_back_what_came_of_it(grpc_stub, window):
    forking = pb.ForkWindowRequest(window_id=window.window_id, task="Which files are there?")
    made = grpc_stub.ForkWindow(forking, metadata=METADATA)
    merging = pb.MergeWindowRequest(window_id=made.window.window_id)
    done = grpc_stub.MergeWindow(merging, metadata=METADATA)
    assert (done.context_id, done.ref, done.fork_ref, done.is_whole) == (window.context_id, "m2", "f1", True)
    assert grpc_stub.MergeWindow(merging, metadata=METADATA) == done


def test_Expand_answers_what_a_fold_left_out(grpc_stub, folded):
    grpc_stub.Fold(pb.FoldRequest(window_id=folded.window_id), metadata=METADATA)
    pack = grpc_stub.Pack(pb.PackRequest(window_id=folded.window_id), metadata=METADATA)
    assert "characters more: m3/1]" in pack.messages_json
    answer = grpc_stub.Expand(pb.ExpandRequest(window_id=folded.window_id, ref="m3/1"), metadata=METADATA)
    assert "row 299" in json.loads(answer.content)
    assert hashlib.sha256(answer.content).hexdigest() == answer.sha256


def test_SearchWindow_says_of_which_step_a_passage_is(grpc_stub, folded):
    request = pb.SearchWindowRequest(window_id=folded.window_id, query="row 299", step_from=4, step_to=4)
    hits = grpc_stub.SearchWindow(request, metadata=METADATA).hits
    assert {(hit.step_from, hit.step_to, hit.zone) for hit in hits} == {(4, 4, "verbatim")}


def test_ExplainPack_says_part_by_part_what_is_seen(grpc_stub, folded):
    grpc_stub.Fold(pb.FoldRequest(window_id=folded.window_id), metadata=METADATA)
    answer = grpc_stub.ExplainPack(pb.ExplainPackRequest(window_id=folded.window_id), metadata=METADATA)
    zones = [part.zone for part in answer.parts]
    assert zones[-1] == "verbatim" and "masked" in zones
    assert answer.tokens_by_zone.masked == sum(part.tokens for part in answer.parts if part.zone == "masked")


def test_GetLineage_lists_each_break_of_the_prefix(grpc_stub, folded):
    grpc_stub.Fold(pb.FoldRequest(window_id=folded.window_id), metadata=METADATA)
    answer = grpc_stub.GetLineage(pb.GetLineageRequest(window_id=folded.window_id), metadata=METADATA)
    assert [receipt.epoch for receipt in answer.receipts] == [1]


def test_WatchWindow_tells_each_break_and_the_window_as_it_is(grpc_stub, folded):
    grpc_stub.Fold(pb.FoldRequest(window_id=folded.window_id), metadata=METADATA)
    request = pb.WatchWindowRequest(window_id=folded.window_id, until_now=True)
    told = [one for one in grpc_stub.WatchWindow(request, metadata=METADATA) if one.WhichOneof("event") != "entry"]
    assert [one.WhichOneof("event") for one in told] == ["broken", "window"]
    assert (told[0].broken.epoch, told[-1].window.epoch, told[-1].epoch_after) == (1, 1, 1)


def test_GetState_says_what_holds(grpc_stub, window, context_id, stack):
    with ContextClient(stack.context, api_key=KEY) as context:
        context.send_message("Never touch the vendor folder.", context_id)
    grpc_stub.Pack(pb.PackRequest(window_id=window.window_id), metadata=METADATA)
    answer = grpc_stub.GetState(pb.GetStateRequest(window_id=window.window_id), metadata=METADATA)
    assert [(one.section, one.text, one.ref) for one in answer.entries] == [
        ("constraint", "Never touch the vendor folder.", "m2/0")
    ]


def test_UpdateWindow_changes_what_is_set(grpc_stub, window):
    request = pb.UpdateWindowRequest(window_id=window.window_id, goal="Find it.")
    changed = grpc_stub.UpdateWindow(request, metadata=METADATA).window
    assert (changed.goal, changed.system_prompt, changed.epoch) == ("Find it.", "Be brief.", 1)


def test_Pin_stands_right_behind_the_system_prompt(grpc_stub, window):
    pinned = grpc_stub.Pin(pb.PinRequest(window_id=window.window_id, text="In French."), metadata=METADATA)
    pack = grpc_stub.Pack(pb.PackRequest(window_id=window.window_id), metadata=METADATA)
    assert json.loads(pack.messages_json)["messages"][1] == {"role": "user", "content": "[Pinned]\nIn French."}
    assert pack.tokens_by_zone.pins == pinned.pins_tokens


def test_Unpin_removes_a_pin(grpc_stub, window):
    pinned = grpc_stub.Pin(pb.PinRequest(window_id=window.window_id, text="In French."), metadata=METADATA)
    request = pb.UnpinRequest(window_id=window.window_id, pin_id=pinned.pin_id)
    assert grpc_stub.Unpin(request, metadata=METADATA).pins_tokens == 0
    assert not grpc_stub.GetState(pb.GetStateRequest(window_id=window.window_id), metadata=METADATA).entries


def test_RecordUsage_teaches_how_counts_meet_bills(grpc_stub, context_id):
    opening = pb.OpenWindowRequest(context_id=context_id, model="of these bills alone", context_tokens=9_000)
    window_id = grpc_stub.OpenWindow(opening, metadata=METADATA).window.window_id
    pack = grpc_stub.Pack(pb.PackRequest(window_id=window_id), metadata=METADATA)
    request = pb.RecordUsageRequest(
        window_id=window_id, epoch=pack.epoch, pack_tokens=pack.tokens, input_tokens=2 * pack.tokens
    )
    answers = [grpc_stub.RecordUsage(request, metadata=METADATA) for _ in range(2)]
    assert [(one.token_factor, one.typical_factor, one.is_clamped) for one in answers] == [(1, 1, False), (2, 1, False)]
    pack = grpc_stub.Pack(pb.PackRequest(window_id=window_id), metadata=METADATA)
    assert pack.calibrated_tokens == 2 * pack.tokens


def test_RecordOutcome_says_of_which_steps_it_is(grpc_stub, folded):
    request = pb.RecordOutcomeRequest(window_id=folded.window_id, step_from=1, step_to=2, success=True, quality=0.5)
    answer = grpc_stub.RecordOutcome(request, metadata=METADATA)
    assert (answer.step_from, answer.step_to, answer.memory_id) == (1, 2, "")


def test_WindowStats_answers_a_window_in_numbers(grpc_stub, folded):
    grpc_stub.Fold(pb.FoldRequest(window_id=folded.window_id), metadata=METADATA)
    answer = grpc_stub.WindowStats(pb.WindowStatsRequest(window_id=folded.window_id), metadata=METADATA)
    assert [(one.reason, one.count) for one in answer.breaks] == [("requested", 1)]
    assert [one.zone for one in answer.levels] == ["masked", "verbatim"]
    assert answer.levels[0].ratio > 2 > answer.levels[1].ratio


def test_EstimateCost_says_what_steps_cost(grpc_stub, folded):
    request = pb.EstimateCostRequest(window_id=folded.window_id, steps=10, step_tokens=100)
    answer = grpc_stub.EstimateCost(request, metadata=METADATA)
    assert (answer.ahead.written_tokens, answer.folds) == (1_000, 0)
    assert answer.warm.base_tokens < answer.cold.base_tokens


def test_PatchState_is_told_in_the_next_pack(grpc_stub, window):
    goal = pb.StateEntryInput(section="sub_goal", key="1", text="Look.")
    request = pb.PatchStateRequest(window_id=window.window_id, set=[goal])
    assert grpc_stub.PatchState(request, metadata=METADATA).changed_count == 1
    pack = grpc_stub.Pack(pb.PackRequest(window_id=window.window_id), metadata=METADATA)
    assert json.loads(pack.messages_json)["messages"][-1]["content"].endswith("\n- sub-goal (open): Look.")
    answer = grpc_stub.GetState(pb.GetStateRequest(window_id=window.window_id), metadata=METADATA)
    assert [(one.section, one.value, one.source) for one in answer.entries] == [("sub_goal", "open", "caller")]


def test_CloseWindow_packs_no_more(grpc_stub, window):
    assert grpc_stub.CloseWindow(pb.CloseWindowRequest(window_id=window.window_id), metadata=METADATA).window.is_closed
    with pytest.raises(grpc.RpcError) as error:
        grpc_stub.Pack(pb.PackRequest(window_id=window.window_id), metadata=METADATA)
    assert type(raised(error.value)) is WindowClosed


def test_PutProfile_makes_a_version_of_each_content(grpc_stub, context_id):
    made = [
        grpc_stub.PutProfile(pb.PutProfileRequest(name="stubs", text=text), metadata=METADATA).profile.version
        for text in ("extends: coding", "extends: research", "extends: coding")
    ]
    assert made == [1, 2, 1]
    request = pb.OpenWindowRequest(context_id=context_id, model="gpt-5", compression_profile="stubs")
    assert grpc_stub.OpenWindow(request, metadata=METADATA).window.compression_profile == "stubs@1"


def test_SetLearning_freezes_what_is_learned(grpc_stub):
    request = pb.SetLearningRequest(profile="research", is_frozen=True)
    known = grpc_stub.SetLearning(request, metadata=METADATA)
    assert (known.profile, known.is_frozen, known.version) == ("research", True, 0)


def test_ListProfiles_answers_those_of_the_service_too(grpc_stub):
    grpc_stub.PutProfile(pb.PutProfileRequest(name="listed", text="extends: coding"), metadata=METADATA)
    answer = grpc_stub.ListProfiles(pb.ListProfilesRequest(), metadata=METADATA)
    assert {"coding", "general", "listed", "operations", "research"} <= {one.name for one in answer.profiles}
    named = grpc_stub.ListProfiles(pb.ListProfilesRequest(name="listed", with_text=True), metadata=METADATA)
    assert [one.text for one in named.profiles] == ["extends: coding"]
