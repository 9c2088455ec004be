# SPDX-License-Identifier: Apache-2.0
"""User passes at the ends of stages, and printing after selected passes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.core.errors import UserError
from xtc.driver import prepare
from xtc.graph.graph import Graph
from xtc.ir.mlir import Operation, StringAttr, all_operations
from xtc.ir.pass_filter import PassFilter, pass_names
from xtc.ir.passes import Pass
from xtc.ir.pipeline import Pipeline, Stage


@dataclass(frozen=True)
class Sign(Pass):
    """Append a name to every function's list of names."""

    name: ClassVar[str] = "sign"
    word: str = "me"

    def run(self, module: Operation) -> None:
        for op in all_operations(module):
            if op.name == "func.func":
                before = (
                    StringAttr(op.attributes["signed"]).value if "signed" in op.attributes else ""
                )
                op.attributes["signed"] = StringAttr.get(before + self.word, module.context)


@dataclass(frozen=True)
class Negate(Pass):
    """Turn additions of floats into subtractions."""

    name: ClassVar[str] = "negate"

    def run(self, module: Operation) -> None:
        text = module.get_asm().replace("arith.addf", "arith.subf")
        new = Operation.parse(text, context=module.context)
        block = module.regions[0].blocks[0]
        for op in list(block.operations):
            op.erase()
        for op in list(new.regions[0].blocks[0].operations):
            op.detach_from_parent()
            block.append(op)


def summed() -> Graph:
    x, y = (O.tensor((4,), name=name) for name in "xy")
    with O.graph(name="summed") as builder:
        O.add(x, y, name="z")
    return builder.graph


def stage(name: str, **how: Any) -> str:
    return prepare(summed(), **how).stage_text(name)


def test_passes_run_at_the_ends_of_stages_in_order() -> None:
    passes = {"source": [Sign("a"), Sign("b"), "canonicalize"], "bufferized": Sign("c")}
    assert 'signed = "ab"' in stage("scheduled", passes=passes)
    assert 'signed = "abc"' in stage("bufferized", passes=passes)
    assert "signed" not in stage("bufferized")


@pytest.mark.slow
@pytest.mark.parametrize("target", ["host", "null"])
def test_passes_change_the_code(target: str) -> None:
    ones = np.ones(4, np.float32)
    with xtc.compile(summed(), target, passes={"bufferized": [Negate()]}) as module:
        assert module(ones, ones).tolist() == [0.0] * 4


@pytest.mark.slow
def test_the_cache_distinguishes_passes(artifact_cache: Path) -> None:
    ones = np.ones(4, np.float32)
    results = []
    for passes in (None, {"bufferized": [Negate()]}, {"bufferized": ["canonicalize"]}, None):
        with xtc.compile(summed(), passes=passes) as module:
            results.append(module(ones, ones).tolist()[0])
    assert results == [2.0, 0.0, 2.0, 2.0]


@pytest.mark.parametrize(
    ("passes", "what"),
    [
        ({"bufferised": ["cse"]}, "at the end of stage 'bufferised'\n.*did you mean 'bufferized'"),
        ({"code": ["cse"]}, "no passes can run at the end of stage 'code'"),
        ({3: ["cse"]}, "at the end of stage 3"),
        ({"source": [Sign]}, "is not a pass\n.*an instance of xtc.ir.passes.Pass, or text"),
        ({"source": ["apply-schedule"]}, "no pass 'apply-schedule'.*\n.*'apply-schedules'"),
        ({"source": ["split-reductions{lenght=3}"]}, "has no option 'lenght'"),
    ],
)
def test_invalid_passes_are_refused_before_anything_runs(passes: Any, what: str) -> None:
    with pytest.raises(UserError, match=what):
        prepare(summed(), passes=passes)


def test_a_pipeline_without_the_stage_refuses_it() -> None:
    with pytest.raises(UserError, match="there is no stage 'offloaded'"):
        Pipeline((Stage("source"),)).extended({"offloaded": ["cse"]})


@pytest.mark.parametrize(
    ("step", "names"),
    [
        ("cse", {"cse"}),
        ("split{by=2 at=1,2}", {"split"}),
        ("func.func(cse,canonicalize{top-down=false})", {"func.func", "cse", "canonicalize"}),
        ("a{pipeline={b{c=1}}}", {"a"}),
        ("convert-math-to-llvm{x=true}, cse", {"convert-math-to-llvm", "cse"}),
    ],
)
def test_names_in_a_step(step: str, names: set[str]) -> None:
    assert pass_names(step) == names


def test_a_filter_takes_names_and_changes() -> None:
    assert PassFilter().takes("cse", "a", "a")
    assert PassFilter(("cse",)).takes("func.func(cse)", "a", "a")
    assert not PassFilter(("cse",)).takes("canonicalize", "a", "b")
    assert not PassFilter(changes=True).takes("cse", "a", "a")
    assert PassFilter(("cse",), changes=True).takes("cse", "a", "b")


def test_a_name_that_does_not_run_is_refused() -> None:
    with pytest.raises(UserError, match=r"no pass 'sing' runs here\n.*did you mean 'sign'"):
        xtc.compile(summed(), print_ir_after="sing", passes={"source": [Sign()]})


def titles(text: str) -> list[str]:
    return [
        line.split("After ")[1].split(" //")[0] for line in text.splitlines() if "IR Dump" in line
    ]


@pytest.mark.slow
def test_some_passes_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    how: dict[str, Any] = {"passes": {"source": [Sign()]}, "cache": False}
    xtc.compile(summed(), print_ir_after=["sign", "cse"], **how).close()
    assert set(titles(capsys.readouterr().err)) == {"sign", "cse"}
    xtc.compile(summed(), print_ir_after_all=True, **how).close()
    every = titles(capsys.readouterr().err)
    xtc.compile(summed(), print_ir_after_change=True, **how).close()
    changed = titles(capsys.readouterr().err)
    assert "sign" in changed
    assert 2 < len(changed) < len(every)
