# SPDX-License-Identifier: Apache-2.0
"""Tile kernels with a removed or replaced line, and compilers that lose an operation."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from xtc.core.errors import DeviceError
from xtc.ir.mlir import Operation, all_operations
from xtc.ir.passes import Pass
from xtc.ir.pipeline import Pipeline
from xtc.tile.launch.compiled import Kernel
from xtc.tile.program import Program
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

ORDERING = (
    r"tile\.((mbarrier_(expect|wait|arrive)|fence|wgmma_|tma_(commit|wait))\w*|sync|wait_\w+)"
)
"""Operations of the dialect `tile` that order others."""

BARRIERS = r"nvvm\.barrier"
"""Those that the compiler writes between threads."""

ORDERS: tuple[dict[str, Any], ...] = (
    {},
    {"sim_races": True},
    {"sim_races": True, "sim_schedule": "shuffled", "seed": 0},
    {"sim_races": True, "sim_schedule": "shuffled", "seed": 1},
)
"""In what order a simulator runs threads, and whether it watches for races."""


def with_line(source: Path, number: int, folder: Path, line: str = "pass") -> ModuleType:
    """The module of a file with another statement in a line, counted from 0."""
    lines = source.read_text().splitlines()
    indent = len(lines[number]) - len(lines[number].lstrip())
    lines[number] = " " * indent + line
    module = ModuleType(f"mutant_{source.stem}_{number}")
    path = folder / f"{module.__name__}.py"
    path.write_text("\n".join(lines) + "\n")
    sys.modules[module.__name__] = module
    exec(compile(path.read_text(), str(path), "exec"), vars(module))  # noqa: S102
    return module


def weakened(line: str) -> dict[str, str]:
    """Weaker statements in place of one that orders others, with a name for each mistake."""
    found: dict[str, str] = {}
    if "wgmma" not in line and (group := re.search(r"wait_group\(([^,()]+)", line)):
        found["one group too many"] = line.replace(group[0], f"{group[0]} + 1")
    if wait := re.search(r"(mbarrier\.wait\(.*phase=)(.+)\)$", line):
        found["other parity"] = line.replace(wait[0], f"{wait[1]}({wait[2]}) ^ 1)")
    if count := re.search(r"mbarrier\.alloc\((\[.*\]|[^\[]+)\)$", line):
        counts = count[1] if count[1].startswith("[") else f"[{count[1]}]"
        made = f"alloc([count + 1 for count in {counts}])"
        found["one arrival too many"] = line.replace(f"alloc({count[1]})", made) + (
            "" if count[1].startswith("[") else "[0]"
        )
    if line == "self.sync()":
        found["one warp"] = "with self.single_warp(): self.sync()"
    if line.startswith("self.copy_async_wait"):
        found["no wait"] = "self.copy_async_commit_group()"
    if re.search(r'sem="\w+"', line):
        found["relaxed"] = re.sub(r'sem="\w+"', 'sem="relaxed"', line)
    return found


def marked(source: Path, mark: str) -> int:
    """The number of the line that ends with a mark."""
    lines = source.read_text().splitlines()
    (found,) = (number for number, line in enumerate(lines) if line.endswith(f"# {mark}"))
    return found


@dataclass(frozen=True)
class DropOperations(Pass):
    """A compiler bug: some of the operations with a name are removed."""

    name: ClassVar[str] = "drop-operations"
    pattern: str = ORDERING
    numbers: tuple[int, ...] = (0,)

    def run(self, module: Operation) -> None:
        found = named(module, self.pattern)
        for number in self.numbers:
            found[number].erase()


def named(module: Operation, pattern: str = ORDERING) -> list[Operation]:
    """The operations with this name."""
    return [op for op in all_operations(module) if re.fullmatch(pattern, op.name)]


def broken(program: Program, arguments: Any, stage: str, mistake: Pass, device: Any) -> Kernel:
    """The kernel compiled with a bug at the end of a stage."""
    values = program._bound(arguments, {}, arrays=False)
    cls, schedule, constants, _ = program._pick(values, device)._made_of
    kernel = Kernel(cls, schedule, constants, device)
    stages = tuple(
        replace(each, steps=(*each.steps, mistake)) if each.name == stage else each
        for each in kernel.support.pipeline.stages
    )
    kernel.support = replace(kernel.support, pipeline=Pipeline(stages))
    kernel.compiler = replace(kernel.compiler, pipeline=kernel.support.pipeline)
    kernel.key = lambda *_, **__: None  # type: ignore[method-assign]  # no cache knows mistakes
    return kernel


def simulated(run: Callable[[NvgpuDevice], None], **options: Any) -> str:
    """The simulator's report on a run that compares its result: a fault, or a wrong result."""
    with NvgpuDevice(NvgpuOptions(opt_level=0, memory_bytes=1 << 26, **options)) as device:
        try:
            run(device)
        except DeviceError as error:
            return str(error)
        except AssertionError:
            return "a wrong result"
    return ""


def noticed(run: Callable[[NvgpuDevice], None]) -> str:
    """The same in several orders, until an error is detected."""
    return next(filter(None, (simulated(run, **order) for order in ORDERS)), "")
