# SPDX-License-Identifier: Apache-2.0
"""The repository follows its own rules, and each rule detects violations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tools import file_names, phrases
from tools import repository_rules as rules

ROOT = Path(__file__).parents[2]

Rule = Callable[[Path], list[str]]
RULES: tuple[Rule, ...] = (
    rules.passes_without_twin,
    rules.operators_without_twin,
    rules.targets_named_outside,
    rules.attributes_spelled_elsewhere,
    rules.operations_made_by_name,
    rules.variables_named_one,
    rules.dynamic_imports,
    rules.import_cycles,
    rules.passes_of_one_target,
    rules.long_files,
    rules.long_functions,
    rules.files_without_license,
    file_names.names_that_differ_by_an_s,
    file_names.helpers_of_one_name,
    phrases.translated_phrases,
)


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_repository_follows_the_rule(rule: Rule) -> None:
    assert rule(ROOT) == []


@pytest.mark.parametrize(
    ("folder", "twins"),
    [
        ("mlir_passes/tensor", "tests/filecheck/passes/tensor"),
        ("targets/null/passes", "tests/filecheck/targets/null/passes"),
    ],
)
def test_a_pass_needs_its_lit_twin(tmp_path: Path, folder: str, twins: str) -> None:
    write(tmp_path, {f"{folder}/foo_bar.py": "", f"{folder}/_shared.py": ""})
    assert rules.passes_without_twin(tmp_path) == [f"{folder}/foo_bar.py: no {twins}/foo-bar.mlir"]
    write(tmp_path, {f"{twins}/foo-bar.mlir": ""})
    assert rules.passes_without_twin(tmp_path) == []


MATMUL = "class Matmul(Operator):\n    name: ClassVar[str] = 'matmul'\n"


def test_an_operator_needs_its_lit_twin(tmp_path: Path) -> None:
    write(tmp_path, {"xtc/ops/__init__.py": "", "xtc/ops/matmul.py": MATMUL})
    assert rules.operators_without_twin(tmp_path) == [
        "xtc/ops/matmul.py: no tests/filecheck/ops/matmul.py"
    ]
    write(tmp_path, {"tests/filecheck/ops/matmul.py": ""})
    assert rules.operators_without_twin(tmp_path) == []


def test_a_file_of_operators_defines_one_or_is_listed(tmp_path: Path) -> None:
    write(tmp_path, {"xtc/ops/mat_mul.py": MATMUL, "xtc/ops/kind.py": "class Kind:\n    n: int"})
    assert rules.operators_without_twin(tmp_path, {"kind.py"}) == [
        "xtc/ops/mat_mul.py: no operator 'mat_mul', nor is it listed as infrastructure"
    ]


@pytest.mark.parametrize(
    "line",
    [
        'name = "mppa"',
        'name = "host"',
        'print(f"compiled for the mppa, {name}")',
        'folder = "targets/host/csrc"',
        "import xtc_targets.host",
        "from xtc_targets import mppa",
        "from xtc_targets.mppa.device import MppaDevice",
    ],
)
@pytest.mark.parametrize("folder", ["xtc/core", "mlir_passes"])
def test_only_its_folder_names_a_target(tmp_path: Path, folder: str, line: str) -> None:
    targets = {"targets/mppa/__init__.py": line, "targets/host/__init__.py": line}
    assert rules.targets_named_outside(write(tmp_path, targets), {}) == []
    write(tmp_path, {f"{folder}/code.py": f"\n{line}\n"})
    (found,) = rules.targets_named_outside(tmp_path, {})
    assert found.startswith(f"{folder}/code.py:2: names the target ")


@pytest.mark.parametrize(
    "line",
    [
        '"""What the mppa and the "host" do."""',
        'print("copied to the host")',
        'op = "mppa.launch"',
        'name = "convert-mppa-to-llvm"',
        'name = "XTC_MPPA_PLATFORM"',
    ],
)
def test_prose_and_operation_names_do_not_name_targets(tmp_path: Path, line: str) -> None:
    tree = {"targets/mppa/a.py": "", "targets/host/a.py": "", "xtc/code.py": line}
    assert rules.targets_named_outside(write(tmp_path, tree), {}) == []


def test_an_unused_exception_is_reported(tmp_path: Path) -> None:
    write(tmp_path, {"targets/host/a.py": "", "xtc/driver.py": 'DEFAULT = "host"'})
    allowed = {("xtc/driver.py", "host"): "the default target"}
    assert rules.targets_named_outside(tmp_path, allowed) == []
    write(tmp_path, {"xtc/driver.py": ""})
    assert rules.targets_named_outside(tmp_path, allowed) == [
        "('xtc/driver.py', 'host'): exception not needed"
    ]


@pytest.mark.slow
def test_only_builders_create_operations_by_name(tmp_path: Path) -> None:
    line = 'Operation.create("arith.addi", [type], [a, b])\n'
    write(tmp_path, {f"{rules.BUILDERS}generic.py": line, "xtc/a.py": "Module.create()\n"})
    assert rules.operations_made_by_name(tmp_path) == []
    write(tmp_path, {"targets/host/passes/a.py": f"\n{line}"})
    assert rules.operations_made_by_name(tmp_path) == [
        "targets/host/passes/a.py:2: makes an operation by its name"
    ]


@pytest.mark.parametrize(
    "line", ["one = 1", "[one for one in ops]", "def f(one): ...", "for n, one in ops: ..."]
)
def test_no_variable_is_called_one(tmp_path: Path, line: str) -> None:
    write(tmp_path, {"tests/a.py": 'TEXT = "one"\nprint(device.one)\n'})
    assert rules.variables_named_one(tmp_path) == []
    write(tmp_path, {"targets/null/a.py": f"\n{line}\n"})
    assert rules.variables_named_one(tmp_path) == [
        "targets/null/a.py:2: a variable is called 'one'"
    ]


@pytest.mark.parametrize("text", ["loop.dims", "{loop.dims = [", "xtc.mark.3", "__xtc_id_C_"])
def test_attributes_have_one_owner(tmp_path: Path, text: str) -> None:
    owner = 'PATH = "./"\nDIMS = "loop.dims"\nMARK = "xtc.mark."\nNODE = "__xtc_id_"\n'
    kept = '"""Reads `loop.dims`."""\nOP = "my.loop.dims"\nMODULE = "xtc.marks"\nID = "./i"\n'
    write(tmp_path, {rules.ATTRIBUTES: owner, "xtc/ir/other.py": kept})
    assert rules.attributes_spelled_elsewhere(tmp_path) == []
    write(tmp_path, {"targets/host/passes/a.py": f"\nname = {text!r}\n"})
    (found,) = rules.attributes_spelled_elsewhere(tmp_path)
    assert found.startswith("targets/host/passes/a.py:2: spells the attribute ")


@pytest.mark.parametrize(
    "line",
    [
        "import importlib",
        "importlib.import_module(name)",
        "importlib.util.module_from_spec(spec)",
        "from importlib import import_module",
        "from importlib.util import module_from_spec",
        "import pkgutil",
        "from pkgutil import iter_modules",
        'found = __import__("os")',
    ],
)
def test_one_file_imports_dynamically(tmp_path: Path, line: str) -> None:
    write(tmp_path, {"xtc/core/discover.py": line})
    assert rules.dynamic_imports(tmp_path) == []
    write(tmp_path, {"targets/host/build.py": line})
    assert rules.dynamic_imports(tmp_path) == ["targets/host/build.py:1: imports dynamically"]


@pytest.mark.parametrize(
    "line",
    [
        "import importlib.metadata",
        "from importlib import resources",
        "from importlib_x import y",
        "import importlib.util",
        "importlib.util.find_spec('llvm')",
        "device.load_module(image)",
    ],
)
def test_finding_a_file_is_not_a_dynamic_import(tmp_path: Path, line: str) -> None:
    assert rules.dynamic_imports(write(tmp_path, {"xtc/code.py": line})) == []


def test_modules_that_import_each_other_are_reported(tmp_path: Path) -> None:
    write(tmp_path, {"xtc/a.py": "def f():\n    from xtc import b", "xtc/b.py": "import xtc.c"})
    write(
        tmp_path, {"xtc/c.py": "if TYPE_CHECKING:\n    from xtc.a import f", "xtc/__init__.py": ""}
    )
    assert rules.import_cycles(tmp_path) == []
    write(tmp_path, {"xtc/c.py": "from xtc.a import f"})
    assert rules.import_cycles(tmp_path) == ["xtc.a, xtc.b, xtc.c"]


def test_a_shared_pass_that_serves_one_target_is_reported(tmp_path: Path) -> None:
    shared = {"mlir_passes/tensor/fuse.py": "import xtc_passes.tensor._plan"}
    write(tmp_path, {**shared, "mlir_passes/tensor/_plan.py": ""})
    user = "from xtc_passes.tensor import fuse"
    write(tmp_path, {"targets/null/pipeline.py": user})
    assert rules.passes_of_one_target(tmp_path) == [
        "xtc_passes.tensor._plan: serves null alone",
        "xtc_passes.tensor.fuse: serves null alone",
    ]
    write(tmp_path, {"targets/host/pipeline.py": user})
    assert rules.passes_of_one_target(tmp_path) == []


def test_a_long_file_is_reported(tmp_path: Path) -> None:
    write(tmp_path, {"xtc/fits.py": "#\n" * 500, "xtc/long.py": "#\n" * 501})
    assert rules.long_files(tmp_path) == ["xtc/long.py: 501 lines"]


@pytest.mark.parametrize("head", ["def f():", "async def f():", "class C:\n    def f(self):"])
def test_a_long_function_is_reported(tmp_path: Path, head: str) -> None:
    line = "        x = 1\n"
    write(tmp_path, {"xtc/code.py": f"{head}\n{line * 59}"})
    assert rules.long_functions(tmp_path) == []
    write(tmp_path, {"xtc/code.py": f"{head}\n{line * 60}"})
    (found,) = rules.long_functions(tmp_path)
    assert found.endswith("f has 61 lines")


@pytest.mark.parametrize("name", ["xtc/a.py", "targets/host/csrc/a.c", "Makefile", ".ci/run"])
def test_every_source_file_names_its_license(tmp_path: Path, name: str) -> None:
    line = f"# {rules.LICENSE}\n"
    for text in (line, f"#!/bin/sh\n{line}"):
        assert rules.files_without_license(write(tmp_path, {name: text})) == []
    for text in ("", "x = 1\n", f"x = 1\n{line}"):
        assert rules.files_without_license(write(tmp_path, {name: text})) == [
            f"{name}: no '{rules.LICENSE}' at its head"
        ]


def test_names_of_files_do_not_differ_by_an_s(tmp_path: Path) -> None:
    write(tmp_path, {"xtc/a/_cost.py": "", "targets/t/passes/costs.py": "", "xtc/ops/costs.py": ""})
    assert file_names.names_that_differ_by_an_s(tmp_path) == [
        "targets/t/passes/costs.py, xtc/a/_cost.py"
    ]
    (tmp_path / "targets/t/passes/costs.py").rename(tmp_path / "targets/t/passes/cost.py")
    assert file_names.names_that_differ_by_an_s(tmp_path) == []


def test_helpers_of_different_targets_may_have_equal_names(tmp_path: Path) -> None:
    write(tmp_path, {"targets/t/passes/_sizes.py": "", "targets/u/passes/_sizes.py": ""})
    assert file_names.helpers_of_one_name(tmp_path) == []
    write(tmp_path, {"mlir_passes/tensor/_sizes.py": ""})
    assert file_names.helpers_of_one_name(tmp_path) == [
        "mlir_passes/tensor/_sizes.py, targets/t/passes/_sizes.py, targets/u/passes/_sizes.py"
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("# so many copies", "so many"),
        ('"""Raises UserError where it does not fit."""', "Raises UserError where"),
        ('"""A buffer of its\n    own."""', "of its own"),
        ("# Wait until\n# nobody reads it.", "nobody"),
        ("raise UserError(f'{x} is no array')", "is no array"),
        ("// Small loops are left alone.", "left alone"),
        ("// A buffer that nothing reads any\n// more.", "any more"),
        ("// The pass is skipped, and a note says so.", "says so"),
        ("// Engines are measured in turns.", "in turns"),
        ("// Calls are logged, one a line.", "one a line"),
        ("# Values of run time are not\n# constants.", "of run time"),
        ("# Code is generated by way of C.", "by way of"),
        ("hints = ['leave it out']", "leave it out"),
    ],
)
def test_translated_phrases_are_reported(tmp_path: Path, line: str, said: str) -> None:
    kept = '"""None if there is no array; it is no longer kept."""\nx: int | None\nwhere: str\n'
    write(tmp_path, {"xtc/kept.py": kept, "docs/style.md": line})
    assert phrases.translated_phrases(tmp_path) == []
    edited = ["xtc/core/a.py", "docs/a.md", "tests/filecheck/a.mlir", "README.md"]
    write(tmp_path, dict.fromkeys(edited, f"\n{line}\n"))
    found = phrases.translated_phrases(tmp_path)
    assert [use.partition(":")[0] for use in found] == edited
    assert all(f"says '{said}'" in use for use in found)
