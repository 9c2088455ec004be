# SPDX-License-Identifier: Apache-2.0
"""xtc-plot: deterministic files without foreign markup or external references."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.unit.plots_support import a_product, database, failed, measured, right
from xtc.cli import plot
from xtc.core.errors import UserError
from xtc.search import Result
from xtc.search.plots import Measured, Picture, png_bytes, report_text, svg_text
from xtc.search.plots.comparison import comparison
from xtc.search.plots.convergence import convergence
from xtc.search.plots.distribution import distribution
from xtc.search.plots.heatmap import heat_map
from xtc.search.plots.roofline import roofline

pytestmark = pytest.mark.slow

BAD = "</text><script>alert('x')</script>$\\frac{$ & \"q\" ]]> <!-- \x00\x1b\ud800"
PLOTS: tuple[Callable[[Measured], Picture], ...] = (
    convergence,
    distribution,
    roofline,
    heat_map,
    lambda step: comparison(step, replace(step, run=replace(step.run, number=2))),
)


def a_search(name: str = "product") -> Measured:
    """A run in which every text is or contains `name`."""
    texts = ("name", "text", "machine", "sampler", "options", "dtype", "strategy", "started")
    run = replace(a_product(), versions={name: name}, **dict.fromkeys(texts, name))
    tried = [
        right(0.01 * i * k, float(i), f"C: {i} {k} {name}", k=k, **{f"i{name}": i})
        for i in (1, 2, 3)
        for k in (1, 2)
    ]
    broken = Result(name, {"k": 4, f"i{name}": 4}, "failed", name, at=9.0, worker=name)
    return Measured(run, (right(0.05, schedule=""), *tried, broken, failed()))


def texts_of(element: ElementTree.Element) -> str:
    return "".join(element.itertext())


def as_stored(text: str) -> str:
    return text.replace("\x00", "\ufffd").replace("\x1b", "\ufffd").replace("\ud800", "\ufffd")


@pytest.mark.parametrize("draw", PLOTS)
def test_svg_is_well_formed_and_deterministic(draw: Callable[[Measured], Picture]) -> None:
    first = svg_text(draw(a_search()))
    assert first == svg_text(draw(a_search()))
    root = ElementTree.fromstring(first)  # noqa: S314  our own
    assert "measured)" in texts_of(root)
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    assert not root.findall(".//{*}image")
    assert not root.findall(".//{*}metadata")
    assert "prefers-color-scheme:dark" in first


@pytest.mark.parametrize("draw", PLOTS)
def test_texts_of_a_database_are_escaped(draw: Callable[[Measured], Picture]) -> None:
    root = ElementTree.fromstring(svg_text(draw(a_search(BAD))))  # noqa: S314  our own
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "title", "style", "defs", "g", "path", "text", "use", "clipPath", "rect"}
    assert as_stored(BAD)[:30] in texts_of(root)


class Page(HTMLParser):
    """Collects the references and scripts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.loaded: list[tuple[str, str | None]] = []
        self.ids: list[str | None] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href", "xlink:href", "data", "action") or name.startswith("on"):
                self.loaded.append((name, value))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_report_has_no_references_and_scripts() -> None:
    text = report_text(a_search(BAD), replace(a_search(BAD), run=replace(a_product(), number=2)))
    page = Page(text)
    assert not page.tags & {"script", "link", "img", "iframe", "object", "embed", "base", "image"}
    assert all(value and value.startswith("#") for _, value in page.loaded)
    assert {f"{value}"[1:] for _, value in page.loaded} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert "default-src 'none'" in text
    assert "url(http" not in text
    assert "@import" not in text
    assert as_stored(BAD) in page.texts
    text.encode()


def test_the_report_has_the_numbers() -> None:
    text = report_text(a_search())
    assert "100</td><td>0.50</td><td>5.00</td><td><code>C: 1 1 product" in text
    assert text.count("<svg") == 4
    assert report_text(a_search()) == text


def test_the_report_names_missing_plots() -> None:
    text = report_text(measured(right(0.01), run=replace(a_product(), peak=None)))
    assert "run 1 varied no parameter" in text
    assert "no roofline: the machine&#x27;s peak was not measured" in text
    assert text.count("<svg") == 2
    with pytest.raises(UserError, match="has no parameter 'z'"):
        report_text(a_search(), x="z")


def test_png_is_deterministic() -> None:
    first = png_bytes(roofline(a_search()))
    assert first.startswith(b"\x89PNG")
    assert first == png_bytes(roofline(a_search()))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = (a_product(), a_search().results)
    return database(tmp_path / "tuning.db", found, (a_product(), [failed(), failed("wrong")]))


def refused(path: Path, line: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        plot.run([*line.split(), "--db", str(path)])


def test_mistakes_are_named(path: Path, tmp_path: Path) -> None:
    refused(path, "convergence --run 7", "has no run 7\n  hint: `xtc-tune --list`")
    refused(path, f"convergence --run {10**20}", "cannot use the tuning database .* too large")
    refused(path, "convergence", "run 2 has no correct result\n  note: its results: 1 crashed, 1")
    refused(path, "comparison --run 1", "a comparison needs a second run")
    refused(path, "comparison --run 1 --with 2", "run 2 has no correct result")
    refused(path, "heatmap --run 1 --x kk", "did you mean 'k'")
    refused(
        path, "roofline --run 1 -o a.html", "as .svg or .png, not as a.html\n  hint: xtc-plot r"
    )
    refused(path, "report --run 1 -o a.svg", "report is written as .html")
    refused(path, f"roofline --run 1 -o {tmp_path}/no/a.svg", "cannot write .*No such file")
    refused(tmp_path / "none.db", "report", "there is no tuning database")
    assert sorted(file.name for file in tmp_path.iterdir() if not file.name.startswith("tun")) == []


def test_without_matplotlib_the_extra_is_named(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    refused(path, f"report --run 1 -o {tmp_path}/a.html", "hint: pip install matplotlib")
    assert not (tmp_path / "a.html").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE runs SET flops = 'many'", "its flops is 'many'"),
        ("UPDATE runs SET peak = -1", "its peak is -1"),
        ("UPDATE runs SET bandwidth = 9e999", "its bandwidth is inf"),
        ("UPDATE runs SET name = x'00ff'", "its name is not a string"),
        ("UPDATE runs SET versions = '[]'", "is damaged"),
        ("UPDATE runs SET versions = '{\"a\": 1}'", "a version is not a string"),
        ("UPDATE results SET samples = '[NaN]' WHERE number = 1", "a sample that is not a time"),
        ("UPDATE results SET samples = '[1e-300]' WHERE number = 1", "a sample that is not a time"),
        ("UPDATE results SET samples = '{' WHERE number = 1", "is damaged"),
        ("UPDATE results SET parameters = '[1]' WHERE number = 1", "is damaged"),
        ("UPDATE results SET parameters = '{\"k\": 0.5}'", "a parameter that is not an integer"),
        ("UPDATE results SET parameters = '{\"k\": 1e400}'", "a parameter that is not an integer"),
        ("UPDATE results SET status = 'fine', seconds = NULL", "the status 'fine'"),
        ("UPDATE results SET at = 'late'", "is damaged"),
        ("UPDATE results SET schedule = x'00'", "a string of another type"),
    ],
)
def test_invalid_values_in_a_database_are_refused(path: Path, change: str, message: str) -> None:
    with sqlite3.connect(path) as base:
        base.execute(change)
    base.close()
    refused(path, "convergence --run 1", message)


def test_the_users_matplotlib_settings_have_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib as mpl

    usual = svg_text(convergence(a_search()))
    with mpl.rc_context({"font.size": 30, "svg.fonttype": "path", "axes.grid": False}):
        assert svg_text(convergence(a_search())) == usual
        assert mpl.rcParams["font.size"] == 30
