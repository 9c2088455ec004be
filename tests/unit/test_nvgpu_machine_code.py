# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's assembler accepts the kernels without spills, and generates the expected instructions
for each kind."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import xtc
import xtc.ops as O
from tests.unit.nvgpu_code import (
    ARCHITECTURES,
    MachineCode,
    gpu,
    has,
    machine_code,
    needs_nvdisasm,
    ptx_of,
)
from xtc_targets.nvgpu.description import MACHINES

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Kernel:
    """A graph of one operator on a GPU.

    Attributes:
        result: makes the operator, given how it makes an input from shape and element type, and the
            device.
        has: machine instructions that its code needs.
        lacks: those that it has no use for.
        schedule: of the result, Y; None leaves it to the target.
        options: of the target.
        by_warpgroups: whether tiles are large enough for warpgroups on sm_90a, which need other
            instructions then.
        divided: whether a warp copies for them there, in bulk.
    """

    result: Callable[[Callable[..., Any], Any], Any]
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    schedule: Callable[[xtc.Schedule], object] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    by_warpgroups: bool = False
    divided: bool = False

    def needed(self, arch: str) -> tuple[str, ...]:
        """Machine instructions that its code needs there."""
        if arch != "sm_90a" or not (self.by_warpgroups or self.divided):
            return self.has
        return DIVIDED if self.divided else WARPGROUPS

    def graph(self, device: Any) -> xtc.Graph:
        inputs: list[Any] = []

        def made(*shape: int, dtype: str = "float32") -> Any:
            inputs.append(O.tensor(shape, dtype, name=f"X{len(inputs)}", device=device))
            return inputs[-1]

        with O.graph(name="f") as graph:
            self.result(made, device)
        return graph.graph

    def ptx(self, device: Any) -> str:
        graph = self.graph(device)
        schedule = xtc.Schedule(graph)
        if self.schedule is not None:
            self.schedule(schedule)
        return ptx_of(graph, device, schedule if self.schedule else None, **self.options)


def matmul(dtype: str, size: int = 256) -> Callable[[Callable[..., Any], Any], Any]:
    return lambda new, at: O.matmul(
        new(size, size, dtype=dtype), new(size, size, dtype=dtype), name="Y", device=at
    )


def in_blocks(schedule: xtc.Schedule) -> object:
    """Tiles in shared memory for 256 threads with 16 x 4 accumulators each."""
    y = schedule["Y"]
    y.tile("i", {"i1": 128, "i2": 16}).tile("j", {"j1": 128, "j2": 4}).tile("k", {"k1": 16})
    y.interchange(["i", "j", "k", "i1", "j1", "k1", "i2", "j2"])
    y.parallelize(["i", "j", "i1", "j1"]).pack_at("k", 0).pack_at("k", 1)
    return y.unroll({"k1": 4, "i2": 16}).vectorize(["j2"])


def normalized(
    dtype: str, length: int, *, residual: bool = False
) -> Callable[[Callable[..., Any], Any], Any]:
    """A layer normalization, with an addition before and a GELU behind it if `residual`."""

    def made(new: Callable[..., Any], at: Any) -> Any:
        x, scale, shift = (new(*shape, dtype=dtype) for shape in ((8192, length), *[(length,)] * 2))
        if residual:
            x = O.add(x, new(8192, length, dtype=dtype), device=at)
        y = O.layer_norm(x, scale, shift, device=at)
        return O.gelu(y, device=at) if residual else y

    return made


def shares(dtype: str, length: int) -> Callable[[Callable[..., Any], Any], Any]:
    """The softmax of rows and a mask."""
    return lambda new, at: O.softmax(
        O.add(new(8192, length, dtype=dtype), new(length, dtype=dtype), device=at), device=at
    )


ROWS = ("LDG.E.128", "STG.E.128", "SHFL.BFLY")
SHARED = ("BAR.SYNC", "LDS.128", "STS.128", "LDG.E.128", "STG.E.128")
WARPGROUPS = ("HGMMA", "WARPGROUP.ARRIVE", "WARPGROUP.DEPBAR", "BAR.SYNC")
DIVIDED = (*WARPGROUPS, "UTMALDG.2D", "UTMASTG.2D", "SYNCS")
TENSOR = ("LDSM.16.M88.4", "LDGSTS.E.BYPASS", "BAR.SYNC", "STG.E.128")

KERNELS = {
    "relu": Kernel(lambda new, at: O.relu(new(1000), device=at), has=("LDG", "STG", "FMNMX")),
    "exp": Kernel(lambda new, at: O.exp(new(70, 33), device=at), has=("MUFU.EX2",)),
    "gelu": Kernel(lambda new, at: O.gelu(new(70, 33), device=at), has=("FFMA",)),
    "softmax": Kernel(lambda new, at: O.softmax(new(40, 50), axis=1, device=at), has=("MUFU.EX2",)),
    "layer_norm": Kernel(lambda new, at: O.layer_norm(new(40, 50), device=at), has=("MUFU",)),
    # The longest rows of a warp, of a block, and those that nothing divides.
    "softmax 1024": Kernel(shares("float32", 1024), has=(*ROWS, "MUFU.EX2"), lacks=("BAR",)),
    "softmax 16384": Kernel(shares("float32", 16384), has=(*ROWS, "MUFU.EX2", "BAR.SYNC")),
    "softmax float16 1001": Kernel(shares("float16", 1001), has=("MUFU.EX2", "SHFL.BFLY")),
    "layer_norm 1024": Kernel(normalized("float32", 1024), has=ROWS, lacks=("BAR",)),
    "layer_norm 16384": Kernel(normalized("float32", 16384), has=(*ROWS, "BAR.SYNC")),
    "layer_norm float16 8192 with what surrounds it": Kernel(
        normalized("float16", 8192, residual=True), has=ROWS
    ),
    "layer_norm bfloat16 768 with what surrounds it": Kernel(
        normalized("bfloat16", 768, residual=True), has=ROWS, lacks=("BAR",)
    ),
    "reduce_sum": Kernel(
        lambda new, at: O.reduce_sum(new(64, 500), axes=1, device=at),
        has=("FADD", "SHFL.BFLY", "LDG.E.128"),
    ),
    "transpose": Kernel(lambda new, at: O.transpose(new(64, 50), device=at), has=("LDG", "STG")),
    "conv2d": Kernel(
        lambda new, at: O.conv2d(new(1, 16, 16, 8), new(3, 3, 8, 16), device=at), has=("FFMA",)
    ),
    "max_pool2d": Kernel(
        lambda new, at: O.max_pool2d(new(1, 16, 16, 8), (2, 2), device=at), has=("FMNMX",)
    ),
    "matmul float32": Kernel(matmul("float32"), has=("FFMA", *SHARED), lacks=("HMMA",)),
    "matmul float32 2048": Kernel(matmul("float32", 2048), has=("FFMA", *SHARED), lacks=("HMMA",)),
    "matmul float64": Kernel(matmul("float64"), has=("DFMA",)),
    "matmul float32 in blocks": Kernel(
        matmul("float32"), has=("FFMA", *SHARED), lacks=("HMMA",), schedule=in_blocks
    ),
    "matmul float16": Kernel(
        matmul("float16"), has=("HMMA.16816.F32", "LDSM.16.MT88.4", *TENSOR), lacks=("HFMA2",)
    ),
    "matmul bfloat16": Kernel(
        matmul("bfloat16"), has=("HMMA.16816.F32.BF16", "LDSM.16.MT88.4", *TENSOR)
    ),
    "matmul float16 2048": Kernel(
        matmul("float16", 2048),
        has=("HMMA.16816.F32", "LDSM.16.MT88.4", *TENSOR),
        lacks=("HFMA2",),
        divided=True,
    ),
    "matmul bfloat16 1024, first operand transposed, with a residual": Kernel(
        lambda new, at: O.add(
            O.matmul(
                new(1024, 1024, dtype="bfloat16"),
                new(1024, 1024, dtype="bfloat16"),
                transpose_a=True,
                device=at,
            ),
            new(1024, 1024, dtype="bfloat16"),
            name="Y",
            device=at,
        ),
        has=("HMMA.16816.F32.BF16", "LDSM.16.MT88.4", *TENSOR[1:]),
        by_warpgroups=True,
    ),
    # Rows that are not multiples of 16 bytes: copies of 2 and of 4 bytes, each with a bounds check.
    "matmul float16 4097": Kernel(
        matmul("float16", 4097), has=("HMMA.16816.F32",), by_warpgroups=True
    ),
    "matmul float16 4098": Kernel(
        matmul("float16", 4098), has=("HMMA.16816.F32",), by_warpgroups=True
    ),
    # Rows along K of both operands: a bounds check for each element that a thread copies.
    "matmul float16 4097, second operand transposed": Kernel(
        lambda new, at: O.matmul(
            new(4097, 4097, dtype="float16"),
            new(4097, 4097, dtype="float16"),
            transpose_b=True,
            name="Y",
            device=at,
        ),
        has=("HMMA.16816.F32",),
        by_warpgroups=True,
    ),
    "matmul bfloat16, batches that nothing divides, with what follows": Kernel(
        lambda new, at: O.relu(
            O.add(
                O.matmul(
                    new(3, 515, 513, dtype="bfloat16"),
                    new(517, 515, dtype="bfloat16"),
                    transpose_a=True,
                    transpose_b=True,
                    device=at,
                ),
                new(517, dtype="bfloat16"),
                device=at,
            ),
            name="Y",
            device=at,
        ),
        has=("HMMA.16816.F32.BF16",),
        by_warpgroups=True,
    ),
    "matmul tf32": Kernel(
        matmul("float32"),
        has=("HMMA.1688.F32.TF32", *TENSOR),
        lacks=("FFMA",),
        options={"tf32": True},
    ),
    "matmul float16 with what follows": Kernel(
        lambda new, at: O.relu(
            O.add(
                O.matmul(new(512, 256, dtype="float16"), new(256, 512, dtype="float16"), device=at),
                new(512, dtype="float16"),
                device=at,
            ),
            name="Y",
            device=at,
        ),
        has=("HMMA.16816.F32", *TENSOR),
        divided=True,
    ),
    "matmul, sizes that nothing divides": Kernel(
        lambda new, at: O.matmul(new(67, 45), new(45, 31), device=at), has=("FFMA",)
    ),
}

Code = Callable[[str, str], MachineCode]


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Code:
    """Machine code of a kernel for an architecture, cached."""

    @functools.cache
    def made(name: str, arch: str) -> MachineCode:
        return machine_code(KERNELS[name].ptx(gpu(arch)), arch, tmp_path_factory.mktemp("code"))

    return made


everywhere = pytest.mark.parametrize("arch", ARCHITECTURES)
each = pytest.mark.parametrize("name", KERNELS)


@needs_nvdisasm
@everywhere
@each
def test_the_kernel_spills_nothing_and_has_its_instructions(
    name: str, arch: str, code: Code
) -> None:
    made = code(name, arch)
    assert "C75" not in made.said
    assert set(made.spilled_bytes.values()) == {0}
    assert all(used <= MACHINES[arch].registers_thread for used in made.registers.values())
    assert made.registers.keys() == made.spilled_bytes.keys() != set()
    kernel, opcodes = KERNELS[name], made.opcodes()
    assert has(opcodes, "EXIT")
    assert [opcode for opcode in kernel.needed(arch) if not has(opcodes, opcode)] == [], opcodes
    assert [opcode for opcode in kernel.lacks if has(opcodes, opcode)] == []
    assert not has(opcodes, "LDL"), "a thread's memory is slow: what it needs is in registers"


@needs_nvdisasm
def test_spills_are_detected(tmp_path: Path) -> None:
    crammed = machine_code(CRAMMED, "sm_80", tmp_path)
    assert crammed.registers == {"crammed": 24}
    assert crammed.spilled_bytes["crammed"] > 0
    assert has(crammed.opcodes(), "LDL")


_LOADED = range(64)
CRAMMED = f""".version 7.0
.target sm_80
.address_size 64
.visible .entry crammed(.param .u64 at) .maxntid 128 .maxnreg 24 {{
    .reg .b64 %at; .reg .f32 %f<{len(_LOADED)}>;
    ld.param.u64 %at, [at];
    {"".join(f"ld.volatile.global.f32 %f{i}, [%at+{4 * i}];" for i in _LOADED)}
    {"".join(f"st.volatile.global.f32 [%at+{4 * i}], %f{i};" for i in reversed(_LOADED))}
    ret;
}}"""
"""More values at once than it may have registers."""
