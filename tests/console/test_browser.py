"""The console in a real Chromium: how pages look and behave, with everything that a browser may complain about."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from contextkeep import ContextClient, ContextInput, EntityClient, FileInput, MessageInput, NodeInput, PartInput
from contextkeep_console.settings import Settings
from contextkeep_console.tables import ROWS_MAX
from tests import media
from tests.conftest import Addresses
from tests.console import browser as browsers
from tests.console.browser import Browser
from tests.console.conftest import Revocable, Running, a_key, served
from tests.console.world import World, png, screenshot, write, write_hostile
from tests.ports import free_port

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
SCREENS = [(width, dark) for width in (1600, 400) for dark in (False, True)]
WORLD_KEY = a_key()

if reason := browsers.missing():
    assert os.environ.get("CI") != "true", reason
    pytest.skip(reason, allow_module_level=True)


@pytest.fixture(scope="module")
def world(stack: Addresses) -> World:
    with (
        ContextClient(stack.context, api_key=WORLD_KEY) as context,
        EntityClient(stack.entity, api_key=WORLD_KEY) as graph,
    ):
        return write(context, graph)


@pytest.fixture(scope="module")
def chromium(running: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsers.browser(running.url, tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def page(chromium: Browser, running: Running) -> Browser:
    """Nobody has signed in, and nothing was complained about."""
    chromium.url = running.url
    chromium.driver.delete_all_cookies()
    chromium.look(width=1600)
    chromium.open("/sign-in")
    chromium.complaints()
    chromium.strangers()
    return chromium


def press(page: Browser, *keys: str) -> None:
    ActionChains(page.driver).send_keys(*keys).perform()


def test_a_person_signs_in_and_out_by_keyboard_alone(page: Browser, key: str):
    has_focus = "return document.activeElement.name === 'key'"
    page.open("/contexts")
    page.until(lambda: page.run(has_focus))
    press(page, "wrong", Keys.ENTER)
    page.until(lambda: "do not take this key" in page.text)
    assert any("401" in complaint for complaint in page.complaints())  # the answer itself, and nothing else

    page.open("/contexts")
    page.until(lambda: page.run(has_focus))
    press(page, key, Keys.ENTER)
    page.arrived("/contexts")
    assert "No context is begun yet" in page.text
    assert page.run("return document.cookie") == ""

    page.driver.find_element(By.CSS_SELECTOR, ".leave button").send_keys(Keys.ENTER)
    page.until(lambda: "You have signed out" in page.text)
    assert page.complaints() == []
    page.driver.back()
    page.until(lambda: "No context is begun yet" not in page.text)


def test_every_page_on_every_screen(page: Browser, world: World):
    """Nothing overflows, nothing is complained about or asked of another host, and anybody can use it."""
    page.sign_in(WORLD_KEY)
    axe = AXE.read_text("utf-8") if AXE.exists() else ""
    assert axe or os.environ.get("CI") != "true"
    wrong: dict[str, list[str]] = {}
    for number, (name, path) in enumerate(world.pages().items()):
        page.open(path)
        found = [] if page.driver.title.endswith("Context Service") else [page.driver.title]
        # Colours move nothing: a page is light or dark, at both widths.
        for place, (width, dark) in enumerate(SCREENS[number % 2 :: 2]):
            page.look(width=width, dark=dark)
            found += [f"{width}: {one}" for one in page.overflowing()]
            if axe and place == number // 2 % 2:
                found += violations(page, axe)
        found += page.complaints() + page.strangers()
        if found:
            wrong[name] = found
    assert wrong == {}


def violations(page: Browser, axe: str) -> list[str]:
    """Return what axe-core finds that is serious."""
    if not page.run("return typeof window.axe === 'object'"):
        page.run(axe)
    found = page.driver.execute_async_script(
        "const done = arguments[0];"
        "axe.run(document, {resultTypes: ['violations']}).then((all) => done(all.violations"
        ".filter((one) => ['serious', 'critical'].includes(one.impact))"
        ".map((one) => `${one.id}: ${one.nodes[0].target} ${one.nodes[0].failureSummary}`)))"
    )
    return [str(one) for one in found]


def test_hostile_names_and_contents_stay_text(page: Browser, clients: tuple[ContextClient, EntityClient], key: str):
    pages = write_hostile(*clients)
    page.sign_in(key)
    page.look(width=400)
    for path in [*pages[:15], *pages[-3:]]:
        page.open(path)
        assert page.driver.title.endswith("Context Service"), path
        assert (
            page.run("return document.querySelectorAll('main script, main [onerror], main [onmouseover]').length") == 0
        )
        assert page.overflowing() == [], path
    # A list tries to draw what says that it is a picture; the answer says that it is none.
    assert [complaint for complaint in page.complaints() if "/thumbnail" not in complaint] == []
    assert page.strangers() == []


def test_the_next_person_at_the_browser_sees_nothing_of_the_last(page: Browser, stack: Addresses):
    keys = [a_key(), a_key()]
    with ContextClient(stack.context, api_key=keys[0]) as context:
        context.contexts.send("A secret of the first.", context=ContextInput(title="A title of the first"))
    page.sign_in(keys[0])
    page.open("/contexts")
    assert "A title of the first" in page.text
    page.click(".leave button")
    page.arrived("/sign-in")
    page.sign_in(keys[1])

    for path in ("/", "/contexts", "/find?q=secret"):
        page.open(path)
        assert "of the first" not in page.source
    for _ in range(6):
        page.driver.back()
        page.until(lambda: "of the first" not in page.source)


def test_a_key_that_is_revoked_while_a_page_is_open_ends_at_the_door(page: Browser, key: str, callers: Revocable):
    page.sign_in(key)
    page.open("/contexts")
    callers.revoked.add(key)
    page.click(".nav a[href='/graph']")
    page.arrived("/sign-in")

    assert "The key is no longer taken" in page.text
    assert page.complaints() == []


def test_a_lost_entity_service_is_a_banner(page: Browser, stack: Addresses, world: World):
    settings = Settings(port=0, context_address=stack.context, entity_address=f"127.0.0.1:{free_port()}")
    with served(settings) as console:
        page.url = console.url
        page.open("/sign-in")
        page.sign_in(WORLD_KEY)
        assert "A service cannot be reached" in page.text
        assert "Invoice 4711" in page.text
        page.open("/graph")
        assert "A service cannot be reached" in page.text
        page.open(f"/contexts/{world.context}")
        assert "Ms Arendt" in page.text
        page.open(f"/nodes/{world.session}")
        assert "A service cannot be reached" in page.text
        assert "Traceback" not in page.source


def test_keys_and_heads_do_what_the_page_says(page: Browser, world: World):
    page.sign_in(WORLD_KEY)
    page.open("/contexts")
    press(page, "/")
    press(page, world.window, Keys.ENTER)
    page.arrived(f"/windows/{world.window}")
    page.run("navigator.clipboard.writeText = async (text) => { window.copied = text }")
    page.driver.find_element(By.CSS_SELECTOR, "p.sub button").send_keys(Keys.ENTER)
    page.until(lambda: page.run("return window.copied") == world.window)
    press(page, "g", "c")
    page.arrived("/contexts")

    heads = page.driver.find_elements(By.CSS_SELECTOR, "th button")
    messages = next(head for head in heads if head.text.startswith("messages"))
    messages.send_keys(Keys.ENTER)
    rising = numbers(page)
    messages.send_keys(Keys.ENTER)

    assert rising == sorted(rising)
    assert numbers(page) == sorted(rising, reverse=True)
    assert len(set(rising)) > 2


def numbers(page: Browser) -> list[int]:
    cells = page.driver.find_elements(By.CSS_SELECTOR, "#contexts tbody td:nth-child(3)")
    return [int(cell.text.replace(",", "")) for cell in cells]


def test_a_file_goes_in_and_is_seen(page: Browser, key: str, tmp_path: Path):
    page.sign_in(key)
    page.open("/memory")
    note = tmp_path / "a note.md"
    note.write_text("# A note\n\nCall back on Monday.\n")
    page.driver.find_element(By.NAME, "file").send_keys(str(note))
    page.click("form[data-upload] button")
    page.arrived("/records/")

    assert "Call back on Monday." in page.text
    assert "a note.md" in page.text
    assert page.complaints() == []


def test_files_of_a_conversation_are_seen_by_keyboard_alone(page: Browser, world: World):
    """Escape closes the viewer; the arrows go from file to file, and turn the pages of a PDF."""
    page.sign_in(WORLD_KEY)
    page.open(f"/contexts/{world.pictured}")
    drawn = "return [...document.querySelectorAll('a.file img')].map((image) => image.naturalWidth)"
    page.until(
        lambda: page.run("window.scrollTo(0, document.body.scrollHeight)") or page.run(drawn) == [320, 320, 142, 320]
    )
    assert page.run("return document.querySelectorAll('audio[controls]').length") == 1
    shown = "return document.querySelector('dialog[open]')?.innerText ?? ''"

    page.run("document.querySelector('a.file').focus()")
    press(page, Keys.ENTER)
    page.until(lambda: "1,280 by 800" in page.run(shown))
    page.until(lambda: page.run("return document.querySelector('dialog img').naturalWidth") == 1280)
    assert "1 of 5" in page.run(shown) and "5,0" in page.run(shown)
    assert violations(page, AXE.read_text("utf-8") if AXE.exists() else "window.axe = undefined") == []
    for name in ("wide.png", "narrow.png", "logo.svg", "Page 1 of 3", "Page 2 of 3", "Page 3 of 3"):
        press(page, Keys.ARROW_RIGHT)
        page.until(lambda name=name: name in page.run(shown))
    page.until(lambda: page.run("return document.querySelector('dialog img').naturalWidth") == 1200)
    press(page, Keys.ARROW_RIGHT)  # there is no file after it
    press(page, Keys.ARROW_LEFT)
    page.until(lambda: "Page 2 of 3" in page.run(shown))
    page.look(width=400, dark=True)
    assert page.overflowing() == []
    press(page, Keys.ESCAPE)
    page.until(lambda: page.run(shown) == "")
    assert page.run("return document.activeElement.getAttribute('href')") == f"/files/{world.terms}"
    assert page.complaints() + page.strangers() == []


def test_a_recording_plays_and_can_be_sought(page: Browser, world: World):
    page.sign_in(WORLD_KEY)
    page.open(f"/contexts/{world.pictured}")
    page.run("document.querySelector('audio').focus()")
    press(page, Keys.SPACE)
    page.until(lambda: page.run("return document.querySelector('audio').currentTime") > 0)
    page.run("document.querySelector('audio').currentTime = 2.9")
    page.until(
        lambda: page.run("const audio = document.querySelector('audio'); return audio.ended && audio.duration === 3")
    )
    assert page.complaints() + page.strangers() == []


def test_a_picture_of_a_script_runs_nothing_wherever_it_is_opened(
    page: Browser, clients: tuple[ContextClient, EntityClient], key: str
):
    context, _ = clients
    script = b'<script>top.document.title = "owned"</script>'
    svg = b'<svg xmlns="http://www.w3.org/2000/svg">' + script + b"</svg>"
    both = [FileInput(data=svg, name="a.svg", media_type=kind) for kind in ("image/svg+xml", "image/png")]
    sent = context.contexts.send(MessageInput("Look", parts=[PartInput(file=file) for file in both]))
    (message,) = context.contexts.list_messages(sent.context_id)
    ids = [part.file.working_memory_id for part in message.parts if part.file]
    page.sign_in(key)
    paths = [f"/contexts/{sent.context_id}", *(f"/files/{one}{rest}" for one in ids for rest in ("", "/thumbnail"))]
    for path in paths:
        page.open(path)
        assert page.run("return document.querySelectorAll('svg, iframe, object, embed').length") == 0
        assert "owned" not in page.driver.title, path
    assert all("415" in complaint for complaint in page.complaints())  # the thumbnails themselves
    assert page.strangers() == []


def test_what_cannot_be_drawn_is_a_line_of_text(page: Browser, clients: tuple[ContextClient, EntityClient], key: str):
    context, _ = clients
    cut, bomb = png(40, 30)[:90], media.png(100_000, 100_000, pixels=b"x")
    files = [FileInput(data=cut, name="cut.png"), FileInput(data=bomb, name="bomb.png")]
    context_id = context.contexts.send(MessageInput("Look", parts=[PartInput(file=file) for file in files])).context_id
    page.sign_in(key)
    page.open(f"/contexts/{context_id}")
    page.until(lambda: "cut.png: it cannot be drawn" in page.text)
    assert "it has too many pixels to be drawn" in page.text
    assert page.run("return document.querySelectorAll('main img').length") == 0


def test_a_conversation_with_150_screenshots_is_shown_at_once(
    page: Browser, clients: tuple[ContextClient, EntityClient], key: str
):
    """Pictures that nobody scrolls to are not fetched, and what is fetched is small."""
    context, _ = clients
    shots = [PartInput(file=FileInput(data=screenshot(300, 200 + number))) for number in range(50)]
    sent = context.contexts.send(MessageInput("Look", parts=shots))
    for _ in range(2):
        context.contexts.send(MessageInput("And again", parts=shots), sent.context_id)
    page.sign_in(key)
    page.driver.get_log("performance")
    page.open(f"/contexts/{sent.context_id}")
    assert page.run("return document.querySelectorAll('a.file img').length") == 150
    page.until(lambda: page.run("return document.querySelector('a.file img').naturalWidth") > 0)
    fetched = page.run(
        "return performance.getEntriesByType('resource').filter((one) => one.name.includes('/thumbnail'))"
    )
    assert 0 < len(fetched) < 75
    assert sum(one["transferSize"] for one in fetched) < 20_000 * len(fetched)


def test_what_operators_see_on_every_screen(page: Browser, operators: str):
    page.sign_in(operators)
    page.open("/access/work")
    page.click("button[value='sweep']")
    page.until(lambda: "The sweep has begun" in page.text)
    page.until(lambda: "done" in page.run("return document.getElementById('jobs')?.innerText ?? ''"))
    axe = AXE.read_text("utf-8") if AXE.exists() else ""
    for number, path in enumerate(("/", "/access/tenants", "/access/work")):
        page.look(width=1600)
        page.open(path)
        for width, dark in SCREENS:
            page.look(width=width, dark=dark)
            assert page.overflowing() == [], (path, width)
        if axe:
            page.look(width=SCREENS[number][0], dark=SCREENS[number][1])
            assert violations(page, axe) == [], path
    assert page.complaints() + page.strangers() == []


def test_a_key_is_made_and_taken_back_by_keyboard(page: Browser, administrators: str):
    page.sign_in(administrators)
    press(page, "g", "a")
    page.arrived("/access")
    page.driver.find_element(By.NAME, "subject").send_keys("billing-agent", Keys.ENTER)
    page.until(lambda: "It is shown once" not in page.text and "Copy it now" in page.text)
    key = page.driver.find_element(By.ID, "new-key").text
    assert key.startswith("cgk_")
    assert key not in page.driver.current_url
    assert page.overflowing() == []

    page.driver.find_element(By.CSS_SELECTOR, "main a.button").send_keys(Keys.ENTER)
    page.arrived(f"/access/keys/{key[:12]}")
    page.driver.find_element(By.NAME, "sure").send_keys(Keys.SPACE)
    page.driver.find_element(By.CSS_SELECTOR, "button.danger").send_keys(Keys.ENTER)
    page.until(lambda: "is revoked" in page.text)
    assert key not in page.source
    assert page.complaints() == []


def test_a_learned_memory_is_found_and_forgotten_by_keyboard(page: Browser, stack: Addresses):
    key = a_key(scopes=["read", "write", "delegate"])
    with ContextClient(stack.context, api_key=key) as context:
        memory = context.memories.retain("I live in Oslo.", subject_user_id="ada").memory_id
    page.sign_in(key, user="ada")
    page.open("/sources/memories")
    page.driver.find_element(By.CSS_SELECTOR, f'a[href="/sources/memories/{memory}"]').send_keys(Keys.ENTER)
    page.arrived(f"/sources/memories/{memory}")
    page.look(width=400)
    axe = AXE.read_text("utf-8") if AXE.exists() else ""
    assert (page.overflowing(), violations(page, axe) if axe else []) == ([], [])

    page.driver.find_element(By.NAME, "sure").send_keys(Keys.SPACE)
    page.driver.find_element(By.CSS_SELECTOR, "button.danger").send_keys(Keys.ENTER)
    page.until(lambda: "It is forgotten" in page.text and "Nothing is kept about this user" in page.text)
    assert page.complaints() == []


def test_a_thread_goes_on_by_itself_though_its_line_is_cut(
    page: Browser, key: str, clients: tuple[ContextClient, EntityClient]
):
    context, _ = clients
    context_id = context.contexts.send("Is anybody there?").context_id
    page.sign_in(key)
    page.open(f"/contexts/{context_id}")
    page.complaints()
    for number in range(2):  # once more after it has begun again
        page.offline(is_offline=True)
        page.until(lambda: "does not answer" in page.text)
        page.offline(is_offline=False)
        context.contexts.send(f"Answer {number}.", context_id)
        page.until(lambda said=f"Answer {number}.": said in page.text)
    assert page.text.count("Is anybody there?") == 2  # as the title, and once in the thread
    assert all("ERR_INTERNET_DISCONNECTED" in one for one in page.complaints())


def test_a_thread_asks_again_after_a_line_that_hangs(
    page: Browser, key: str, clients: tuple[ContextClient, EntityClient]
):
    """A request without an end kept the page from asking again."""
    context, _ = clients
    context_id = context.contexts.send("Is anybody there?").context_id
    page.sign_in(key)
    page.open(f"/contexts/{context_id}")
    page.run(
        "const [fetches, timeout] = [window.fetch, AbortSignal.timeout.bind(AbortSignal)];"
        "AbortSignal.timeout = (ms) => timeout(ms / 200);"
        "window.fetch = (url, options) => new Promise((_, reject) => {"
        "  window.fetch = fetches; options.signal?.addEventListener('abort', () => reject(options.signal.reason)) })"
    )
    context.contexts.send("Here I am.", context_id)
    page.until(lambda: "Here I am." in page.text)


def test_rows_come_as_somebody_scrolls_and_none_is_left_out(page: Browser, clients, key: str):
    _, graph = clients
    for start in range(0, ROWS_MAX, 500):
        graph.graph.write([NodeInput("Turn", name=f"turn {start + place:04}") for place in range(500)])
    page.sign_in(key)
    page.open("/graph?type=Turn")
    rows = "return document.querySelectorAll('#nodes tbody tr').length"

    def are_all_there() -> bool:
        page.run("window.scrollTo(0, document.body.scrollHeight)")
        return int(page.run(rows)) >= ROWS_MAX

    page.until(are_all_there)
    names = page.run("return [...document.querySelectorAll('#nodes tbody tr')].map((row) => row.innerText)")
    assert len({line for row in names for line in row.split("\t") if line.startswith("turn ")}) == ROWS_MAX
    assert page.complaints() == []


def test_the_table_behind_a_chart_is_exported(page: Browser, world: World):
    page.sign_in(WORLD_KEY)
    page.run(
        "window.saved = []; URL.createObjectURL = (blob) => { blob.text().then((text) => window.saved.push(text));"
        " return '#' }; document.querySelector('.bars ~ .behind').open = true"
    )
    for button in page.driver.find_elements(By.CSS_SELECTOR, ".bars ~ .behind .exports button"):
        button.send_keys(Keys.ENTER)
    page.until(lambda: page.run("return window.saved.length") == 2)
    lines, rows = sorted(page.run("return window.saved"), key=lambda text: text.startswith("["))
    assert lines.splitlines()[0] == "what,records"
    assert [f"{row['what']},{row['records']}" for row in json.loads(rows)] == lines.splitlines()[1:]
    assert page.complaints() == []


def test_health_is_asked_again_by_itself(page: Browser, key: str):
    page.sign_in(key)
    page.open("/")
    page.run("document.querySelector('[data-live]').replaceChildren()")
    page.until(lambda: "Working memory" in page.run("return document.getElementById('health')?.innerText ?? ''"))
