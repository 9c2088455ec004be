# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of boards: small programs, and images from LLVM IR."""

from __future__ import annotations

import numpy as np

import xtc.ops as O
from xtc.codegen.llvm import compile_ir
from xtc.graph.graph import Graph
from xtc_targets.embedded.build import RESET
from xtc_targets.embedded.link.elf import read_object
from xtc_targets.embedded.link.executable import executable
from xtc_targets.embedded.link.linker import Layout, link
from xtc_targets.embedded.options import description_of
from xtc_targets.embedded.support import support_objects

BOARDS = ("nucleo-l4r5zi", "nucleo-h7a3", "nucleo-g0b1", "qemu-virt")
"""One of each kind of core: M4, M7, M0+ and AArch64."""
ALL_BOARDS = (*BOARDS, "nrf5340", "qemu-virt-a76")
"""And M33, and AArch64 with dot products."""


def network() -> Graph:
    """A convolution, a pooling, a matmul and a softmax, with weights."""
    rng = np.random.default_rng(0)

    def weights(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) / 8).astype(np.float32)

    x = O.tensor((1, 6, 6, 3), name="x")
    with O.graph(name="net") as gb:
        c = O.conv2d(x, O.tensor((3, 3, 3, 4), const=weights(3, 3, 3, 4)), padding="same", name="c")
        p = O.max_pool2d(O.relu(c, name="r"), 2, stride=2, name="p")
        flat = O.reshape(p, (1, 36))
        O.softmax(O.matmul(flat, O.tensor((36, 5), const=weights(36, 5)), name="m"), name="s")
    return gb.graph


def image_of(
    ir: str, board: str = "nucleo-l4r5zi", stack_bytes: int = 1024, platform: str = "sim"
) -> bytes:
    """An image whose entry is `@xtc_entry` of this LLVM IR."""
    description = description_of(board, platform)
    code = compile_ir(ir, description.core.machine, opt=1, static=True)
    layout = Layout(description.flash, description.ram, stack_bytes)
    objects = [read_object(code), *support_objects(description.core)]
    return executable(link(objects, layout, ["xtc_vectors", "xtc_entry"]), RESET)
