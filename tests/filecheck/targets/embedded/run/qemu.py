# SPDX-License-Identifier: Apache-2.0
# REQUIRES: tool-qemu-system-arm, tool-qemu-system-aarch64
# RUN: %python %s | FileCheck %s
# RUN: xtc-run %s --target embedded -O board=nucleo-l4r5zi -O platform=qemu --check | FileCheck %s --check-prefix=CHECKED
"""QEMU and the simulator count the same instructions, within a tick of the machine's timer."""

import numpy as np

import xtc
import xtc.ops as O
from xtc_targets.embedded import EmbeddedBoard
from xtc_targets.embedded.emulated import emulator

rng = np.random.default_rng(0)
with O.graph(name="net") as gb:
    x = O.tensor((1, 6, 6, 8), "int8", name="x")
    w = O.tensor((3, 3, 8, 12), "int8", const=rng.integers(-128, 128, (3, 3, 8, 12), np.int8))
    O.requantize(O.conv2d(x, w, padding=1), 0.001, zero_point=3, name="y")

graph = gb.graph


def counted(name: str, platform: str) -> int:
    """Instructions of a run, whose result is checked."""
    with EmbeddedBoard(name, platform=platform) as board, xtc.compile(graph, board) as module:
        module.check()
        return int(board.counters()["embedded.INSTRUCTIONS"])


def main() -> None:
    """Compare both on a board of each kind of core."""
    for name in ("nucleo-l4r5zi", "nrf5340", "disco-f746", "nucleo-g0b1", "qemu-virt"):
        with EmbeddedBoard(name) as board:
            tick = emulator(board.description).tick
        print(name, abs(counted(name, "qemu") - counted(name, "sim")) <= tick)


if __name__ == "__main__":
    main()

# CHECK: nucleo-l4r5zi True
# CHECK: nrf5340 True
# CHECK: disco-f746 True
# CHECK: nucleo-g0b1 True
# CHECK: qemu-virt True
# CHECKED: check y: all 432 elements agree; rtol 0, atol 0
