# SPDX-License-Identifier: Apache-2.0
"""Code generated for GPUs, and the output of NVIDIA's assembler and disassembler."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import xtc
from xtc.driver import prepare
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions
from xtc_targets.nvgpu.toolkit import assemble, find

ARCHITECTURES = ("sm_80", "sm_90a")
NVDISASM = find("nvdisasm")

needs_ptxas = pytest.mark.skipif(find("ptxas") is None, reason="ptxas is not installed")
needs_nvdisasm = pytest.mark.skipif(
    find("ptxas") is None or NVDISASM is None, reason="ptxas or nvdisasm is not installed"
)

_ENTRY = re.compile(r"Compiling entry function '(\w+)'")
_SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SECTION = re.compile(r"^\.text\.(\w+):")
_INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/ +(?:@!?\w+ +)?([A-Z][\w.]*)")


def gpu(arch: str) -> NvgpuDevice:
    """A GPU that is never opened: code is generated without one."""
    return NvgpuDevice(NvgpuOptions(platform="hw", arch=arch))


def ptx_of(
    graph: xtc.Graph, device: NvgpuDevice, schedule: xtc.Schedule | None = None, **options: Any
) -> str:
    """The PTX of a graph's kernels; empty if it has none on `device`."""
    text = prepare(graph, target=device, schedule=schedule, **options).stage_text("code")
    return text[text.index(".version") :] if ".version" in text else ""


@dataclass(frozen=True)
class MachineCode:
    """The output of ptxas for a file of PTX, and its report on each kernel."""

    cubin: Path
    said: str
    registers: dict[str, int]
    spilled_bytes: dict[str, int]

    def opcodes(self) -> Counter[str]:
        """The count of each machine instruction over all kernels: `LDG.E.128`, `HMMA.16816.F32`."""
        return sum(self.opcodes_of_kernels().values(), Counter())

    def opcodes_of_kernels(self) -> dict[str, Counter[str]]:
        """The same for each kernel."""
        words = [str(NVDISASM), "-c", str(self.cubin)]
        ran = subprocess.run(words, capture_output=True, text=True, check=True)
        found: dict[str, Counter[str]] = {}
        kernel = ""
        for line in ran.stdout.splitlines():
            if section := _SECTION.match(line):
                kernel = section[1]
                found[kernel] = Counter()
            elif kernel and (instruction := _INSTRUCTION.search(line)):
                found[kernel][instruction[1]] += 1
        return found


def machine_code(ptx: str, arch: str, folder: Path) -> MachineCode:
    """Assemble PTX, which ptxas has to accept."""
    source, cubin = folder / "device.ptx", folder / f"{arch}.cubin"
    source.write_text(ptx)
    registers, spilled = {}, {}
    kernel = ""
    said = assemble(source, arch, cubin)
    for line in said.splitlines():
        if entry := _ENTRY.search(line):
            kernel = entry[1]
        elif spills := _SPILLS.search(line):
            spilled[kernel] = int(spills[1]) + int(spills[2])
        elif used := _REGISTERS.search(line):
            registers[kernel] = int(used[1])
    return MachineCode(cubin, said, registers, spilled)


def has(opcodes: Counter[str], name: str) -> bool:
    """Whether an instruction occurs with any modifiers: `LDSM` finds `LDSM.16.MT88.4`."""
    return any(f"{opcode}.".startswith(f"{name}.") for opcode in opcodes)
