# SPDX-License-Identifier: Apache-2.0
"""The counter that a program can read without the system, where it counts time."""

from __future__ import annotations

from pathlib import Path

from xtc.codegen.llvm import Machine
from xtc.codegen.llvm.triple import split

_COUNTERS = {
    # RDTSC counts time where its rate is the same in all states of the processor: Intel, Software
    # Developer's Manual, volume 3, Invariant TSC.
    "x86_64": "tsc",
    # CNTVCT_EL0, of constant rate: Arm, Architecture Reference Manual, The Generic Timer.
    "aarch64": "cntvct",
}
_FLAGS = {"constant_tsc", "nonstop_tsc"}  # as Linux names the invariant counter of x86
_CPU_INFO = Path("/proc/cpuinfo")


def steady_counter(machine: Machine, cpu_info: Path = _CPU_INFO) -> str:
    """The name of the counter; "" where a program has to ask the system for the time.

    An x86 processor's counter counts time if Linux says so of this machine in `cpu_info`.
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
