# SPDX-License-Identifier: Apache-2.0
"""Stages run in order, are printed on request, and failing passes are explained."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from xtc.core.errors import CompileError, UserError
from xtc.ir import mlir
from xtc.ir.passes import Pass
from xtc.ir.pipeline import PassRunner, Pipeline, Stage, check_step, command_line_option

PIPELINE = Pipeline(
    (
        Stage("source"),
        Stage("scheduled", ("canonicalize",)),
        Stage("lowered", ("cse", "symbol-dce")),
    )
)
DEAD = "func.func @f() {\n  %0 = arith.constant 1 : i32\n  return\n}"
# Without a named sequence, the interpreter fails anywhere in a pipeline.
FAILING = ("canonicalize", "transform-interpreter", "cse")


@dataclass(frozen=True)
class Rename(Pass):
    """Rename every function."""

    name: ClassVar[str] = "rename"
    to: str = "g"

    def run(self, module: mlir.Operation) -> None:
        for op in module.regions[0].blocks[0].operations:
            op.attributes["sym_name"] = mlir.StringAttr.get(self.to, module.context)


@dataclass(frozen=True)
class Break(Pass):
    """Leave the module invalid."""

    name: ClassVar[str] = "break"

    def run(self, module: mlir.Operation) -> None:
        del module.regions[0].blocks[0].operations[0].attributes["function_type"]


@pytest.fixture
def module() -> Iterator[mlir.Operation]:
    with mlir.Context():
        yield mlir.Module.parse(DEAD).operation


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def steps(*passes: Pass | str) -> Pipeline:
    return Pipeline((Stage("lowered", passes),))


def names(pipeline: Pipeline) -> list[str]:
    return [stage.name for stage in pipeline.stages]


def test_a_pipeline_is_cut_at_its_stages() -> None:
    assert names(PIPELINE.until("scheduled")) == ["source", "scheduled"]
    assert names(PIPELINE.after("source")) == ["scheduled", "lowered"]
    assert names(PIPELINE.after("lowered")) == []
    with pytest.raises(UserError, match="there is no stage 'code'"):
        PIPELINE.until("code")


def test_stages_are_run_and_timed(module: mlir.Operation) -> None:
    runner = PassRunner()
    runner.run(module, PIPELINE)
    assert "constant" not in str(module)
    assert list(runner.seconds) == ["source", "scheduled", "lowered"]


def test_passes_are_shown_one_by_one(module: mlir.Operation, tmp_path: Path) -> None:
    shown: list[str] = []
    runner = PassRunner(tmp_path / "ir", lambda title, _: shown.append(title), time_passes=True)
    runner.run(module, PIPELINE)
    assert shown == ["canonicalize", "cse", "symbol-dce"]
    assert sorted(file.name for file in (tmp_path / "ir").iterdir()) == [
        *("01-canonicalize.mlir", "02-cse.mlir", "03-symbol-dce.mlir")
    ]
    assert {"scheduled/canonicalize", "lowered/cse"} < set(runner.seconds)


def test_passes_of_the_project_and_of_mlir_are_mixed(module: mlir.Operation) -> None:
    PassRunner().run(module, steps("canonicalize", Rename("h"), "cse"))
    assert "func.func @h" in str(module)


@pytest.mark.parametrize("shown", [False, True])
def test_the_failing_pass_is_named_with_its_own_input(
    module: mlir.Operation, temporary: Path, shown: bool
) -> None:
    runner = PassRunner(print_after=(lambda *_: None) if shown else None)
    with pytest.raises(CompileError, match="pass 'transform-interpreter' failed") as failure:
        runner.run(module, steps(*FAILING))
    assert any("__transform_main" in note for note in failure.value.notes)
    (saved,) = temporary.iterdir()
    assert failure.value.hints == (
        f"reproduce with: xtc-opt {shlex.quote(str(saved))} --transform-interpreter",
    )
    assert "constant" not in saved.read_text()  # canonicalize has run


def test_a_failure_of_a_sequence_is_reproduced_as_a_sequence(
    module: mlir.Operation, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: mlir.Operation, group: tuple[str, ...], *_name: str) -> None:
        if len(group) > 1:
            raise CompileError("MLIR refused the module")

    monkeypatch.setattr("xtc.ir.pipeline.run_steps", fail)
    with pytest.raises(CompileError, match="passes 'canonicalize', 'cse' failed") as failure:
        PassRunner().run(module, steps("canonicalize", "cse"))
    (saved,) = temporary.iterdir()
    assert failure.value.hints[0].endswith(f"{saved} --canonicalize --cse")
    assert "constant" in saved.read_text()


def test_a_pass_that_invalidates_the_module_is_named(
    module: mlir.Operation, temporary: Path
) -> None:
    with pytest.raises(CompileError, match="pass 'break' failed: MLIR refused") as failure:
        PassRunner().run(module, steps("canonicalize", Rename("h"), Break(), Rename("i")))
    assert any("function_type" in note for note in failure.value.notes)
    (saved,) = temporary.iterdir()
    assert "func.func @h" in saved.read_text()


@pytest.mark.parametrize(
    ("step", "option"),
    [
        ("cse", "--cse"),
        (Rename("h"), "--rename{to=h}"),
        ("func.func(cse)", "--pass-pipeline=builtin.module(func.func(cse))"),
        ("canonicalize{top-down=false}", "--canonicalize{top-down=false}"),
    ],
)
def test_a_pass_prints_as_an_option(step: Pass | str, option: str) -> None:
    assert command_line_option(step) == option


@pytest.mark.parametrize("step", ["no-such-pass", "cse{no=1}", "func.func(", "cse,,cse"])
def test_unknown_passes_are_refused(step: str) -> None:
    with pytest.raises(UserError, match="MLIR has no pass"):
        check_step(step)


def test_passes_of_mlir_are_known() -> None:
    check_step("func.func(cse,canonicalize{top-down=false})")


def test_a_copy_keeps_barriers_and_their_locations(module: mlir.Operation) -> None:
    """The parser of `nvvm.barrier` parses a trailing location as an attribute."""
    with module.context:
        segments = "{operandSegmentSizes = array<i32: 0, 0, 0>}"
        text = f'"nvvm.barrier"() {segments} : () -> () loc("a.py":3:5)'
        source = mlir.Module.parse(f"func.func @f() {{ {text} \n return }}").operation
        barrier = next(o for o in mlir.all_operations(mlir.copied(source)) if "barrier" in o.name)
    assert str(barrier.location) == 'loc("a.py":3:5)'
