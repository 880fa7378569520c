"""A real Chromium, told what to look at and asked what it saw. Debian's packages `chromium` and `chromium-driver`."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

WAIT_S_MAX = 60.0  # for a condition that holds within a second on a quiet machine

# It looks for nobody but the page: this machine may have no network.
_ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
)
_OVERFLOWING = """
const wide = document.documentElement.clientWidth, found = [];
if (document.documentElement.scrollWidth > wide) found.push(`page ${document.documentElement.scrollWidth} of ${wide}`);
for (const one of document.querySelectorAll("main *, header *, nav *")) {
  if (one.closest(".scroll, pre, svg, .unseen, .skip, .state") !== null) continue;
  const box = one.getBoundingClientRect();
  if (box.width === 0 || (box.right <= wide + 1 && box.left >= -1)) continue;
  found.push(`${one.tagName}.${one.className} ${box.right}`);
}
return found.slice(0, 5);
"""


def missing() -> str:
    """Return what is missing, and how to get it; empty: nothing."""
    gone = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"no {' and no '.join(gone)}: apt-get install chromium chromium-driver" if gone else ""


class Browser:
    """One browser with one page."""

    def __init__(self, driver: webdriver.Chrome, url: str) -> None:
        self.driver = driver
        self.url = url

    def open(self, path: str) -> None:
        """Go to a page of the console."""
        self.driver.get(f"{self.url}{path}")

    def look(self, *, width: int, height: int = 900, dark: bool = False) -> None:
        """Have a screen of that size, in light or dark."""
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        # Colours change at once: in between they are of neither.
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme, still]})

    def offline(self, *, is_offline: bool) -> None:
        """Cut the line to the console, or mend it."""
        self.driver.execute_cdp_cmd("Network.enable", {})
        conditions = {"offline": is_offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.driver.execute_cdp_cmd("Network.emulateNetworkConditions", conditions)

    def until(self, condition: Callable[[], object]) -> None:
        """Wait until a condition holds; a browser on a busy machine takes seconds for a page."""
        WebDriverWait(self.driver, WAIT_S_MAX).until(lambda _: condition())

    def arrived(self, path: str) -> None:
        """Wait until a page is shown whole, with its scripts run; a path that ends with "/" stands for all below it."""

        def is_shown() -> bool:
            shown = urlsplit(self.driver.current_url).path
            is_there = shown == path or (path != "/" and path.endswith("/") and shown.startswith(path))
            return is_there and self.run("return document.readyState") == "complete"

        self.until(is_shown)

    def sign_in(self, key: str, user: str = "") -> None:
        """Sign in on the page that is shown, as a person does, and wait for the first page."""
        if "/sign-in" not in self.driver.current_url:
            self.open("/sign-in")
        self.driver.find_element(By.NAME, "key").send_keys(key)
        if user:
            self.driver.find_element(By.CSS_SELECTOR, "summary").click()
            self.driver.find_element(By.NAME, "user").send_keys(user)
        self.click("button.main")
        # The click may return before the browser has sent the form, and the next command would be in its way.
        self.until(lambda: urlsplit(self.driver.current_url).path != "/sign-in")
        self.until(lambda: self.run("return document.readyState") == "complete")

    def click(self, selector: str) -> None:
        """Click the first thing that a selector finds."""
        self.driver.find_element(By.CSS_SELECTOR, selector).click()

    def write(self, selector: str, text: str) -> None:
        """Write into a field."""
        field = self.driver.find_element(By.CSS_SELECTOR, selector)
        field.clear()
        field.send_keys(text)

    @property
    def text(self) -> str:
        """What a person reads of the page."""
        return str(self.run("return document.body ? document.body.innerText : ''"))

    @property
    def source(self) -> str:
        """The page as it is in the browser."""
        return str(self.driver.page_source)

    def run(self, script: str) -> Any:
        """Run a script in the page and return what it returns."""
        return self.driver.execute_script(script)

    def overflowing(self) -> list[str]:
        """Return what is wider than the screen, outside of what scrolls by itself."""
        return list(self.run(_OVERFLOWING))

    def complaints(self) -> list[str]:
        """Return what the console of the browser says since the last time: errors, and what the policy refused."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in {"SEVERE", "WARNING"}]

    def strangers(self) -> list[str]:
        """Return the addresses of other hosts that were asked for since the last time."""
        ours, found = urlsplit(self.url).netloc, []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                address = urlsplit(message["params"]["request"]["url"])
                if address.scheme in {"http", "https", "ws", "wss"} and address.netloc != ours:
                    found.append(address.geturl())
        return found

    def picture(self, path: Path, *, most: int = 1400) -> None:
        """Write a picture of the page, down to where it ends or to `most` pixels."""
        size = self.driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], most), "scale": 1}
        shot = self.driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"format": "png", "clip": clip, "captureBeyondViewport": True}
        )
        path.write_bytes(base64.b64decode(shot["data"]))


@contextmanager
def browser(url: str, profile: Path) -> Iterator[Browser]:
    """Run a browser for the block.

    Args:
        url: Of the console.
        profile: A new folder, for what the browser keeps.
    """
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in (*_ARGUMENTS, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        driver.set_page_load_timeout(WAIT_S_MAX)
        yield Browser(driver, url)
    finally:
        driver.quit()
