# SPDX-License-Identifier: Apache-2.0
"""The choice of the counter that instrumented programs read."""

from __future__ import annotations

from pathlib import Path

import pytest

from xtc.codegen.llvm import Machine
from xtc_targets.host.steady_counter import steady_counter

_X86 = "x86_64-unknown-linux-gnu"


@pytest.mark.parametrize(
    ("triple", "flags", "counter"),
    [
        (_X86, "fpu tsc constant_tsc rep_good nonstop_tsc", "tsc"),
        (_X86, "fpu tsc constant_tsc rep_good", ""),  # stops when the core sleeps
        (_X86, "fpu tsc nonstop_tsc_s3 constant_tsc", ""),
        ("aarch64-unknown-linux-gnu", "", "cntvct"),
        ("armv7a-unknown-linux-gnueabihf", "", ""),
    ],
)
def test_a_counter_is_read_where_its_rate_is_constant(
    triple: str, flags: str, counter: str, tmp_path: Path
) -> None:
    cpu_info = tmp_path / "cpuinfo"
    cpu_info.write_text(f"processor\t: 0\nflags\t\t: {flags}\nbogomips\t: 5000\n")
    assert steady_counter(Machine.of(triple), cpu_info) == counter


def test_the_clock_is_read_if_the_counter_is_not_reported(tmp_path: Path) -> None:
    assert steady_counter(Machine.of(_X86), tmp_path / "none") == ""
