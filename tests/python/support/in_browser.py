"""A real browser, and what is asked of every page in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

LEAST_CONTRAST = 4.5  # of text to its background: WCAG 2.2, 1.4.3
# Every visible text of the page with its contrast, worst first. Text of a figure is filled, not coloured.
CONTRASTS = """
() => {
  const channels = (css) => {
    const found = css.match(/[\\d.]+/g).map(Number);
    return [found[0], found[1], found[2], found[3] ?? 1];
  };
  const luminance = ([r, g, b]) => {
    const [R, G, B] = [r, g, b].map((c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * R + 0.7152 * G + 0.0722 * B;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = channels(getComputedStyle(at).backgroundColor);
      if (color[3] > 0) return color;
    }
    return [255, 255, 255, 1];
  };
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement, text = texts.currentNode.data.trim();
    if (!text || !element.checkVisibility() || ["title", "style"].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    const ink = channels(element.closest("svg") ? style.fill : style.color);
    const [light, dark] = [luminance(ink), luminance(behind(element))].sort((a, b) => b - a);
    found.push([(light + 0.05) / (dark + 0.05), text.slice(0, 40), element.tagName, element.className]);
  }
  return found.sort((a, b) => a[0] - b[0]);
}
"""


@contextmanager
def running() -> Iterator[Browser]:
    with sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        yield browser
        browser.close()


def heard(view: Page) -> tuple[list[str], list[str]]:
    """The complaints of the browser and the addresses that it asks for, from now on."""
    complaints: list[str] = []
    requests: list[str] = []
    view.on("console", lambda message: complaints.append(message.text))
    view.on("pageerror", lambda error: complaints.append(str(error)))
    view.on("request", lambda request: requests.append(request.url))
    return complaints, requests


def faint_texts(view: Page, of_at_least: int) -> list[Any]:
    """The visible texts with too little contrast."""
    contrasts = view.evaluate(CONTRASTS)
    assert len(contrasts) > of_at_least
    return [entry for entry in contrasts if entry[0] < LEAST_CONTRAST]
