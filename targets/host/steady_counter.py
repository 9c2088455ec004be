# SPDX-License-Identifier: Apache-2.0
"""The processor counter that a program can read without a system call, if its rate is constant."""

from __future__ import annotations

from pathlib import Path

from xtc.codegen.llvm import Machine
from xtc.codegen.llvm.triple import split

_COUNTERS = {
    # RDTSC measures time if its rate is the same in all states of the processor: Intel, Software
    # Developer's Manual, volume 3, Invariant TSC.
    "x86_64": "tsc",
    # CNTVCT_EL0 has a constant rate: Arm, Architecture Reference Manual, The Generic Timer.
    "aarch64": "cntvct",
}
_FLAGS = {"constant_tsc", "nonstop_tsc"}  # Linux's names for the invariant counter of x86
_CPU_INFO = Path("/proc/cpuinfo")


def steady_counter(machine: Machine, cpu_info: Path = _CPU_INFO) -> str:
    """The name of the counter; "" if a program must ask the system for the time.

    On x86 it is used only if Linux reports it as invariant for this machine in `cpu_info`.
    """
    words = split(machine.triple)
    if words.architecture == "x86_64" and not _is_invariant(cpu_info):
        return ""
    return _COUNTERS.get(words.architecture, "")


def _is_invariant(cpu_info: Path) -> bool:
    try:
        lines = cpu_info.read_text().splitlines()
    except OSError:
        return False
    flags = next((line for line in lines if line.startswith("flags")), "")
    return set(flags.split()) >= _FLAGS
