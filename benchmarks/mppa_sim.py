# SPDX-License-Identifier: Apache-2.0
"""The cost of the simulated MPPA on its host: launch latency, copies, opening.

`make bench-mppa_sim`. Goals: a launch in less than 100 us, copies of a MiB and more at 2 GB/s.
These are times of the simulator on this machine, not of an MPPA.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks.console import wide_console
from benchmarks.harness import Report, print_table, run_interleaved, save
from xtc.runtime import NativeUnit
from xtc.runtime.native import compile_unit
from xtc_targets.mppa import MppaDevice, MppaOptions
from xtc_targets.mppa.simulator import OWN_CSRC

ROUNDS = 30
SIZES = {"4 KiB": 1 << 12, "1 MiB": 1 << 20, "64 MiB": 1 << 26}
LAUNCH_GOAL_S = 100e-6
COPY_GOAL_BYTES_PER_S = 2e9
KERNELS = """
#include "dev.h"
void empty(const uint64_t *arguments) { (void)arguments; }
static void nothing(uint32_t pe, void *argument) { (void)pe; (void)argument; }
void fork(const uint64_t *arguments) { (void)arguments; dev_pe_launch(nothing, 0, 16); }
"""

Candidates = Mapping[str, Callable[[], None]]


def image() -> bytes:
    """Device code with an empty kernel, and a kernel that launches all PEs."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernels.c")
        source.write_text(KERNELS)
        flags = ("-fvisibility=default",)
        unit = NativeUnit("kernels.so", "library", (source,), (OWN_CSRC,), flags=flags)
        return compile_unit(unit, Path(folder)).read_bytes()


def launches(device: MppaDevice) -> Candidates:
    """Ways to run a kernel, and for comparison a call that only queries the driver."""
    module = device.load_module(image())
    empty, fork = (device.get_module_function(module, name) for name in ("empty", "fork"))
    queue = device.queue()

    def through_a_queue() -> None:
        queue.launch(empty, ())
        queue.wait()

    def hundred_in_a_queue() -> None:
        for _ in range(100):
            queue.launch(empty, ())
        queue.wait()

    return {
        "question to the driver": lambda: device.memory_info() and None,
        "empty kernel on 5 clusters": lambda: device.launch(empty),
        "fork and join of 5 x 16 PEs": lambda: device.launch(fork),
        "empty kernel through a queue": through_a_queue,
        "100 empty kernels in a queue": hundred_in_a_queue,
    }


def copies(device: MppaDevice, nbytes: int) -> Candidates:
    """Copies in both directions, and for comparison a copy by NumPy."""
    data, other = np.ones(nbytes, np.uint8), np.ones(nbytes, np.uint8)
    address = device.memory_allocate(nbytes)
    return {
        "NumPy": lambda: np.copyto(other, data),
        "to the device": lambda: device.memory_copy_to(address, data.data),
        "from the device": lambda: device.memory_copy_from(other.data, address),
    }


def opening() -> Candidates:
    """Opening and closing a device."""

    def open_and_close() -> None:
        with MppaDevice() as device:
            device.init_device()

    return {"open and close": open_and_close}


def verdict(what: str, value: float, goal: float, better: str) -> None:
    """Print one line with the median and its goal."""
    met = value < goal if better == "below" else value >= goal
    wide_console().print(
        f"{what}: {value:.3g}, goal {better} {goal:.3g}: {'met' if met else 'missed'}"
    )


def run(name: str, candidates: Candidates) -> Report:
    """Measure, print and save one comparison; the first candidate is the baseline."""
    report = run_interleaved(
        name, candidates, rounds=ROUNDS, baseline=next(iter(candidates)), min_repeat_ms=2
    )
    print_table(report)
    save(report, Path(f"out/bench-{name.replace(' ', '-')}.json"))
    return report


def main() -> None:
    """Print the tables, compare medians with goals, and save the reports."""
    with MppaDevice(MppaOptions()) as device:
        report = run("mppa_sim launch", launches(device))
        for name in ("empty kernel on 5 clusters", "empty kernel through a queue"):
            verdict(f"{name}, s", report.timings[name].median, LAUNCH_GOAL_S, "below")
        for size, nbytes in SIZES.items():
            report = run(f"mppa_sim copy {size}", copies(device, nbytes))
            for name in ("to the device", "from the device") if nbytes >= 1 << 20 else ():
                rate = nbytes / report.timings[name].median
                verdict(f"{size} {name}, bytes/s", rate, COPY_GOAL_BYTES_PER_S, "at least")
    run("mppa_sim open", opening())


if __name__ == "__main__":
    main()
