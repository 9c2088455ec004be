# SPDX-License-Identifier: Apache-2.0
"""External passes and operators: found by entry points and in files, or refused immediately."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.cli import tune
from xtc.core import extensions, knobs
from xtc.core.errors import UserError, XtcError
from xtc.driver.foreign import run_passes
from xtc.graph import known_operators
from xtc.graph.graph import Graph
from xtc.ir import known_passes
from xtc.ir.pass_text import parse_step

MARKER = """
from __future__ import annotations
from dataclasses import dataclass
from typing import ClassVar
from xtc.ir.mlir import UnitAttr, all_operations
from xtc.ir.passes import Pass

@dataclass(frozen=True)
class MarkFills(Pass):
    name: ClassVar[str] = "mark-fills"
    mark: str = "toaster.filled"

    def run(self, module):
        for op in all_operations(module):
            if op.name == "linalg.fill":
                op.attributes[self.mark] = UnitAttr.get(module.context)
"""
OPERATOR = """
from __future__ import annotations
from dataclasses import dataclass
from typing import ClassVar
from xtc.graph.builder import apply
from xtc.ops.elementwise import FloatElementwise

@dataclass(frozen=True)
class Twice(FloatElementwise):
    name: ClassVar[str] = "twice"
    factor: float = 2.0

    def scalar(self, body, x):
        return body.mul(x, body.constant(self.factor, x.element))

    def reference(self, x):
        return x * x.dtype.type(self.factor)

def twice(x, **how):
    return apply(Twice(**how), x)
"""


@pytest.fixture(autouse=True)
def _fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Extensions of one test are unknown in the next."""
    monkeypatch.setenv(knobs.EXTENSIONS.name, "")
    monkeypatch.setattr(extensions, "_loaded", {})
    extensions.entries.cache_clear()
    yield
    extensions.entries.cache_clear()
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def install(folder: Path, group: str, name: str, value: str, module: str) -> None:
    """The files that installing a distribution with one entry point would write to `folder`."""
    stem = value.partition(":")[0]
    info = folder / f"{stem}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {stem}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {value}\n")
    written(folder, f"{stem}.py", module)


def graph_of(module: object) -> Graph:
    x = O.tensor((2, 3), name="x")
    with O.graph(name="g") as builder:
        module.twice(x, factor=3.0)  # type: ignore[attr-defined]
    return builder.graph


class TestFiles:
    def test_a_pass_has_its_name_and_options(self, tmp_path: Path) -> None:
        xtc.extend(written(tmp_path, "toaster_passes.py", MARKER))
        assert "mark-fills" in known_passes.names()
        assert str(parse_step("mark-fills{mark=hot}")) == "mark-fills{mark=hot}"
        with pytest.raises(UserError, match="did you mean 'mark-fills'"):
            parse_step("mark-fill")
        with pytest.raises(UserError, match="has no option 'mrak'"):
            parse_step("mark-fills{mrak=hot}")

    def test_a_file_runs_once_and_is_the_imported_module(self, tmp_path: Path) -> None:
        count = "\nfrom pathlib import Path\nwith Path(__file__).with_name('runs').open('a') as f:"
        path = written(tmp_path, "toaster_once.py", f"{MARKER}{count}\n    f.write('x')\n")
        xtc.extend(path)
        xtc.extend(str(path))
        found = known_passes.find("mark-fills")
        assert found is importlib.import_module("toaster_once").MarkFills
        assert (tmp_path / "runs").read_text() == "x"
        assert knobs.EXTENSIONS.get() == (path,)

    def test_an_imported_module_is_reused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = written(tmp_path, "toaster_first.py", OPERATOR)
        monkeypatch.syspath_prepend(tmp_path)
        first = importlib.import_module("toaster_first")
        xtc.extend(path)
        assert known_operators.operator("twice") is first.Twice

    def test_a_file_may_be_named_like_a_module(self, tmp_path: Path) -> None:
        xtc.extend(written(tmp_path, "json.py", MARKER))
        assert known_passes.find("mark-fills") is not None
        assert not hasattr(sys.modules["json"], "MarkFills")

    def test_the_environment_names_files(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = written(tmp_path, "toaster_a.py", MARKER)
        second = written(tmp_path, "toaster_b.py", OPERATOR)
        monkeypatch.setenv("XTC_EXTENSIONS", f"{first}:{second}")
        assert known_passes.find("mark-fills") is not None
        assert known_operators.operator("twice").name == "twice"

    def test_unloadable_files_are_explained(self, tmp_path: Path) -> None:
        broken = written(tmp_path, "broken.py", "def f():\n    return 1 / 0\nf()\n")
        with pytest.raises(UserError, match=r"broken\.py failed: ZeroDivisionError") as info:
            xtc.extend(broken)
        assert info.value.notes == (f"{broken}:3 in <module>", f"{broken}:2 in f")
        with pytest.raises(UserError, match="there is no file"):
            xtc.extend(tmp_path / "nowhere.py")
        with pytest.raises(UserError, match="is not a Python file"):
            xtc.extend(written(tmp_path, "text.txt", ""))
        assert knobs.EXTENSIONS.get() == ()

    def test_two_extensions_of_one_name_are_refused(self, tmp_path: Path) -> None:
        xtc.extend(written(tmp_path, "toaster_a.py", MARKER))
        xtc.extend(written(tmp_path, "toaster_b.py", MARKER))
        with pytest.raises(XtcError, match="several classes are called 'mark-fills'"):
            known_passes.find("mark-fills")

    @pytest.mark.slow
    def test_a_name_of_the_project_is_refused(self, tmp_path: Path) -> None:
        xtc.extend(written(tmp_path, "toaster.py", MARKER.replace("mark-fills", "apply-schedules")))
        with pytest.raises(XtcError, match="several passes are called 'apply-schedules'"):
            known_passes.find("apply-schedules")

    @pytest.mark.slow
    def test_a_running_server_finds_a_new_pass(self, tmp_path: Path) -> None:
        fill = "linalg.fill ins(%x : f32) outs(%y : memref<4xf32>)"
        text = f"func.func @f(%x: f32, %y: memref<4xf32>) {{\n{fill}\nreturn\n}}"
        run_passes(text, ["cse"])
        xtc.extend(written(tmp_path, "toaster_late.py", MARKER))
        assert "toaster.filled" in run_passes(text, [parse_step("mark-fills")])


class TestEntryPoints:
    def test_a_pass_and_an_operator_are_found(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        install(tmp_path, "xtc.passes", "mark-fills", "toaster_p:MarkFills", MARKER)
        install(tmp_path, "xtc.ops", "twice", "toaster_o:Twice", OPERATOR)
        monkeypatch.syspath_prepend(tmp_path)
        assert "mark-fills" in known_passes.names()
        assert not {"toaster_p", "toaster_o"} & set(sys.modules)
        assert str(parse_step("mark-fills")) == "mark-fills"
        graph = graph_of(importlib.import_module("toaster_o"))
        assert Graph.from_yaml(graph.to_yaml()) == graph

    @pytest.mark.parametrize(
        ("module", "what"),
        [
            ("import no_such_module", "pass 'mark-fills' cannot be loaded"),
            ("MarkFills = 3", "pass 'mark-fills' cannot be used"),
            (MARKER.replace("mark-fills", "other"), "pass 'mark-fills' cannot be used"),
            (OPERATOR.replace("Twice", "MarkFills"), "pass 'mark-fills' cannot be used"),
        ],
    )
    def test_invalid_entry_points_are_explained(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, what: str
    ) -> None:
        install(tmp_path, "xtc.passes", "mark-fills", "toaster_p:MarkFills", module)
        monkeypatch.syspath_prepend(tmp_path)
        with pytest.raises(XtcError, match=what) as info:
            known_passes.find("mark-fills")
        assert "entry point toaster_p:MarkFills" in info.value.notes


class TestGraphFiles:
    def test_a_graph_with_a_known_operator_round_trips(self, tmp_path: Path) -> None:
        xtc.extend(written(tmp_path, "toaster_ops.py", OPERATOR))
        graph = graph_of(importlib.import_module("toaster_ops"))
        graph.save(tmp_path / "g.yaml")
        loaded = Graph.load(tmp_path / "g.yaml")
        assert loaded == graph
        assert loaded.evaluate(np.ones((2, 3), np.float32)).tolist() == [[3.0] * 3] * 2

    def test_a_graph_with_an_unknown_operator_is_not_saved(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        written(tmp_path, "toaster_secret.py", OPERATOR)
        monkeypatch.syspath_prepend(tmp_path)
        graph = graph_of(importlib.import_module("toaster_secret"))
        with pytest.raises(UserError, match="operator 'twice' is not registered") as info:
            graph.save(tmp_path / "g.yaml")
        assert info.value.notes == ("it is toaster_secret.Twice",)
        assert "xtc.extend(FILE)" in info.value.hints[0]
        assert not list(tmp_path.glob("*.yaml"))
        assert not list(tmp_path.glob(".*"))

    def test_another_class_of_the_same_name_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        written(tmp_path, "toaster_relu.py", OPERATOR.replace('"twice"', '"relu"'))
        monkeypatch.syspath_prepend(tmp_path)
        graph = graph_of(importlib.import_module("toaster_relu"))
        with pytest.raises(UserError, match="operator 'relu' is not registered"):
            graph.to_yaml()


@pytest.mark.slow
def test_a_search_supports_external_operators(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "toaster_searched.py", OPERATOR)
    xtc.extend(path)
    graph_of(importlib.import_module("toaster_searched")).save(tmp_path / "g.yaml")
    files = [str(tmp_path / "g.yaml"), "--db", str(tmp_path / "t.db"), "--load", str(path)]
    assert tune.run([*files, "--trials", "2", "--quiet"]) == 0
    assert "failed: none" in capsys.readouterr().out
