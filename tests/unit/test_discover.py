# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import xtc_passes.tensor
from xtc.cli import main
from xtc.core import discover, extensions
from xtc.core.errors import UserError, XtcError
from xtc.graph import known_operators
from xtc.graph.operator import Operator
from xtc.ir import known_passes
from xtc.ir.passes import Pass

CACHED = (
    known_operators.operators,
    known_passes.passes,
    known_operators._class,
    discover.modules,
    discover.packages,
    extensions.entries,
)

HOSTILE = [
    "os",
    "",
    "__init__",
    "relu.os",
    "xtc.ops.relu",
    "../relu",
    "relu\n",
    "Relu",
    "relu ",
    "a" * 1000,
    None,
    3,
    ("relu",),
]

SOURCE = """
from xtc.ir.passes import Pass

class {title}(Pass):
    name = "{name}"
    def run(self, module): ...
"""


@pytest.fixture(autouse=True)
def _fresh(tmp_path: Path) -> Iterator[None]:
    """No discovery of an earlier test is cached."""
    for function in CACHED:
        function.cache_clear()
    yield
    for function in CACHED:
        function.cache_clear()
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the modules that are imported dynamically."""
    names: list[str] = []
    real = importlib.import_module

    def recording(name: str, package: str | None = None) -> Any:
        names.append(name)
        return real(name, package)

    monkeypatch.setattr(importlib, "import_module", recording)
    return names


def test_every_operator_is_found_by_its_file() -> None:
    names = known_operators.operators()
    assert {"matmul", "relu", "conv2d"} <= set(names)
    assert list(names) == sorted(names)
    for name in names:
        found = known_operators.operator(name)
        assert issubclass(found, Operator)
        assert found.name == name
        assert found.__module__ == f"xtc.ops.{name}"


@pytest.mark.parametrize("name", ["elementwise", "contraction"])
def test_a_shared_file_is_no_operator(name: str) -> None:
    assert name not in known_operators.operators()
    with pytest.raises(UserError, match=f"there is no operator '{name}'"):
        known_operators.operator(name)


def test_a_misspelled_operator_is_explained() -> None:
    with pytest.raises(UserError, match="did you mean 'matmul'"):
        known_operators.operator("matmull")


@pytest.mark.parametrize("name", HOSTILE)
def test_no_hostile_name_is_imported(name: Any, imported: list[str]) -> None:
    with pytest.raises(UserError, match="there is no operator"):
        known_operators.operator(name)
    with pytest.raises(UserError, match="there is no target"):
        discover.target(name)
    assert all(module.startswith(("xtc.", "xtc_targets")) for module in imported)
    assert not any(str(name) and module.endswith(f".{name}") for module in imported)


def test_targets_are_folders() -> None:
    assert {"host", "null"} <= set(discover.targets())
    assert discover.target("host").name == "host"


def test_a_misspelled_target_is_explained() -> None:
    with pytest.raises(UserError, match="did you mean 'host'"):
        discover.target("hots")


def install(folder: Path, name: str, value: str, module: str) -> None:
    """The files that installing a distribution with a target `name` would write to `folder`."""
    info = folder / f"{name}_target-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-target\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[xtc.targets]\n{name} = {value}\n")
    (folder / f"{name}_module.py").write_text(module)


def test_a_target_of_another_package_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "toaster", "toaster_module", "TARGET = 'a toaster'")
    install(tmp_path, "kettle", "kettle_module:KETTLE", "KETTLE = 'a kettle'")
    monkeypatch.syspath_prepend(tmp_path)
    assert {"toaster", "kettle", "host"} <= set(discover.targets())
    assert discover.target("toaster") == "a toaster"
    assert discover.target("kettle") == "a kettle"


def test_a_target_of_another_package_provides_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(tmp_path, "oven", "oven_package", "")
    install(tmp_path, "torn", "torn_module", "import no_such_module_anywhere")
    commands = tmp_path / "oven_package" / "commands"
    commands.mkdir(parents=True)
    (commands.parent / "__init__.py").write_text("TARGET = 'an oven'")
    (commands / "__init__.py").write_text("")
    (commands / "_heat.py").write_text("")
    (commands / "bake.py").write_text('"""Bake.\n"""\ndef run(argv):\n    return len(argv)\n')
    monkeypatch.syspath_prepend(tmp_path)
    assert main.run(["oven", "bake", "a", "cake"]) == 2
    with pytest.raises(SystemExit):
        main.run(["--help"])
    assert "oven" in capsys.readouterr().out
    with pytest.raises(UserError, match="target 'oven' has no command 'boil'"):
        main.run(["oven", "boil"])
    with pytest.raises(UserError, match="there is no command 'torn'"):
        main.run(["torn", "bake"])


def test_a_broken_target_of_another_package_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "broken", "broken_module", "import no_such_module_anywhere")
    install(tmp_path, "empty", "empty_module", "")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(XtcError, match="target 'broken' cannot be loaded") as info:
        discover.target("broken")
    assert "entry point broken_module" in info.value.notes
    with pytest.raises(XtcError, match="target 'empty' defines no TARGET"):
        discover.target("empty")


def test_two_targets_of_one_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "host", "host_module", "TARGET = 'another host'")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(XtcError, match="several targets are called 'host'") as info:
        discover.targets()
    assert info.value.notes == ("xtc_targets.host", "entry point host_module")
    assert discover.target("host") is not None
    assert "host_module" not in sys.modules


def test_two_external_targets_of_one_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for maker in ("first", "second"):
        (tmp_path / maker).mkdir()
        install(tmp_path / maker, "toaster", f"{maker}_module", "")
        info = tmp_path / maker / "toaster_target-1.0.dist-info"
        info.rename(info.with_name(f"{maker}-1.0.dist-info"))
        text = f"Metadata-Version: 2.1\nName: {maker}\nVersion: 1.0\n"
        (tmp_path / maker / f"{maker}-1.0.dist-info" / "METADATA").write_text(text)
        monkeypatch.syspath_prepend(tmp_path / maker)
    with pytest.raises(XtcError, match="several targets are called 'toaster'"):
        discover.target("toaster")


@pytest.mark.slow
def test_a_pass_is_the_class_named_like_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "passes"
    folder.mkdir()
    (folder / "bake_bread.py").write_text(SOURCE.format(title="BakeBread", name="bake-bread"))
    (folder / "flour.py").write_text(SOURCE.format(title="Other", name="other-name"))
    package = xtc_passes.tensor
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
    found = known_passes.passes()
    assert found["bake-bread"].__name__ == "BakeBread"
    assert issubclass(found["bake-bread"], Pass)
    assert not {"flour", "other-name"} & set(found)
    assert list(found) == sorted(found)


def test_two_passes_of_one_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = importlib.import_module("xtc_targets.host.passes")
    for package, name in ((xtc_passes.tensor, "shared"), (own, "own")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "bake_cake.py").write_text(SOURCE.format(title="BakeCake", name="bake-cake"))
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
    with pytest.raises(XtcError, match="two passes are called 'bake-cake'") as info:
        known_passes.passes()
    assert info.value.notes == ("xtc_passes.tensor.bake_cake", "xtc_targets.host.passes.bake_cake")
