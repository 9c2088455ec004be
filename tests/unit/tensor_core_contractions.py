# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of matmuls on tensor cores: graphs, GPUs with few SMs, event counts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import MappingProxyType
from weakref import WeakKeyDictionary

import pytest

import xtc
import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.tile import config
from xtc_targets.nvgpu import NvgpuDevice, description, options, tile_support

EVENTS = ("MMA_F16", "MMA_BF16", "MMA_TF32")


@dataclasses.dataclass(frozen=True)
class Shape:
    """The sizes of a matmul, transposed operands, and leading dimensions of both."""

    m: int
    n: int
    k: int
    transpose_a: bool = False
    transpose_b: bool = False
    batch_a: tuple[int, ...] = ()
    batch_b: tuple[int, ...] = ()


def matmul_graph(
    shape: Shape, dtype: str, then: Callable[[Tensor], Tensor] | None = None
) -> xtc.Graph:
    """A matmul and its epilogue."""
    rows = (shape.k, shape.m) if shape.transpose_a else (shape.m, shape.k)
    columns = (shape.n, shape.k) if shape.transpose_b else (shape.k, shape.n)
    a = O.tensor((*shape.batch_a, *rows), dtype, name="A")
    b = O.tensor((*shape.batch_b, *columns), dtype, name="B")
    with O.graph(name="product") as graph:
        c = O.matmul(a, b, transpose_a=shape.transpose_a, transpose_b=shape.transpose_b, name="C")
        if then is not None:
            then(c)
    return graph.graph


def bias_and_relu(c: Tensor) -> Tensor:
    """The epilogue of a layer in a network."""
    bias = O.tensor(c.shape[-1:], str(c.dtype), name="bias")
    return O.relu(O.add(c, bias, name="D"), name="E")


def residual(c: Tensor) -> Tensor:
    """The end of a block: an earlier tensor is added."""
    return O.add(c, O.tensor(c.shape, str(c.dtype), name="residual"), name="E")


def with_sms(monkeypatch: pytest.MonkeyPatch, sms: int) -> None:
    """Limit GPUs to a few SMs, so that small matmuls get large tiles."""
    machines = {
        arch: dataclasses.replace(machine, sms=sms)
        for arch, machine in description.MACHINES.items()
    }
    monkeypatch.setattr(options, "MACHINES", MappingProxyType(machines))
    uncached = tile_support.tile_support.__wrapped__
    monkeypatch.setattr(tile_support, "tile_support", uncached)
    monkeypatch.setattr(config, "_supports", WeakKeyDictionary())


@contextmanager
def counted(device: NvgpuDevice) -> Iterator[dict[str, int]]:
    """The events in the block, available after it."""
    found: dict[str, int] = {}
    before = device.counters()
    yield found
    after = device.counters()
    found.update({name: int(after[name] - before[name]) for name in after})
