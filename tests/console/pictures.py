"""The pictures of docs/console.md: `make console-pictures`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from context_service.commands import dev
from contextkeep import ContextClient, EntityClient
from service_runtime.network.ports import free_port
from tests.console.browser import browser, missing
from tests.console.world import write

FOLDER = Path(__file__).parents[2] / "docs" / "console"
BYTES_MAX = 150_000
WIDTH, THIN, HEIGHT_MAX = 1200, 400, 840
SHOWN = (
    "overview",
    "context",
    "context-files",
    "recall",
    "window",
    "pack",
    "graph",
    "node",
    "memory",
    "record",
    "history",
    "mapping-try",
    "sources",
    "access",
)
# Pictures below the screen are fetched when somebody scrolls there.
DRAWN = """
return [...document.images].every((image) => image.complete || image.getBoundingClientRect().top > window.innerHeight)
"""
DARK, ON_A_PHONE = {"window", "sources"}, ("context", "node")


def main() -> None:
    """Take all of them, of a world that is written for it."""
    if reason := missing():
        sys.exit(reason)
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, dev.stack(Path(name), keep=False, console_port=free_port()) as stack:
        with ContextClient(stack.context_address) as context, EntityClient(stack.entity_address) as graph:
            pages = write(context, graph).pages()
        with browser(f"http://127.0.0.1:{stack.console_port}", Path(name) / "profile") as page:
            page.look(width=WIDTH)
            page.open("/sign-in")
            page.picture(FOLDER / "sign-in.png", most=HEIGHT_MAX)
            page.driver.get(stack.console_link)  # signs in once
            for shown in SHOWN:
                page.look(width=WIDTH, dark=shown in DARK)
                page.open(pages[shown])
                page.until(lambda: page.run(DRAWN))
                page.picture(FOLDER / f"{shown}.png", most=HEIGHT_MAX)
            for shown in ON_A_PHONE:
                page.look(width=THIN, dark=True)
                page.open(pages[shown])
                page.picture(FOLDER / f"{shown}-phone.png", most=HEIGHT_MAX)
    for picture in sorted(FOLDER.glob("*.png")):
        size = picture.stat().st_size
        print(f"{picture.name}: {size:,} bytes")
        if size > BYTES_MAX:
            sys.exit(f"{picture.name} is larger than {BYTES_MAX:,} bytes")


if __name__ == "__main__":
    main()
