# SPDX-License-Identifier: Apache-2.0
"""Programs of many kinds: right on every machine and in every order of threads, and no statement
that orders others can be omitted or weakened unnoticed."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.unit.test_tile_mutants import LINE, on_device
from tests.unit.tile_mutants import ORDERS, noticed, weakened, with_line
from xtc.core.errors import UserError
from xtc.tile.interpreter.report import RaceError
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).with_name("tile_programs")
NAMES = sorted(path.stem for path in FOLDER.glob("[a-z]*.py"))
PROGRAMS, MUTANTS = 9, 13
"""Of this number of programs, or mutants, one is tried; all of them are in the long check."""


def case_of(name: str) -> Any:
    return importlib.import_module(f"tests.unit.tile_programs.{name}").case()


@cache
def lines(name: str) -> list[str]:
    return (FOLDER / f"{name}.py").read_text().splitlines()


def test_programs_agree_with_numpy(is_long: bool) -> None:
    for name in NAMES[:: 1 if is_long else PROGRAMS]:
        case_of(name).run(lambda program: program.check)
        needs_hopper = any("self.tma." in line for line in lines(name))
        for arch in ("sm_90a",) if needs_hopper else ("sm_80", "sm_90a"):
            for order in ORDERS if is_long else ORDERS[-1:]:
                with NvgpuDevice(NvgpuOptions(arch=arch, memory_bytes=1 << 26, **order)) as device:
                    on_device(case_of(name))(device)


def mutants() -> list[tuple[str, int, str]]:
    """Programs, the number of a line from 0, and the statement in its place."""
    return [
        (name, number, statement)
        for name in NAMES
        for number, text in enumerate(lines(name))
        for statement in replacements(text.strip())
    ]


def replacements(line: str) -> list[str]:
    """What stands in place of a statement: nothing, or a weaker one."""
    return [*(["pass"] if LINE.match(line) else []), *weakened(line).values()]


def test_the_interpreter_names_a_weakened_line(tmp_path: Path, is_long: bool) -> None:
    for name, number, statement in mutants()[:: 1 if is_long else MUTANTS]:
        case = vars(with_line(FOLDER / f"{name}.py", number, tmp_path, statement))["case"]()
        with pytest.raises((RaceError, UserError)) as caught:
            case.run(lambda program: program.check)
        assert f"mutant_{name}_{number}.py" in str(caught.value), statement


READ_FIRST = "warps alternate: all have read when the first one stores"
WHY = {
    "self.wgmma.": "the simulator multiplies at once: nothing is in flight",
    "chunk_scan: self.sync()": READ_FIRST,
    "delta_rule: self.sync()": READ_FIRST,
    "norms: self.sync()": "the threads that wait for the result of the lock have met at a barrier",
    "pivoting: self.sync()": READ_FIRST,
    "radix_sort: self.sync()": "the prefix sums between load and store have barriers",
    "small_matrices: self.sync()": READ_FIRST,
}
"""Why the simulator may notice nothing, by how a statement, or a program with it, begins."""


def test_the_simulator_notices_a_weakened_line(tmp_path: Path, is_long: bool) -> None:
    for name, number, statement in mutants()[:: 1 if is_long else 10 * MUTANTS]:
        module = with_line(FOLDER / f"{name}.py", number, tmp_path, statement)
        line = lines(name)[number].strip()
        here = f"{name}: {line}"
        if not noticed(on_device(vars(module)["case"]())):
            assert any(line.startswith(key) or here.startswith(key) for key in WHY), here
