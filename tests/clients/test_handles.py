"""Handles: the methods of a noun that are about one thing, without the argument for its id."""

from __future__ import annotations

import inspect
from dataclasses import replace

import pytest

from contextkeep.errors import ContextNotFound, WindowNotFound
from tests.clients.worlds import ASYNC, SYNC, World


@pytest.mark.parametrize("world", [ASYNC, SYNC], ids=["async", "sync"])
@pytest.mark.parametrize(("noun", "id_field"), [("windows", "window_id"), ("contexts", "context_id")])
def test_a_handle_has_each_method_that_takes_the_id_first_or_second(world: World, noun: str, id_field: str):
    kind = getattr(world.context_class, noun)
    taking = {
        name
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if id_field
        in [one.name for one in inspect.signature(method).parameters.values() if one.kind is not one.KEYWORD_ONLY]
    } - {"handle", "open", "list"}
    handle = getattr(world.context_class("127.0.0.1:9"), noun).handle("the id")
    assert {name for name in dir(handle) if not name.startswith("_") and name != id_field} == taking
    assert all(id_field not in inspect.signature(getattr(handle, name)).parameters for name in taking)


async def test_a_window_that_was_opened_has_its_methods(world: World, context):
    talk = context.contexts.handle((await world.run(context.contexts.send, "Where is my file?")).context_id)
    assert (await world.run(talk.send, "It is plan.md.")).context_id == talk.context_id
    assert [one.content for one in await world.run(talk.list_messages)] == ["Where is my file?", "It is plan.md."]

    window = await world.run(context.windows.open, talk.context_id, "gpt-5", system_prompt="Be brief.")
    pack = await world.run(window.pack)
    assert pack == await world.run(context.windows.handle(window.window_id).pack)
    pin_id = await world.run(window.pin, "Answer in French.")
    assert [one.key for one in await world.run(window.get_state, ["pin"])] == [pin_id]

    assert window.model == "gpt-5"
    assert (await world.run(window.close)).is_closed
    stored = await world.run(context.windows.get, window.window_id)
    assert (window == stored, hash(window) == hash(stored)) == (False, False)  # it is closed
    again = await world.run(context.windows.open, talk.context_id, "gpt-5")
    copy = replace(again, model="mine")
    assert (copy.model, await world.run(copy.get)) == ("mine", again)
    assert again == await world.run(again.get)
    assert hash(again) == hash(await world.run(again.get))


async def test_a_handle_calls_for_its_user(world: World, context):
    """A call may name another user; a window remembers the user that it was opened for."""
    sent = await world.run(context.contexts.send, "Where is my file?", subject_user_id="ada")
    talk = context.contexts.handle(sent.context_id, subject_user_id="ada")
    assert (await world.run(talk.send, "It is plan.md.")).context_id == talk.context_id
    assert len(await world.run(talk.list_messages)) == 2
    with pytest.raises(ContextNotFound):
        await world.run(talk.get, subject_user_id="bob")

    window = await world.run(context.windows.open, talk.context_id, "gpt-5", subject_user_id="ada")
    assert await world.run(window.pack) == await world.run(
        context.windows.handle(window.window_id, subject_user_id="ada").pack
    )
    with pytest.raises(WindowNotFound):
        await world.run(context.windows.handle(window.window_id).pack)
