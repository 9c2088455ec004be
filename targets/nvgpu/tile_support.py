# SPDX-License-Identifier: Apache-2.0
"""The target's support of tile kernels: limits, rates, and machine code."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from xtc.interfaces.tile_support import Resources, TileSupport
from xtc.ir.pipeline import Pipeline
from xtc.system import tool
from xtc.system.workspace import private_folder
from xtc_targets.nvgpu.occupancy import resident_blocks
from xtc_targets.nvgpu.options import NvgpuOptions
from xtc_targets.nvgpu.passes.mark_lines import line_of
from xtc_targets.nvgpu.pipeline import tile_pipeline
from xtc_targets.nvgpu.ptx import ptx
from xtc_targets.nvgpu.tensor_maps import require, tensor_map
from xtc_targets.nvgpu.toolkit import HINT, assemble, found

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation

_MMA_SHARE = 0.63
"""The fraction of the tensor cores' peak that mma.sync reaches on sm_90a, for the static model
only: "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture" (Luo et al., 2024)."""


@cache
def tile_support(options: NvgpuOptions) -> TileSupport:
    """The target's support of tile kernels, with these options."""
    machine = options.machine
    share = _MMA_SHARE if machine.capability[0] == 9 else 1.0
    return TileSupport(
        pipeline=tile_pipeline(options),
        as_written=tile_pipeline(replace(options, bulk_pipelines=False)),
        machine_code=GpuCode(
            NvgpuOptions(
                platform="hw",
                arch=options.arch,
                opt_level=options.opt_level,
                bulk_pipelines=options.bulk_pipelines,
                sms=options.sms,
                cubins="none",
            )
        ),
        warp_threads=machine.warp_threads,
        max_warps=machine.max_block_threads // machine.warp_threads,
        shared_bytes=machine.shared_bytes_block,
        multiprocessors=machine.sms,
        resident_blocks=partial(resident_blocks, machine),
        is_simulated=options.platform == "sim",
        cache_bytes=machine.l2_bytes,
        rates={
            "bytes_per_second": machine.memory_bytes_per_second,
            "f16": share * machine.peak_macs_per_second("float16"),
            "bf16": share * machine.peak_macs_per_second("bfloat16"),
            "warpgroups": 1 / share,
            "other": machine.peak_macs_per_second("float32"),
        },
        tensor_map=partial(tensor_map, options=options),
        line_of=line_of,
        require_map=require,
    )


@dataclass(frozen=True)
class GpuCode:
    """PTX from LLVM, and machine code from NVIDIA's assembler."""

    options: NvgpuOptions

    @property
    def pipeline(self) -> Pipeline:
        """The stages before code generation."""
        return tile_pipeline(self.options)

    def text(self, lowered: Operation) -> str:
        """The PTX. Raises CompileError with the code generator's message."""
        return ptx(lowered, self.options)

    def disassembly(self, text: str) -> str:
        """The SASS, from nvdisasm. Raises ToolError if a program is missing."""
        with private_folder("nvgpu-") as folder:
            cubin = Path(folder) / "kernel.cubin"
            self._assembled(text, cubin)
            words: list[str | Path] = [found("nvdisasm", "showing machine code"), "-c", cubin]
            return tool.run(words, what="showing machine code", install_hint=HINT).stdout

    def resources(self, text: str, threads: int, shared_bytes: int) -> Resources:
        """The resources of the only kernel, from ptxas. Raises ToolError if ptxas is missing."""
        with private_folder("nvgpu-") as folder:
            said = self._assembled(text, Path(folder) / "kernel.cubin")
        registers = _number(said, r"Used (\d+) registers")
        warnings = [line for line in said.splitlines() if "warning" in line or "C75" in line]
        return Resources(
            registers=registers,
            spilled_bytes=_number(said, r"(\d+) bytes spill stores")
            + _number(said, r"(\d+) bytes spill loads"),
            local_bytes=_number(said, r"(\d+) bytes stack frame"),
            shared_bytes=shared_bytes,
            blocks=resident_blocks(self.options.machine, registers, threads, shared_bytes),
            warnings=tuple(warnings),
        )

    def _assembled(self, text: str, cubin: Path) -> str:
        file = cubin.with_suffix(".ptx")
        file.write_text(text)
        return assemble(file, self.options.machine.arch, cubin)


def _number(text: str, pattern: str) -> int:
    found_number = re.search(pattern, text)
    return int(found_number[1]) if found_number else 0
