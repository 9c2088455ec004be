# SPDX-License-Identifier: Apache-2.0
"""docs/schedule.md: its examples print the shown output, and its table of refusals is complete."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import xtc
import xtc.ops as O
from xtc.driver.foreign import parse_module
from xtc.ir.mlir import Context
from xtc.schedule import NodeSchedule

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "schedule.md").read_text()
REFUSALS = ROOT / "tests" / "filecheck" / "schedules" / "refusals"
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MARK = "-- next --"


def printed(program: str) -> str:
    """The output of a program."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_every_example_prints_what_is_below_it() -> None:
    pairs = EXAMPLE.findall(PAGE)
    start = 'C = xtc.Schedule(graph)["C"]\n'
    (setup, _), *others = pairs
    parts = [setup + start, *(start + code for code, _ in others)]
    program = "".join(f"{part}print(C)\nprint({MARK!r})\n" for part in parts)
    assert len(pairs) > 10
    assert printed(program).split(f"{MARK}\n")[:-1] == [text for _, text in pairs]


def test_every_primitive_has_its_section() -> None:
    primitives = {
        name
        for name, value in vars(NodeSchedule).items()
        if callable(value) and not name.startswith("_")
    }
    titles = re.findall("^### (.*)$", PAGE, re.MULTILINE)
    sections = {name for title in titles for name in title.split(", ")}
    assert sections == primitives
    assert {path.stem for path in REFUSALS.parent.glob("*.py")} == primitives


def quoted_refusals() -> list[str]:
    section = PAGE.split("## Refused schedules")[1].split("\n## ")[0]
    rows = [line.split("|")[2] for line in section.splitlines() if line.startswith("| ")][1:]
    return [text for row in rows for text in re.findall("`(.*?)`", row)]


@pytest.mark.parametrize("refusal", quoted_refusals())
def test_a_refusal_has_its_test(refusal: str) -> None:
    tests = "".join(path.read_text() for path in REFUSALS.glob("*.py"))
    assert re.search(f"^# CHECK: +{re.escape(refusal)}$", tests, re.MULTILINE)


def test_the_forms_in_mlir_are_equivalent() -> None:
    block = r"^```text\n(loop\.dims.*\n)((?:loop\.schedule.*\n){3})```$"
    found = re.search(block, PAGE, re.MULTILINE)
    assert found is not None
    nests = [scheduled(found[1].strip(), form) for form in found[2].splitlines()]
    assert len(nests) == 3
    assert len(set(nests)) == 1


def scheduled(dims: str, schedule: str) -> str:
    from xtc_passes.tensor.apply_schedules import ApplySchedules

    types = "tensor<64x32xf32>, tensor<32x48xf32>"
    text = (
        "func.func @f(%a: tensor<64x32xf32>, %b: tensor<32x48xf32>, %c: tensor<64x48xf32>) {"
        f"%0 = linalg.matmul {{{dims}, {schedule}}} ins(%a, %b : {types}) "
        "outs(%c : tensor<64x48xf32>) -> tensor<64x48xf32> return }"
    )
    with Context():
        (nest,) = ApplySchedules().nests(parse_module(text, "f.mlir"))
    return str(nest.nest)


@pytest.mark.slow
def test_a_nest_prints_before_anything_is_compiled() -> None:
    program = (
        "import sys, xtc, xtc.ops as O\n"
        "with O.graph(name='g') as gb:\n"
        "    O.relu(O.tensor((8, 8), name='x'), name='y')\n"
        "print(xtc.Schedule(gb.graph)['y'].tile('i', {'i1': 4}))\n"
        "assert not [name for name in sys.modules if name.partition('.')[0] == 'mlir']\n"
    )
    assert printed(program).splitlines()[1] == "  for i in 0..8 step 4"


@pytest.mark.slow
def test_a_module_prints_its_schedule() -> None:
    a, b = O.tensor((10, 6), name="A"), O.tensor((6, 7), name="B")
    with O.graph(name="product") as gb:
        O.matmul(a, b, name="C")
    schedule = xtc.Schedule(gb.graph)
    C = schedule["C"].set_dims(["row", "column", "term"])  # noqa: N806  a tensor's name
    C.tile("row", {"rows": 4}).interchange(["term", "row", "rows", "column"]).unroll({"rows": 2})
    with xtc.compile(gb.graph, schedule=schedule, in_memory=True) as module:
        assert str(module.schedule["C"]).splitlines() == [
            "C (i: 10, j: 7, k: 6 reduced)",
            "  for k in 0..6",
            "    for i in 0..10 step 4",
            "      for i#4 in 0..4  // unroll 2",
            "        for j in 0..7",
            "          C",
        ]
        assert '"./i#4", xtc.unroll = 2' in module.ir("scheduled")
        module.check()
