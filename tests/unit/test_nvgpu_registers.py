# SPDX-License-Identifier: Apache-2.0
"""Register reallocation between warpgroups, and the rules that the simulator checks."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit import tile_pipelines
from tests.unit.nvgpu_code import needs_ptxas
from tests.unit.nvgpu_support import image, opened
from tests.unit.tile_cases import Case, matmul
from xtc.core.errors import DeviceFault
from xtc_targets.nvgpu.passes._pipelines.register_plan import RegisterPlan, register_plan

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("sums", "of_instruction", "groups", "blocks", "plan"),
    [
        (64, 64, 1, 2, RegisterPlan()),
        (128, 64, 1, 2, RegisterPlan()),
        (192, 96, 1, 1, RegisterPlan()),
        (128, 64, 2, 1, RegisterPlan(128, 168, 40, 232)),
        (192, 96, 2, 1, RegisterPlan(128, 168, 40, 232)),
        (96, 96, 3, 1, RegisterPlan(128, 128, 40, 152)),
        (128, 128, 3, 1, None),  # the instruction needs more registers than threads have initially
        (256, 128, 2, 1, None),
        (192, 96, 1, 2, RegisterPlan(128, 128, 24, 232)),
    ],
)
def test_registers_are_reallocated_if_needed(
    sums: int, of_instruction: int, groups: int, blocks: int, plan: RegisterPlan | None
) -> None:
    found = register_plan(sums, of_instruction, groups, blocks)
    assert found == plan
    if found is None or not found.first:
        return
    assert {found.first % 8, found.least % 8, found.most % 8} == {0}
    assert found.least >= 24
    assert found.most <= 256
    assert found.least + groups * found.most <= (groups + 1) * found.first
    assert (groups + 1) * 128 * blocks * found.first <= 65536


@pytest.mark.parametrize("schedule", ["sequential", "shuffled"])
def test_a_warpgroup_waits_for_released_registers(schedule: str) -> None:
    with opened(image("nvgpu_registers"), sim_schedule=schedule) as kernels:
        kernels.device.launch(kernels.hand_on, [24, 168, 128, 0])


@pytest.mark.parametrize(
    ("kernel", "arguments", "what"),
    [
        (
            "hand_on",
            [20, 0, 0, 0],
            "setmaxnreg.dec to 20 registers: a multiple of 8 from 24 to 256",
        ),
        (
            "hand_on",
            [16, 0, 0, 0],
            "setmaxnreg.dec to 16 registers: a multiple of 8 from 24 to 256",
        ),
        ("hand_on", [0, 264, 128, 0], "setmaxnreg.inc to 264 registers: a multiple of 8"),
        ("hand_on", [104, 0, 0, 0], "setmaxnreg.dec to 104 registers of a thread that has 96"),
        ("hand_on", [0, 88, 128, 0], "setmaxnreg.inc to 88 registers of a thread that has 96"),
        (
            "hand_on",
            [24, 176, 128, 0],
            "deadlock: a warpgroup waits for 176 registers per thread, and of the block's 24576 ",
        ),
        ("hand_on", [0, 104, 128, 0], "a warpgroup waits for 104 registers per thread"),
        (
            "hand_on",
            [24, 120, 96, 0],
            "deadlock: setmaxnreg waits for all threads of a warpgroup, of which 96 have arrived",
        ),
        ("hand_on", [24, 112, 96, 1], "to 120 registers, and to 112 by another thread"),
        ("untold", [24, 0, 0, 0], "does not set the registers of a thread"),
        ("odd", [24, 120, 172, 0], "setmaxnreg.inc by the last 44 threads of a block"),
    ],
)
def test_a_mistake_is_a_fault(kernel: str, arguments: list[int], what: str) -> None:
    with (
        opened(image("nvgpu_registers")) as kernels,
        pytest.raises(DeviceFault, match=what.replace("(", r"\(")),
    ):
        kernels.device.launch(getattr(kernels, kernel), arguments)


def test_large_tiles_are_correct() -> None:
    """Two warpgroups with 192 accumulators per thread, for which another one releases registers."""
    case = matmul(264, 200, 104, tiles=(256, 192, 32), warps=8)
    case.agrees(case.program)
    report = case.agrees(case.program.check)
    assert report.compiled.counts["wgmma"]
    assert case.program.compile(*case.arguments).warps == 12


@needs_ptxas
@pytest.mark.parametrize(
    ("tiles", "warps", "has"),
    [((256, 192, 64), 8, True), ((128, 256, 64), 8, True), ((128, 192, 64), 4, False)],
)
def test_the_assembler_accepts_register_reallocation(
    tiles: tuple[int, int, int], warps: int, has: bool
) -> None:
    program = tile_pipelines.Matmul(tiles=tiles, warps=warps)
    sizes = (4096, 4096, 4096, None, None, None)
    kernel = Case(program, sizes, np.zeros(0), np.zeros(0)).kernel(arch="sm_90a")
    needs = kernel.resources
    assert (needs.spilled_bytes, needs.local_bytes, needs.warnings) == (0, 0, ())
    assert kernel.notes == ()
    assert ("setmaxnreg.dec.sync.aligned.u32" in kernel.ptx) is has
    assert ("USETMAXREG" in kernel.sass) is has
