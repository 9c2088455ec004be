# SPDX-License-Identifier: Apache-2.0
"""The workloads as data: operators at practical sizes, with their work and memory traffic.

Images are (n, h, w, c) and filters (r, s, c, f). The graph in `graphs.py` defines the meaning of
operators; each library's file in benchmarks/workers implements them with the library.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from math import prod
from typing import Any

Shape = tuple[int, ...]
BYTES = {"float32": 4, "bfloat16": 2, "int8": 1, "int32": 4}
SHORT = {"float32": "f32", "bfloat16": "bf16", "int8": "int8"}


@dataclass(frozen=True)
class Workload:
    """One operator at one size.

    Attributes:
        name: name for `--only`, such as `matmul f32 512x512x512`.
        op: the operator, by its name in `graphs.py` and the libraries' files.
        dtype: element type of the inputs.
        inputs: shapes of the inputs.
        output: shape of the output.
        flops: operations, a multiply-add counted as two; 0 for memory-bound workloads.
        bound: its limit: "compute", or the most similar memory traffic: "read", "copy" (one array
            read, one written) or "triad" (two read, one written).
        weights: the inputs that are constants.
        attributes: attributes of the operator.
        goals: the names of its goals in `goals.py`.
    """

    name: str
    op: str
    dtype: str
    inputs: tuple[Shape, ...]
    output: Shape
    flops: int = 0
    bound: str = "compute"
    weights: tuple[int, ...] = ()
    attributes: Mapping[str, int] = field(default_factory=dict)
    goals: frozenset[str] = frozenset()

    @property
    def bytes(self) -> int:
        """Bytes if every input is read once and the output is written once."""
        out = "int32" if self.dtype == "int8" else self.dtype
        read = sum(prod(shape) for shape in self.inputs) * BYTES[self.dtype]
        return read + prod(self.output) * BYTES[out]

    @property
    def unit(self) -> str:
        """The unit of its rate."""
        return "GFLOP/s" if self.bound == "compute" else "GB/s"

    @property
    def work(self) -> float:
        """The work per call: divided by seconds, it gives the rate in `unit`."""
        return (self.flops if self.bound == "compute" else self.bytes) * 1e-9

    def as_dict(self) -> dict[str, Any]:
        """JSON types, for workers and reports."""
        return {**asdict(self), "goals": sorted(self.goals), "bytes": self.bytes}


def workloads() -> Iterator[Workload]:
    """All workloads, in the order of measurement."""
    for dtype in ("float32", "bfloat16", "int8"):
        for m, n, k in (*((size, size, size) for size in CUBES), *TRANSFORMER):
            yield _matmul(dtype, m, n, k)
        yield _batched(dtype, *BATCHED)
    yield from (_conv2d(*layer) for layer in RESNET50)
    yield from (_depthwise(*layer) for layer in MOBILENET)
    yield from _memory_bound()


CUBES = (64, 128, 256, 384, 512, 1000, 1024, 2048)
# Rows, columns, K: one and eight tokens through a projection of 4096, the layers of BERT-base's
# feed-forward network, a projection of 1024.
TRANSFORMER = (
    (1, 4096, 4096),
    (8, 4096, 4096),
    (128, 768, 3072),
    (128, 3072, 768),
    (512, 1024, 1024),
)
# Heads, rows, K, columns: scores of twelve heads of 64.
BATCHED = (12, 128, 64, 128)

# Height and width, channels, filters, window, stride: the distinct convolutions of ResNet-50 with
# the stride on its 3x3 layers (K. He et al., arXiv 1512.03385, table 1), in their order.
RESNET50 = (
    (224, 3, 64, 7, 2),
    (56, 64, 64, 1, 1),
    (56, 64, 64, 3, 1),
    (56, 64, 256, 1, 1),
    (56, 256, 64, 1, 1),
    (56, 256, 128, 1, 1),
    (56, 128, 128, 3, 2),
    (28, 128, 512, 1, 1),
    (56, 256, 512, 1, 2),
    (28, 512, 128, 1, 1),
    (28, 128, 128, 3, 1),
    (28, 512, 256, 1, 1),
    (28, 256, 256, 3, 2),
    (14, 256, 1024, 1, 1),
    (28, 512, 1024, 1, 2),
    (14, 1024, 256, 1, 1),
    (14, 256, 256, 3, 1),
    (14, 1024, 512, 1, 1),
    (14, 512, 512, 3, 2),
    (7, 512, 2048, 1, 1),
    (14, 1024, 2048, 1, 2),
    (7, 2048, 512, 1, 1),
    (7, 512, 512, 3, 1),
)
# Height and width, channels, stride: the distinct 3x3 depthwise layers of MobileNet
# (A. G. Howard et al., arXiv 1704.04861, table 1).
MOBILENET = (
    (112, 32, 1),
    (112, 64, 2),
    (56, 128, 1),
    (56, 128, 2),
    (28, 256, 1),
    (28, 256, 2),
    (14, 512, 1),
    (14, 512, 2),
    (7, 1024, 1),
)


def _matmul(dtype: str, m: int, n: int, k: int) -> Workload:
    goals = {"matmul", f"cube {m}"} if m == n == k else {"matmul"}
    bound = "read" if m == 1 else "compute"
    return Workload(
        name=f"matmul {SHORT[dtype]} {m}x{k}x{n}",
        op="matmul",
        dtype=dtype,
        inputs=((m, k), (k, n)),
        output=(m, n),
        flops=2 * m * n * k,
        bound=bound,
        goals=frozenset({*goals, "gemv"} if m == 1 else goals),
    )


def _batched(dtype: str, batch: int, m: int, k: int, n: int) -> Workload:
    return Workload(
        name=f"matmul {SHORT[dtype]} {batch}x{m}x{k}x{n}",
        op="matmul",
        dtype=dtype,
        inputs=((batch, m, k), (batch, k, n)),
        output=(batch, m, n),
        flops=2 * batch * m * n * k,
        goals=frozenset({"matmul"}),
    )


def _conv2d(size: int, channels: int, filters: int, window: int, stride: int) -> Workload:
    out = (size - 1) // stride + 1  # a border of half the window keeps the size
    many = window == 3 and channels >= 64
    return Workload(
        name=f"conv f32 {size}x{size}x{channels} {window}x{window} {filters} /{stride} relu",
        op="conv2d_relu",
        dtype="float32",
        inputs=((1, size, size, channels), (window, window, channels, filters)),
        output=(1, out, out, filters),
        flops=2 * out * out * filters * channels * window * window,
        weights=(1,),
        attributes={"stride": stride, "padding": window // 2},
        goals=frozenset({"conv", "conv 3x3"} if many else {"conv"}),
    )


def _depthwise(size: int, channels: int, stride: int) -> Workload:
    out = (size - 1) // stride + 1
    return Workload(
        name=f"depthwise f32 {size}x{size}x{channels} 3x3 /{stride} relu",
        op="depthwise_relu",
        dtype="float32",
        inputs=((1, size, size, channels), (3, 3, 1, channels)),
        output=(1, out, out, channels),
        flops=2 * out * out * channels * 9,
        weights=(1,),
        attributes={"stride": stride, "padding": 1},
        goals=frozenset({"depthwise"}),
    )


def _memory_bound() -> Iterator[Workload]:
    size, f32 = 1 << 22, "float32"
    rows, wide = (1024, 1024), (512, 1024)
    yield Workload("softmax f32 1024x1024", "softmax", f32, (rows,), rows, bound="copy")
    parameters = ((wide[1],), (wide[1],))
    yield Workload(
        "layer_norm f32 512x1024", "layer_norm", f32, (wide, *parameters), wide, bound="copy"
    )
    flat, goals = (size,), frozenset({"elementwise"})
    yield Workload("chain f32 2^22", "chain", f32, (flat, flat), flat, bound="triad", goals=goals)
    yield Workload("reduce_sum f32 2^22", "reduce_sum", f32, (flat,), (), bound="read")
