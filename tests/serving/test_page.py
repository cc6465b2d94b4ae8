"""The page of a served run: names that mean harm are text in it, and a browser runs its own script alone."""

import base64
import hashlib
import threading
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hostile_names import hostile_names

from tests.reports.test_html import browse, needs_chromium
from typednn.data.labels import normalised
from typednn.html import escaped
from typednn.recipes import Predictor
from typednn.serving import create_app, server
from typednn.serving.page import POLICY, page_of


class Parts(HTMLParser):
    """The tags of a page with their attributes, and the texts of its labels, scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {"script": [], "style": []}
        self.labels: list[str] = []
        self._within = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._within = tag
        if tag == "label":
            self.labels.append("")

    def handle_endtag(self, tag: str) -> None:
        self._within = ""

    def handle_data(self, data: str) -> None:
        if self._within in self.texts:
            self.texts[self._within].append(data)
        elif self._within == "label":
            self.labels[-1] += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def of(predictor: Predictor, **changes: Any) -> Predictor:
    return Predictor(
        predictor.folder, replace(predictor.plan, encoding=None, **changes), predictor.model, predictor.step
    )


def test_a_field_for_each_column(houses: Predictor) -> None:
    page = Parts(page_of(houses))
    assert page.labels == ["area", "year"]
    assert [set(one) for one in page.named("input")] == [{"inputmode", "autocomplete", "required"}] * 2


def test_what_each_kind_asks_for(houses: Predictor, pictures: Predictor, texts: Predictor, speaker: Predictor) -> None:
    kinds = {}
    for predictor in (of(houses, columns=()), pictures, texts, speaker):
        page = Parts(page_of(predictor))
        (form,) = page.named("form")
        kinds[form["data-reads"]] = (
            [one.get("type") or one.get("name") or "number" for one in page.named("input")],
            len(page.named("textarea")),
        )
    assert kinds == {
        "rows": ([], 1),
        "image": (["file", "checkbox"], 0),
        "text": ([], 1),
        "prompt": (["max_new_tokens", "temperature", "seed"], 1),
    }


def test_the_policy_is_of_this_page(houses: Predictor) -> None:
    """It names its script and its style by what is in them; nothing is loaded."""
    page = Parts(page_of(houses))
    for kind, texts in page.texts.items():
        digest = base64.b64encode(hashlib.sha256("".join(texts).encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in POLICY
    assert not [one for tag, one in page.tags if "src" in one or (tag != "link" and "href" in one)]
    assert not [name for _, one in page.tags for name in one if name.startswith("on") or name == "style"]


def test_names_that_mean_harm(houses: Predictor) -> None:
    names = tuple(normalised(name) for name in hostile_names())
    usual = Parts(page_of(of(houses, columns=("a",) * len(names))))
    page = Parts(page_of(of(houses, columns=names, names=names)))
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in usual.tags]
    assert [set(one) for _, one in page.tags] == [set(one) for _, one in usual.tags]
    assert page.labels == [Parts(f"<label>{escaped(name)}</label>").labels[0] for name in names]
    assert page.texts == usual.texts


class Address:
    """An address, in place of a file's."""

    def __init__(self, address: str) -> None:
        self._address = address

    def as_uri(self) -> str:
        return self._address


@needs_chromium
def test_in_a_browser(houses: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Script and style are allowed by the policy: the console has nothing to say."""
    import uvicorn

    kept: list[uvicorn.Server] = []
    made = uvicorn.Server.__init__
    monkeypatch.setattr(uvicorn.Server, "__init__", lambda self, config: (kept.append(self), made(self, config))[1])
    told, addresses = threading.Event(), list[str]()
    thread = threading.Thread(
        target=server.serve,
        args=(create_app(houses), "127.0.0.1", 0, lambda address: (addresses.append(address), told.set())),
    )
    monkeypatch.setattr(uvicorn.Server, "capture_signals", lambda self: pytest.MonkeyPatch.context())
    thread.start()
    assert told.wait(30)
    try:
        page: Any = Address(addresses[0])
        document, console = browse(page, "--dump-dom")
    finally:
        kept[0].should_exit = True
        thread.join(30)
    assert console == ""
    assert "<label>area<input" in document
    assert Path(houses.folder).name in document
