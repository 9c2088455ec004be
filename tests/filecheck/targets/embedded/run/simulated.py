# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s sim | FileCheck %s
# RUN: xtc-run %s --target embedded -O board=qemu-virt-a76 --check | FileCheck %s --check-prefix=CHECKED
"""Programs run on simulated boards, with correct results on each kind of core."""

import sys

import numpy as np

import xtc
import xtc.ops as O
from xtc_targets.embedded import EmbeddedBoard

rng = np.random.default_rng(0)
with O.graph(name="net") as gb:
    x = O.tensor((1, 6, 6, 8), "int8", name="x")
    w = O.tensor((3, 3, 8, 12), "int8", const=rng.integers(-128, 128, (3, 3, 8, 12), np.int8))
    O.requantize(O.conv2d(x, w, padding=1), 0.001, zero_point=3, name="y")

graph = gb.graph


def main(platform: str) -> None:
    """Run the network on a board of each kind of core."""
    for name in (
        "nucleo-l4r5zi",
        "nrf5340",
        "disco-f746",
        "nucleo-g0b1",
        "qemu-virt",
        "qemu-virt-a76",
    ):
        with EmbeddedBoard(name, platform=platform) as board, xtc.compile(graph, board) as module:
            module.check()
            print(name, platform, int(board.counters()["embedded.INSTRUCTIONS"]) > 1000)


if __name__ == "__main__":
    main(sys.argv[1])

# CHECK: nucleo-l4r5zi sim True
# CHECK: nrf5340 sim True
# CHECK: disco-f746 sim True
# CHECK: nucleo-g0b1 sim True
# CHECK: qemu-virt sim True
# CHECK: qemu-virt-a76 sim True
# CHECKED: check y: all 432 elements agree; rtol 0, atol 0
