"""Windows over any log, from two replicas: what holds of every pack, whatever was said and done in between."""

from __future__ import annotations

import base64
import hashlib
import random
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest

from context_service.kernel.rendering import Format
from context_service.kernel.tokens import TokenCounter
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.context.v1 import message_pb2, working_memory_pb2
from contextkeep.context.v1.working_memory_pb2_grpc import WorkingMemoryStub
from contextkeep.errors import Erased, FoldNoProgress
from tests import vendors
from tests.context_service.contexts.callers import Caller
from tests.context_service.kernel.test_rendering import (
    MESSAGES,
    REASONING_ITEM,
    SIGNATURE,
    THINKING,
    adapter,
    exhausted,
)
from tests.context_service.windows.calling import FORMATS, opened, packed, said

LIMIT, TURNS = 5_000, 30
_REFS = re.compile(r"[(, ](m[0-9]+(?:/[0-9]+|\.[0-9]+|\.\.m[0-9]+)?)[\])]")
_WORDS = (
    "the parser",
    "reads",
    "a line",
    "and_keeps",
    "从现在开始,",
    "ещё",
    "👩\u200d👩\u200d👧",
    "\x07",
    "\u202e",
    "{}",
)
_THINGS = ("parser", "ledger", "uploader", "scheduler")
_REASONING = {
    Format.ANTHROPIC: message_pb2.Reasoning(provider="anthropic", data_json=THINKING),
    Format.OPENAI_RESPONSES: message_pb2.Reasoning(provider="openai", data_json=REASONING_ITEM),
    Format.GEMINI: message_pb2.Reasoning(provider="gemini", data=SIGNATURE),
    Format.OPENAI: message_pb2.Reasoning(provider="openai", text="I think."),
}
_RENDERED = {
    Format.ANTHROPIC: THINKING,
    Format.OPENAI_RESPONSES: REASONING_ITEM,
    Format.GEMINI: base64.b64encode(SIGNATURE).decode(),
}


@dataclass
class Walk:
    """A context that somebody works in, and what is known of it.

    Attributes:
        record_id: Of a picture in working memory.
        sent: The messages, by seq.
        rules: Rules of users, by seq, and values: the thing, and the sentence.
        pins: What is pinned, by id.
        printed: Every ref that a pack had.
        outputs: What tools say next, before they say anything.
    """

    random: random.Random
    to: Format
    context_id: str = ""
    record_id: str = ""
    sent: dict[int, dict[str, Any]] = field(default_factory=dict)
    retracted: set[int] = field(default_factory=set)
    rules: dict[int, str] = field(default_factory=dict)
    values: dict[int, tuple[str, str]] = field(default_factory=dict)
    pins: dict[str, str] = field(default_factory=dict)
    printed: set[str] = field(default_factory=set)
    outputs: list[str] = field(default_factory=list)

    async def say(self, caller: Caller) -> None:
        """Write what a user says, or what an agent does."""
        made = self._of_user() if self.random.random() < 0.3 else list(self._of_agent())
        for one in made:
            self.sent[len(self.sent) + 1] = one | {"message_id": f"id{len(self.sent) + 1}"}
        self.context_id = await said(caller, self.context_id, *list(self.sent.values())[-len(made) :])

    async def retract(self, caller: Caller) -> None:
        """Take a message back that nobody took back yet."""
        seq = self.random.choice([one for one in self.sent if one not in self.retracted])
        self.retracted.add(seq)
        self.rules.pop(seq, None)
        self.values.pop(seq, None)
        await caller.call("RetractMessages", context_id=self.context_id, message_ids=[f"id{seq}"])

    async def pin(self, caller: Caller, window: windows_pb.Window) -> None:
        """Pin a text, and unpin one, if there are some."""
        if len(self.pins) > 1:
            pin_id = self.random.choice(list(self.pins))
            del self.pins[pin_id]
            await caller.call("Unpin", window_id=window.window_id, pin_id=pin_id)
        text = f"Pinned of {len(self.sent)}: {self._text(6)}"
        self.pins[(await caller.call("Pin", window_id=window.window_id, text=text)).pin_id] = text

    def now(self) -> dict[str, str]:
        """Return what each value is, as it was said last."""
        return dict(self.values[seq] for seq in sorted(self.values))

    def _text(self, words: int) -> str:
        return " ".join(self.random.choices(_WORDS, k=words))

    def _of_user(self) -> list[dict[str, Any]]:
        seq, thing = len(self.sent) + 1, self.random.choice(_THINGS)
        kind = self.random.randrange(5)
        if kind == 0:
            self.rules[seq] = f"Never touch the folder of the {thing} {seq}."
            return [{"content": f"{self._text(5)}.\n{self.rules[seq]}"}]
        if kind <= 2:
            form = self.random.choice(("Set the {} limit to {}.", "The {} limit is now {}."))
            sentence = form.format(thing, seq + 1_000)
            self.values[seq] = (thing, sentence)
            return [{"content": sentence}]
        if kind == 3:
            url = "data:image/png;base64,aGk="
            record = message_pb2.Part(working_memory_id=self.record_id, media_type="image/png", file_name="b.png")
            return [{"parts": [message_pb2.Part(url=url, media_type="image/png", file_name="a.png"), record]}]
        return [{"content": f"What is the limit of the {thing}, and {self._text(self.random.randrange(1, 400))}?"}]

    def _of_agent(self) -> Iterator[dict[str, Any]]:
        """Yield a message with calls in parallel, and results: in any order, twice, late, empty, or none."""
        seq = len(self.sent) + 1
        ids = [self.random.choice((f"c{seq}.{n}", "c")) for n in range(self.random.randrange(4))]
        thought = message_pb2.Part(reasoning=_REASONING[self.to])
        if self.random.random() < 0.15:  # frameworks write items one by one; sometimes nothing follows
            yield {"role": "assistant", "parts": [thought]}
            if self.random.random() < 0.3:
                return
        parts = [thought] if self.random.random() < 0.5 else []
        calls = [message_pb2.ToolCall(id=one, name="read_file", arguments_json='{"path": "a/b.py"}') for one in ids]
        parts += [message_pb2.Part(tool_call=one) for one in calls]
        yield {"role": "assistant", "content": self._text(self.random.randrange(1, 30)), "parts": parts}
        self.random.shuffle(ids)
        for one in ids + self.random.choices(ids, k=self.random.choice((0, 0, 1)) if ids else 0):
            if self.random.random() < 0.1:
                continue
            any_text = self.random.choice(("", "ok", "x" * 30_000, self._text(300), f"a\n{self._text(40)}\n" * 40))
            text = self.outputs.pop() if self.outputs else any_text
            result = message_pb2.ToolResult(tool_call_id=one, content_json=orjson.dumps(text).decode())
            yield {"role": "tool", "parts": [message_pb2.Part(tool_result=result)]}

    # What holds of every pack.

    def check(self, pack: windows_pb.PackResponse, window: windows_pb.Window) -> None:
        body = pack.messages_json
        messages = orjson.loads(body)[MESSAGES[self.to]]
        exhausted(adapter(self.to).validate_python(messages))
        assert pack.tokens == sum(value for _, value in pack.tokens_by_zone.ListFields()) <= window.token_limit
        assert TokenCounter(window.tokens_family).count(body) <= window.token_limit
        assert hashlib.sha256(body.encode()[: pack.prefix_bytes]).hexdigest() == pack.prefix_sha
        assert vendors.broken(messages, self.to, is_waiting=pack.is_waiting) == []
        for rule in self.rules.values():
            assert rule in body
        for pin in self.pins.values():
            assert orjson.dumps(pin).decode()[1:-1] in body
        assert not [seq for seq in self.retracted if f"of the {seq}." in body]
        shown = re.sub(r"; no longer: [^\"\\]*", "", body)
        for thing, sentence in self.now().items():
            old = [text for of, text in self.values.values() if of == thing and text != sentence]
            assert sentence in shown
            assert [one for one in old if shown.rfind(one) > shown.rfind(sentence)] == []
        self.printed |= set(_REFS.findall(body))

    def check_reasoning(self, pack: windows_pb.PackResponse, explained: windows_pb.ExplainPackResponse) -> None:
        """Each step that is shown, masked or not, has its reasoning byte for byte, unless it is nothing else."""
        if self.to is Format.OPENAI:  # has no place for it
            return
        shown = [part.ref for part in explained.parts if part.zone in ("masked", "verbatim")]
        seqs = [int(ref.removeprefix("m").partition("..")[0]) for ref in shown]
        thought = sum(any(part.HasField("reasoning") for part in self.sent[seq].get("parts", ())) for seq in seqs)
        alone = [
            ref for ref, seq in zip(shown, seqs, strict=True) if ".." not in ref and "content" not in self.sent[seq]
        ]
        thought -= sum(self.sent[int(ref[1:])].get("role") == "assistant" for ref in alone)
        assert pack.messages_json.count(_RENDERED[self.to]) == thought

    async def check_refs(self, caller: Caller, window: windows_pb.Window) -> None:
        """Each ref that was ever printed has the bytes that were sent."""
        for ref in sorted(self.printed):
            seq, _, last = ref.removeprefix("m").partition("..m")
            seq, _, part = seq.partition("/")
            if not last and int(seq.partition(".")[0]) in self.retracted:
                with pytest.raises(Erased):
                    await caller.call("Expand", window_id=window.window_id, ref=ref)
                continue
            answer = await caller.call("Expand", window_id=window.window_id, ref=ref)
            if part:
                assert answer.content == self._bytes(int(seq), int(part))
                assert answer.sha256 == hashlib.sha256(answer.content).hexdigest()
            elif last:
                assert all(int(seq) <= one.seq <= int(last) for one in answer.messages)

    def _bytes(self, seq: int, part: int) -> bytes:
        message = self.sent[seq]
        if not part:
            return str(message.get("content", "")).encode()
        of = message["parts"][part - 1]
        if of.url:
            return base64.b64decode(of.url.partition(",")[2])
        said = of.tool_result.content_json or of.tool_call.arguments_json or of.working_memory_id
        return str(said).encode()


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("seed", [1])
async def test_what_holds_of_every_pack_holds_whatever_is_done(
    to: Format, seed: int, caller: Caller, other_replica: Caller
):
    record = working_memory_pb2.WMRecordInput(memory_type="file", name="b.png", content_text="a picture")
    inserted = await WorkingMemoryStub(caller.channel).InsertWMRecord(
        working_memory_pb2.InsertWMRecordRequest(record=record), metadata=caller.metadata
    )
    walk = Walk(random.Random(f"{to}{seed}"), to, record_id=inserted.record.working_memory_id)
    await walk.say(caller)
    # A model that takes reasoning back whatever is before it.
    model = "claude-sonnet-4-5" if to is Format.ANTHROPIC else "m"
    window = await opened(caller, walk.context_id, LIMIT, model=model, format=FORMATS[to], goal="Keep the limits.")
    before = windows_pb.PackResponse()
    folds = 0
    for turn in range(TURNS):
        replica = walk.random.choice((caller, other_replica))
        for _ in range(walk.random.choice((1, 1, 1, 6))):
            await walk.say(replica)
        if turn % 15 == 14:
            await walk.retract(replica)
        if turn % 8 == 7:
            await walk.pin(replica, window)
        if turn in (10, 20):  # a mebibyte in lines, and in one
            walk.outputs = [f"Always use tabs ({turn}).", "a line\n" * 149_000 if turn == 10 else "x" * 1_040_000]
        if walk.random.random() < 0.1:
            with suppress(FoldNoProgress):
                await replica.call("Fold", window_id=window.window_id)
        fields = {"without_recall": walk.random.random() < 0.3}
        pack = await packed(replica, window, **fields)
        walk.check(pack, window)
        begins = pack.messages_json.encode()[: before.prefix_bytes]
        if pack.epoch == before.epoch:
            assert hashlib.sha256(begins).hexdigest() == before.prefix_sha or not before.prefix_sha
        assert await packed(walk.random.choice((caller, other_replica)), window, **fields) == pack
        explained = await replica.call("ExplainPack", window_id=window.window_id)
        zones = ("digests", "segments", "masked", "verbatim")
        steps = [n for part in explained.parts if part.zone in zones for n in range(part.step_from, part.step_to + 1)]
        assert steps == list(range(1, len(steps) + 1))
        if not pack.is_waiting:
            walk.check_reasoning(pack, explained)
        folds += pack.epoch > before.epoch
        before = pack

    constraints = await caller.call("GetState", window_id=window.window_id, sections=["constraint"])
    assert {one.text for one in constraints.entries} == set(walk.rules.values())  # and none that a tool said
    assert not walk.outputs
    assert folds > 4
    assert len(walk.printed) > 20
    await walk.check_refs(caller, window)
