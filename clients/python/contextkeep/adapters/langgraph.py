"""Checkpoints of LangGraph: a thread is stored in contexts, and its messages are found like any conversation.

    with ContextClient() as client:
        graph = builder.compile(checkpointer=ContextSaver(client))

A thread has one context with the elements of its lists, such as its messages, each stored once (`_langgraph_lists`). It
has one further context for each namespace, with checkpoints, the writes of tasks, and all other values. Checkpoints
refer to lists, and the lists are written first. So a process that dies between the two leaves messages without a
checkpoint, but no checkpoint without its messages.
"""

from __future__ import annotations

import asyncio
import builtins
import hashlib
import heapq
import json
import math
import random
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, repeat
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    PendingWrite,
    get_checkpoint_id,
    get_serializable_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from contextkeep.adapters._langgraph_lists import (
    KEY,
    UNSEEN,
    HeldFile,
    Lists,
    carrying,
    item_of,
    messages_of,
    value_of,
)
from contextkeep.adapters._langgraph_store import ContextStore
from contextkeep.adapters._media import LastBytes
from contextkeep.adapters._originals import bytes_of, is_storable
from contextkeep.adapters._threads import own_context
from contextkeep.client.sync.context import ContextClient
from contextkeep.errors import ContextNotFound, MessageNotFound, RecordNotFound
from contextkeep.inputs import ContextInput, ExternalId, MessageInput, PartInput
from contextkeep.values import ChatMessage

__all__ = ["ContextSaver", "ContextStore"]

SYSTEM = "langgraph"  # the system of the external id of a thread's lists; the id is that of the thread
STATE_SYSTEM = "langgraph-state"  # the system of the external id of a namespace's checkpoints

_AT_ONCE = 500  # messages that one call writes, reads or retracts
_FEW = 16  # newest messages that are read first
_INLINE_MAX = 1_000  # characters of a text that is stored inside its checkpoint
_SETTLED = timedelta(minutes=1)  # lists newer than this are kept: a checkpoint that is stored next may refer to them
_THREADS_MAX = 64  # threads whose lists stay in memory: those that were used last
_KNOWN_MAX = 1_000  # checkpoints of a namespace that are remembered as stored
_WAITING_MAX = 1_000  # checkpoints of a namespace that are not stored yet, and for which writes wait
_STRATEGIES = ("keep_latest", "delete")


class ContextSaver(BaseCheckpointSaver[str]):
    """A checkpointer, sync and async, for any number of threads at once."""

    def __init__(
        self, client: ContextClient, *, serde: SerializerProtocol | None = None, subject_user_id: str = ""
    ) -> None:
        """Take a client; the saver needs no setup.

        Args:
            client: Client of the Context Service; the caller closes it. Async methods use it in a thread.
            serde: Serializer for values. Default: LangGraph's default, with JSON and msgpack.
            subject_user_id: The user to call for, with a key that has no user and has the scope `delegate`.
        """
        super().__init__(serde=serde)
        self._client = client
        self._subject = subject_user_id
        self._logs: OrderedDict[str, _Log] = OrderedDict()
        self._lists: OrderedDict[str, Lists] = OrderedDict()
        self._files = _FileCache(client, subject_user_id)
        self._lock = threading.Lock()  # guards the two dicts above; never held while a call is made

    # -- reading --

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that a config names, or the newest of its thread and namespace, or None."""
        thread_id, namespace = _thread_of(config)
        log = self._state(thread_id, namespace)
        checkpoint_id = get_checkpoint_id(config)
        if checkpoint_id is None:
            result = next(_checkpoints(log), None)
        else:
            message = log.get(_checkpoint_message_id(checkpoint_id))
            result = None
            if message is not None:
                behind = log.oldest_first(seq_from=message.seq + 1)
                result = _Found(
                    log, message, [item for item in behind if _about(item).get("write_of") == checkpoint_id]
                )
        return None if result is None else self._tuple(thread_id, namespace, log, result)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield checkpoints, the newest first.

        Args:
            config: The thread, namespace and checkpoint to list; those that it does not name are not restricted.
                Default: all.
            filter: Keys and values that the metadata of a checkpoint must have.
            before: List only checkpoints that are older than the one that this config names.
            limit: Maximum number of checkpoints. Default: all.
        """
        wanted = None if config is None else get_checkpoint_id(config)
        upto = None if before is None else get_checkpoint_id(before)
        streams = [zip(_checkpoints(log), repeat(log)) for log in self._states(config)]
        count = 0
        for item, log in heapq.merge(*streams, key=lambda pair: pair[0].checkpoint_id, reverse=True):
            if limit is not None and count >= limit:
                return
            if wanted is not None and item.checkpoint_id != wanted:
                continue
            if upto is not None and item.checkpoint_id >= upto:
                continue
            if filter and not _has(item.metadata, filter):
                continue
            count += 1
            yield self._tuple(log.thread_id, log.namespace, log, item)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return, for each channel, its last snapshot before a checkpoint and the writes since.

        The ancestors of the checkpoint are read once for all channels.
        """
        writes: dict[str, list[PendingWrite]] = {channel: [] for channel in channels}
        seeds: dict[str, Any] = {}
        target = self.get_tuple(config) if channels else None
        if target is not None and target.parent_config is not None:
            thread_id, namespace = _thread_of(config)
            log = self._state(thread_id, namespace)
            wanted = get_checkpoint_id(target.parent_config)
            for result in _checkpoints(log):
                if result.checkpoint_id != wanted:
                    continue
                pending = self._writes(log, result)
                values = self._values(thread_id, log, result, only=set(channels) - set(seeds))
                for channel in channels:
                    if channel not in seeds:
                        writes[channel] += [item for item in reversed(pending) if item[1] == channel]
                seeds |= values
                wanted = result.parent_id
                if wanted is None or len(seeds) == len(writes):
                    break
        return {
            channel: DeltaChannelHistory(writes=got[::-1], **({"seed": seeds[channel]} if channel in seeds else {}))
            for channel, got in writes.items()
        }

    # -- writing --

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint, and return the config that names it."""
        thread_id, namespace = _thread_of(config)
        log = self._state(thread_id, namespace)
        result, values = self._store_lists(thread_id, log, checkpoint, new_versions)
        kept: dict[str, Any] = {name: value for name, value in checkpoint.items() if name != "channel_values"}
        serializable_checkpoint_metadata = get_serializable_checkpoint_metadata(config, metadata)
        body = {
            "checkpoint": kept,
            "metadata": serializable_checkpoint_metadata,
            "values": values,
            "parent_id": get_checkpoint_id(config),
        }
        about, message_id = {"checkpoint": checkpoint["id"]}, _checkpoint_message_id(checkpoint["id"])
        if is_storable(body):
            part = PartInput(data=body, metadata=UNSEEN)
            result.append(MessageInput(role="tool", message_id=message_id, parts=[part], metadata={KEY: about}))
        else:
            result += carrying("json", json.dumps(body).encode(), about, message_id=message_id)
        log.append_checkpoint(result, checkpoint["id"])
        return _config(thread_id, namespace, checkpoint["id"])

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store the writes of a task after a checkpoint; a repeat for the same task changes nothing."""
        thread_id, namespace = _thread_of(config)
        checkpoint_id = config["configurable"]["checkpoint_id"]
        messages: list[MessageInput] = []
        for place, (channel, value) in enumerate(writes):
            about = {
                "write_of": checkpoint_id,
                "task": task_id,
                "path": task_path,
                "place": WRITES_IDX_MAP.get(channel, place),
                "channel": channel,
            }
            kind, data = self.serde.dumps_typed(value)
            messages += carrying(kind, data, about)
        if messages:
            self._state(thread_id, namespace).append_writes(messages, checkpoint_id)

    def delete_thread(self, thread_id: str) -> None:
        """Delete all contexts of a thread."""
        contexts = self._client.contexts.list(
            metadata_contains={KEY: {"thread": str(thread_id)}}, subject_user_id=self._subject
        )
        for context_id in [item.context_id for item in contexts]:
            self._client.contexts.delete(context_id, now=True, subject_user_id=self._subject)
        with self._lock:
            self._lists.pop(str(thread_id), None)
            self._logs = OrderedDict(
                (name, item) for name, item in self._logs.items() if item.thread_id != str(thread_id)
            )

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of runs, the writes after them, and the values that no other checkpoint has.

        This reads all threads.
        """
        runs = set(run_ids)
        for thread_id in {log.thread_id for log in self._states(None)} if runs else ():
            self._retract(thread_id, lambda _, row: row.metadata.get("run_id") in runs)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete old checkpoints of threads, and the values that no other checkpoint has.

        Args:
            thread_ids: Ids of the threads.
            strategy: "keep_latest" keeps the newest checkpoint of each namespace; "delete" keeps none.

        Raises:
            ValueError: there is no such strategy.
            NotImplementedError: a thread has a `DeltaChannel`, whose old checkpoints are its value.
        """
        if strategy not in _STRATEGIES:
            raise ValueError(f"strategy must be one of {', '.join(_STRATEGIES)} (got {strategy!r})")
        for thread_id in map(str, thread_ids):
            if strategy == "delete":
                self.delete_thread(thread_id)
                continue

            def is_old(place: int, item: _Found) -> bool:
                if {"counters_since_delta_snapshot", "delta_writes_versioned"} & item.metadata.keys():
                    raise NotImplementedError("keep_latest can't prune a thread that has a DeltaChannel")
                return place > 0

            self._retract(thread_id, is_old)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all messages of a thread to another thread, which must be empty."""
        source, target = str(source_thread_id), str(target_thread_id)
        lists = self._conversation(source)
        states = list(self._states({"configurable": {"thread_id": source}}))
        for log, to in [
            (lists, self._conversation(target)),
            *((state, self._state(target, state.namespace)) for state in states),
        ]:
            to.append(_again(message) for message in log.oldest_first())

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Return the version that follows another one; a random part makes versions of different branches differ."""
        number = 0 if current is None else int(str(current).split(".")[0])
        return f"{number + 1:032}.{random.random():016}"  # noqa: S311 - no secret

    # -- the same, awaited --

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """See `get_tuple`."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """See `list`."""
        result = self.list(config, filter=filter, before=before, limit=limit)
        while (item := await asyncio.to_thread(next, result, None)) is not None:
            yield item

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """See `get_delta_channel_history`."""
        return await asyncio.to_thread(self.get_delta_channel_history, config=config, channels=channels)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """See `put`."""
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """See `put_writes`."""
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """See `delete_thread`."""
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """See `delete_for_runs`."""
        await asyncio.to_thread(self.delete_for_runs, run_ids)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """See `prune`."""
        await asyncio.to_thread(self.prune, thread_ids, strategy=strategy)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """See `copy_thread`."""
        await asyncio.to_thread(self.copy_thread, source_thread_id, target_thread_id)

    # -- where it is --

    def _state(self, thread_id: str, namespace: str) -> _Log:
        """Return the log of a namespace's checkpoints."""
        about = {"thread": thread_id, "of": "state", "namespace": namespace}
        name = json.dumps([thread_id, namespace])
        return self._log(ExternalId(STATE_SYSTEM, name if len(name) <= 400 else _digest(name)), about)

    def _conversation(self, thread_id: str) -> _Log:
        """Return the log of a thread's lists."""
        name = thread_id if len(thread_id) <= 400 else _digest(thread_id)
        return self._log(ExternalId(SYSTEM, name), {"thread": thread_id, "of": "lists"})

    def _log(self, name: ExternalId, about: Mapping[str, str]) -> _Log:
        """Return the log with an external id, from memory or new; logs that were used longest ago are forgotten."""
        with self._lock:
            log = self._logs.setdefault(f"{name.system}/{name.id}", _Log(self._client, self._subject, name, about))
            self._logs.move_to_end(f"{name.system}/{name.id}")
            while len(self._logs) > _THREADS_MAX * 4:
                self._logs.popitem(last=False)
            return log

    def _states(self, config: RunnableConfig | None) -> Iterator[_Log]:
        """Yield the logs of checkpoints that match a config: of one namespace, of one thread, or all."""
        values = {} if config is None else config["configurable"]
        if values.get("checkpoint_ns") is not None:
            yield self._state(str(values["thread_id"]), values["checkpoint_ns"])
            return
        about = {"of": "state"} | ({"thread": str(values["thread_id"])} if values else {})
        contexts = self._client.contexts.list(metadata_contains={KEY: about}, subject_user_id=self._subject)
        for context in contexts:
            of = context.metadata[KEY]
            yield self._state(of["thread"], of["namespace"])

    # -- storage --

    def _store_lists(
        self, thread_id: str, log: _Log, checkpoint: Checkpoint, new_versions: ChannelVersions
    ) -> tuple[builtins.list[MessageInput], dict[str, Any]]:
        """Store the lists of a checkpoint.

        Returns:
            The messages of its other values, to be stored with the checkpoint; and for each channel, the value itself
            (`value`), the key of its list (`list`), or the key of its message (`at`).
        """
        messages: list[MessageInput] = []
        values: dict[str, Any] = {}
        for channel, value in checkpoint["channel_values"].items():
            key = _digest(json.dumps([log.namespace, channel, checkpoint["channel_versions"].get(channel)]))
            if _is_inline(value):
                values[channel] = {"value": value}
            elif type(value) is list and value:
                values[channel] = {"list": key}
                if channel in new_versions:
                    self._store_list(thread_id, (log.namespace, channel), key, value)
            else:
                values[channel] = {"at": key}
                if channel in new_versions and log.get(_value_message_id(key)) is None:
                    kind, data = self.serde.dumps_typed(value)
                    messages += carrying(kind, data, {"at": key}, message_id=_value_message_id(key))
        return messages, values

    def _store_list(self, thread_id: str, channel: tuple[str, str], key: str, value: Sequence[Any]) -> None:
        """Store a list of messages under a key: only the messages that the nearest stored list does not have."""
        items = [item_of(item, self.serde) for item in value]
        log, lists = self._conversation(thread_id), self._lists_of(thread_id)
        with lists.lock:
            if key not in lists:
                on, keep, added = lists.add(key, items, lists.near(channel))
                try:
                    log.append(messages_of(key, on, keep, added))
                except BaseException:
                    lists.forget(key)
                    raise
                if lists.context_id is None:  # the first messages created the context
                    lists.context_id = log.context_id()
            lists.latest[channel] = key

    def _lists_of(self, thread_id: str, keys: Iterable[str] = ()) -> Lists:
        """Return the lists of a thread; if one of `keys` is not in memory, read the messages written since."""
        log = self._conversation(thread_id)
        with self._lock:
            lists = self._lists.setdefault(thread_id, Lists())
            self._lists.move_to_end(thread_id)
            while len(self._lists) > _THREADS_MAX:
                self._lists.popitem(last=False)
        with lists.lock:
            if lists.context_id != (context_id := log.context_id()):
                lists.begin(context_id)
            if any(key not in lists for key in keys):
                for message in log.oldest_first(seq_from=lists.read_seq + 1):
                    lists.read(message, lambda row: _payload(log, row))
        return lists

    def _tuple(self, thread_id: str, namespace: str, log: _Log, item: _Found) -> CheckpointTuple:
        """Return a stored checkpoint in LangGraph's form, with its values and the writes after it."""
        log.know(item.checkpoint_id)
        values = self._values(thread_id, log, item)
        return CheckpointTuple(
            _config(thread_id, namespace, item.checkpoint_id),
            {**item.body["checkpoint"], "channel_values": values},
            item.metadata,
            None if item.parent_id is None else _config(thread_id, namespace, item.parent_id),
            self._writes(log, item),
        )

    def _values(self, thread_id: str, log: _Log, value: _Found, *, only: set[str] | None = None) -> dict[str, Any]:
        """Return the values of a checkpoint's channels by their names; values that were deleted are left out.

        Args:
            thread_id: Id of the thread.
            log: The log with the checkpoint.
            value: The checkpoint.
            only: Names of the wanted channels; None returns all.
        """
        fields = {name: at for name, at in value.body["values"].items() if only is None or name in only}
        lists = self._lists_of(thread_id, [at["list"] for at in fields.values() if "list" in at])
        values: dict[str, Any] = {}
        for channel, at in fields.items():
            if "value" in at:
                values[channel] = at["value"]
            elif "list" in at:
                with lists.lock:
                    if at["list"] in lists:
                        values[channel] = [
                            value_of(item, self.serde, self._files.data_of) for item in lists.items(at["list"])
                        ]
                        lists.latest[log.namespace, channel] = at["list"]
            elif (message := log.get(_value_message_id(at["at"]))) is not None:
                values[channel] = self.serde.loads_typed(_payload(log, message))
        return values

    def _writes(self, log: _Log, item: _Found) -> builtins.list[PendingWrite]:
        """Return the writes of tasks after a checkpoint, in the order in which a run applies them."""
        kept: dict[tuple[str, str, int], ChatMessage] = {}
        for message in sorted(item.writes, key=lambda row: row.seq):
            about = _about(message)
            name = writes_sort_key(about["path"], about["task"], about["place"])
            # LangGraph gives an error, an interrupt or a resume a negative place, and its last write counts. For other
            # writes the first one counts, since a repeated task writes the same again.
            if about["place"] < 0 or name not in kept:
                kept[name] = message
        return [
            (about["task"], about["channel"], self.serde.loads_typed(_payload(log, kept[name])))
            for name in sorted(kept)
            for about in [_about(kept[name])]
        ]

    def _retract(self, thread_id: str, is_doomed: Callable[[int, _Found], bool]) -> None:
        """Retract checkpoints of a thread, the writes after them, and the values that no other checkpoint has.

        Args:
            thread_id: Id of the thread.
            is_doomed: Says whether to retract a checkpoint; its first argument is the position, from the newest.
        """
        kept_lists: set[str] = set()
        some = False
        for log in list(self._states({"configurable": {"thread_id": thread_id}})):
            every = list(_checkpoints(log))
            doomed = [checkpoint for place, checkpoint in enumerate(every) if is_doomed(place, checkpoint)]
            kept = [at for checkpoint in every if checkpoint not in doomed for at in checkpoint.body["values"].values()]
            kept_lists |= {at["list"] for at in kept if "list" in at}
            if doomed:
                some = True
                gone = {
                    message.message_id for checkpoint in doomed for message in (checkpoint.message, *checkpoint.writes)
                }
                kept_values = {None, *(at["at"] for at in kept if "at" in at)}
                log.retract(
                    item
                    for item in log.oldest_first()
                    if item.message_id in gone or _about(item).get("at") not in kept_values
                )
        if not some:
            return
        lists = self._lists_of(thread_id, ["all of them"])  # no list has this key, so all messages are read
        with lists.lock:
            reached = lists.reached(kept_lists)
            conversation = self._conversation(thread_id)
            # Recent writes may belong to a checkpoint that is stored next.
            old = datetime.now(UTC) - _SETTLED
            conversation.retract(
                item
                for item in conversation.oldest_first()
                if "list" in _about(item) and _about(item)["list"] not in reached and item.created_at < old
            )
            lists.begin(None)


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """A stored checkpoint, and the messages of the writes after it."""

    log: _Log
    message: ChatMessage
    writes: list[ChatMessage]

    @property
    def checkpoint_id(self) -> str:
        """Return its id."""
        return str(_about(self.message)["checkpoint"])

    @property
    def body(self) -> dict[str, Any]:
        """Return its stored body."""
        stored: dict[str, Any] | None = self.message.parts[0].data
        return stored if stored is not None else dict(json.loads(_payload(self.log, self.message)[1]))

    @property
    def metadata(self) -> CheckpointMetadata:
        """Return its metadata."""
        metadata: CheckpointMetadata = self.body["metadata"]
        return metadata

    @property
    def parent_id(self) -> str | None:
        """Return the id of the checkpoint that it came from."""
        parent_id: str | None = self.body["parent_id"]
        return parent_id


class _FileCache:
    """Reads the bytes of files, and remembers the last ones by their hashes. Threads may share it."""

    def __init__(self, client: ContextClient, subject: str) -> None:
        self._client = client
        self._subject = subject
        self._known = LastBytes()

    def data_of(self, file: HeldFile) -> bytes:
        """Return the bytes of a file; none if its record was deleted."""
        known = file.data if file.data is not None else self._known.get(file.sha256)
        if known is None:
            try:
                with self._client.blobs.get(file.working_memory_id, subject_user_id=self._subject) as reader:
                    known = b"".join(reader)
            except RecordNotFound:
                return b""
            self._known.put(file.sha256, known)
        return known


class _Log:
    """A context of a thread, used as a log of messages: found by its external id, created by its first message."""

    def __init__(self, client: ContextClient, subject: str, name: ExternalId, about: Mapping[str, str]) -> None:
        self.thread_id = about["thread"]
        self.namespace = about.get("namespace", "")
        self._client = client
        self._subject = subject
        self._name = name
        self._about = about
        self._context_id: str | None = None
        self._lock = threading.Lock()  # guards the next two; never held while a call is made
        self._known: OrderedDict[str, None] = OrderedDict()  # checkpoints that are stored
        # Messages of writes, by the id of a checkpoint that is not stored yet: they are appended after it.
        self._waiting: OrderedDict[str, list[MessageInput]] = OrderedDict()

    def context_id(self) -> str | None:
        """Return the id of the context; None if it has no message yet."""
        if self._context_id is None:
            contexts = self._client.contexts.get_by_external_id(self._name, subject_user_id=self._subject)
            context = own_context(contexts, self._subject)
            self._context_id = context.context_id if context else None
        return self._context_id

    def append(self, messages: Iterable[MessageInput]) -> None:
        """Write messages in their order, `_AT_ONCE` in a call; each call writes all its messages or none."""
        left = iter(messages)
        while some := list(islice(left, _AT_ONCE)):
            receipt = self._client.contexts.append(
                some,
                get_or_create=self._name,
                context=ContextInput(metadata={KEY: dict(self._about)}),
                subject_user_id=self._subject,
            )
            self._context_id = receipt[0].context_id

    def append_checkpoint(self, messages: Iterable[MessageInput], checkpoint_id: str) -> None:
        """Write a checkpoint, and after it the writes that wait for it."""
        self.append(messages)
        with self._lock:
            self._know(checkpoint_id)
            waiting = self._waiting.pop(checkpoint_id, [])
        self.append(waiting)

    def append_writes(self, messages: list[MessageInput], checkpoint_id: str) -> None:
        """Write the writes of a task after a checkpoint; if the checkpoint is not stored yet, keep them until it is.

        A run saves in the background: its writes immediately, and its checkpoints one after the other. So a write may
        come before its checkpoint, and readers would not find it there. A write whose checkpoint is never stored is not
        needed.
        """
        with self._lock:
            known = checkpoint_id in self._known
        if not known and self.get(_checkpoint_message_id(checkpoint_id)) is not None:
            with self._lock:
                self._know(checkpoint_id)
        with self._lock:
            if checkpoint_id not in self._known:
                self._waiting.setdefault(checkpoint_id, []).extend(messages)
                while len(self._waiting) > _WAITING_MAX:
                    self._waiting.popitem(last=False)
                return
        self.append(messages)

    def know(self, checkpoint_id: str) -> None:
        """Remember that a checkpoint is stored."""
        with self._lock:
            self._know(checkpoint_id)

    def _know(self, checkpoint_id: str) -> None:
        self._known[checkpoint_id] = None
        while len(self._known) > _KNOWN_MAX:
            self._known.popitem(last=False)

    def oldest_first(self, *, seq_from: int = 1) -> Iterator[ChatMessage]:
        """Yield the messages from a `seq` on, in their order."""
        yield from self._messages(seq_from=seq_from, page_size=_AT_ONCE)

    def newest_first(self) -> Iterator[ChatMessage]:
        """Yield the messages from the last one back. A few are read at first, since few are usually enough."""
        last = 0
        for message in islice(self._messages(newest_first=True, page_size=_FEW), _FEW):
            last = message.seq
            yield message
        if last > 1:
            yield from self._messages(newest_first=True, seq_to=last - 1, page_size=_AT_ONCE)

    def _messages(self, **how: Any) -> Iterator[ChatMessage]:
        """Yield messages of the thread's context; none if the thread has no context."""
        context_id = self.context_id()
        if context_id is None:
            return
        try:
            yield from self._client.contexts.list_messages(context_id, subject_user_id=self._subject, **how)
        except ContextNotFound:  # another process deleted it
            self._context_id = None

    def get(self, message_id: str) -> ChatMessage | None:
        """Return the message with an id, or None if there is none."""
        context_id = self.context_id()
        if context_id is None:
            return None
        try:
            return self._client.contexts.get_message(context_id, message_id, subject_user_id=self._subject)
        except MessageNotFound:
            return None
        except ContextNotFound:
            self._context_id = None
            return None

    def retract(self, messages: Iterable[ChatMessage]) -> None:
        """Hide messages for good."""
        left = iter([message.message_id for message in messages])
        while some := list(islice(left, _AT_ONCE)):
            context_id = self.context_id()
            assert context_id is not None, "they were read from it"
            self._client.contexts.retract_messages(context_id, some, subject_user_id=self._subject)


def _checkpoints(log: _Log) -> Iterator[_Found]:
    """Yield the checkpoints of a log, newest first, with the writes after them."""
    writes: dict[str, list[ChatMessage]] = {}
    for message in log.newest_first():
        about = _about(message)
        if "write_of" in about:
            writes.setdefault(about["write_of"], []).append(message)
        elif "checkpoint" in about:
            yield _Found(log, message, writes.pop(about["checkpoint"], []))


def _about(message: ChatMessage) -> dict[str, Any]:
    about = message.metadata.get(KEY)
    return about if isinstance(about, dict) else {}


def _payload(log: _Log, message: ChatMessage) -> tuple[str, bytes]:
    """Return the kind and the bytes that a message carries, joined with the pieces that were written before it.

    Raises:
        MessageNotFound: a piece was deleted.
    """
    cuts = [bytes_of(message.parts[-1])]
    for message_id in reversed(_about(message).get("pieces", ())):
        piece = log.get(message_id)
        if piece is None:
            raise MessageNotFound(f"a piece of message {message.seq} is gone")
        cuts.append(bytes_of(piece.parts[-1]))
    return str(_about(message)["kind"]), b"".join(reversed(cuts))


def _again(message: ChatMessage) -> MessageInput:
    """Return a copy of a message, to be written to another context."""
    role: Any = message.role
    return MessageInput(
        message.content,
        role=role,
        parts=message.parts,
        message_id=message.message_id,
        metadata=message.metadata,
        said_at=message.said_at,
    )


def _thread_of(config: RunnableConfig) -> tuple[str, str]:
    """Return the thread and the namespace of a config."""
    result = config["configurable"]
    return str(result["thread_id"]), result.get("checkpoint_ns", "")


def _config(thread_id: str, namespace: str, checkpoint_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": namespace, "checkpoint_id": checkpoint_id}}


def _checkpoint_message_id(checkpoint_id: str) -> str:
    return f"checkpoint:{checkpoint_id}"


def _value_message_id(key: str) -> str:
    return f"value:{key}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _is_inline(value: Any) -> bool:
    """Say whether a value is short, and stays the same when it is stored as JSON in the checkpoint."""
    if isinstance(value, str):
        return len(value) <= _INLINE_MAX and value.isprintable()
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return abs(value) < 2**53
    return value is None


def _has(metadata: Any, wanted: Any) -> bool:
    """Say whether JSON contains other JSON, as the operator `@>` of Postgres does for objects."""
    if isinstance(wanted, dict) and isinstance(metadata, dict):
        return all(name in metadata and _has(metadata[name], value) for name, value in wanted.items())
    return bool(metadata == wanted)
