# SPDX-License-Identifier: Apache-2.0
"""Random operators on machines with little memory, with many partial tiles, agree with NumPy."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from random import Random
from types import MappingProxyType
from typing import Any, Literal

import pytest
from hypothesis import settings

import xtc
import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc_targets.mppa import MppaDevice, MppaOptions
from xtc_targets.mppa import options as mppa_options
from xtc_targets.mppa.description import KIB, MACHINES

pytestmark = pytest.mark.usefixtures("collected")
COUNT = max(10, settings().max_examples // 4)  # 500 in a long run
Make = Callable[[Random, Callable[..., Tensor], Any], Tensor]


@pytest.fixture(autouse=True)
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit kernels to 40 KiB of a cluster's memory."""
    machines = {
        name: dataclasses.replace(machine, smem_reserved_bytes=machine.smem_bytes - 40 * KIB)
        for name, machine in MACHINES.items()
    }
    monkeypatch.setattr(mppa_options, "MACHINES", MappingProxyType(machines))


def matmul(r: Random, tensor: Callable[..., Tensor], device: Any) -> Tensor:
    m, n, k = (r.randint(1, 150) for _ in range(3))
    a, b = r.random() < 0.3, r.random() < 0.3
    left = tensor("a", *((k, m) if a else (m, k)))
    right = tensor("b", *((n, k) if b else (k, n)))
    return O.matmul(left, right, transpose_a=a, transpose_b=b, name="z", device=device)


def conv2d(r: Random, tensor: Callable[..., Tensor], device: Any) -> Tensor:
    kernel, channels = r.randint(1, 4), r.randint(1, 20)
    image = tensor("x", r.randint(1, 3), r.randint(5, 40), r.randint(5, 40), channels)
    filters = tensor("f", kernel, kernel, channels, r.randint(1, 40))
    padding: Literal["same", "valid"] = r.choice(("same", "valid"))
    return O.conv2d(
        image, filters, stride=r.randint(1, 2), padding=padding, name="z", device=device
    )


def pool(r: Random, tensor: Callable[..., Tensor], device: Any) -> Tensor:
    image = tensor("x", r.randint(1, 3), r.randint(6, 50), r.randint(6, 50), r.randint(1, 30))
    return O.max_pool2d(image, r.randint(1, 3), stride=r.randint(1, 2), name="z", device=device)


def chain(r: Random, tensor: Callable[..., Tensor], device: Any) -> Tensor:
    shape = tuple(r.randint(1, 60) for _ in range(r.randint(1, 3)))
    product = O.mul(tensor("x", *shape), tensor("y", *shape), device=device)
    return O.add(product, tensor("w", *shape), name="z", device=device)


def reduction(r: Random, tensor: Callable[..., Tensor], device: Any) -> Tensor:
    shape = tuple(r.randint(1, 70) for _ in range(r.randint(2, 3)))
    axes = tuple(sorted(r.sample(range(len(shape)), r.randint(1, len(shape)))))
    return O.reduce_sum(tensor("x", *shape), axes=axes, name="z", device=device)


FAMILIES: tuple[Make, ...] = (matmul, conv2d, pool, chain, reduction)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(COUNT))
def test_a_random_operator_agrees_with_numpy(seed: int) -> None:
    r = Random(seed)  # noqa: S311  not for secrets
    options = MppaOptions(
        dma_mode="deferred",
        sim_schedule=r.choice(("sequential", "shuffled")),
        seed=seed,
        clusters=r.choice((1, 2, 5)),
        pes=r.choice((1, 3, 16)),
    )
    dtype = r.choice(("float32", "float32", "int8", "float16", "float64"))
    with MppaDevice(options) as device:

        def tensor(name: str, *shape: int) -> Tensor:
            return O.tensor(shape, dtype, name=name, device=device)

        with O.graph(name="g") as gb:
            FAMILIES[seed % len(FAMILIES)](r, tensor, device)
        code = {"double_buffer": r.random() < 0.8, "opt_level": 1}
        with xtc.compile(gb.graph, target=device, cache=False, **code) as module:
            module.check()
