# SPDX-License-Identifier: Apache-2.0
"""Link a network into firmware in C, and run the firmware on a simulated board.

The clang in the package ziglang compiles the firmware; any compiler and linker for the core would
do. Run as: python -m examples.embedded.firmware
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import xtc
import xtc.ops as O
from xtc.graph.graph import Graph
from xtc_targets.embedded import EmbeddedBoard
from xtc_targets.embedded.link.elf import read_object
from xtc_targets.embedded.link.executable import executable
from xtc_targets.embedded.link.linker import Layout, link
from xtc_targets.embedded.support import support_objects

BOARD = "nucleo-l4r5zi"
FIRMWARE = Path(__file__).with_name("firmware.c")
CLANG = (sys.executable, "-m", "ziglang", "cc", "-target", "thumb-freestanding-eabihf")
FLAGS = ("-mcpu=cortex_m4+vfp4d16sp", "-O2", "-ffreestanding", "-fno-sanitize=all", "-c")


def network() -> Graph:
    """A classifier of sixteen sensor readings into four classes."""
    weights = np.random.default_rng(0).standard_normal((16, 4)).astype(np.float32)
    with O.graph(name="classify") as gb:
        x = O.tensor((1, 16), name="x")
        O.softmax(O.matmul(x, O.tensor((16, 4), const=weights)), name="y")
    return gb.graph


def image(folder: Path) -> bytes:
    """The firmware with the network, linked for the board."""
    with xtc.compile(network(), "embedded", board=BOARD) as module:
        module.save(folder / "classify")
    compiled = folder / "firmware.o"
    include = f"-I{folder / 'classify'}"
    subprocess.run([*CLANG, *FLAGS, include, FIRMWARE, "-o", compiled], check=True)  # noqa: S603
    library = ("classify/classify.o", "classify/classify_constants.o")
    objects = [read_object((folder / name).read_bytes()) for name in ("firmware.o", *library)]
    with EmbeddedBoard(BOARD) as board:
        machine = board.description
    layout = Layout(machine.flash, machine.ram, stack_bytes=2048)
    objects += support_objects(machine.core)
    return executable(link(objects, layout, ["xtc_vectors", "xtc_entry"]), "xtc_reset")


def run(readings: np.ndarray) -> int:
    """The class that the firmware chooses."""
    with tempfile.TemporaryDirectory() as folder, EmbeddedBoard(BOARD) as board:
        board.flash(image(Path(folder)))
        board.write("sensor", readings.astype(np.int32).tobytes())
        board.run()
        return int(np.frombuffer(board.read("chosen"), np.int32)[0])


if __name__ == "__main__":
    values = np.random.default_rng(1).integers(-128, 128, 16)
    print(f"the firmware chose class {run(values)}")
