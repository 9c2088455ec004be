# SPDX-License-Identifier: Apache-2.0
"""Graphs on a device with several memories: sharded and replicated data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.core.errors import ArtifactError, DeviceMemoryError, UserError
from xtc.graph.graph import Graph
from xtc_targets.null import NullDevice

MEMORIES = 3
X = np.linspace(-1, 1, 28, dtype=np.float32).reshape(7, 4)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]


@pytest.fixture
def device() -> Iterator[NullDevice]:
    with NullDevice(memory_bytes=1 << 16, memories=MEMORIES) as opened:
        yield opened


def elementwise(device: object, *, arguments: object = None, weight: bool = False) -> Graph:
    """R = relu(X + W) on `device`; `arguments` places X and R, and W may be a weight."""
    x = O.tensor((7, 4), name="X", device=arguments)
    w = O.tensor((7, 4), name="W", const=2 * X, device=device) if weight else None
    with O.graph(name="rows") as gb:
        O.relu(O.add(x, x if w is None else w, device=device), name="R", device=device)
    return gb.graph


def moved(device: NullDevice, call: object) -> tuple[int, int]:
    """Bytes to and from the device while `call` runs."""
    before = device.counters()
    call()  # type: ignore[operator]
    after = device.counters()
    names = ("null.H2D_BYTES", "null.D2H_BYTES")
    to, back = (int(after[name] - before[name]) for name in names)
    return to, back


def test_elementwise_kernels_shard_their_rows(device: NullDevice) -> None:
    with xtc.compile(elementwise(device), target=device) as module:
        module.check()
        # Each row goes to one memory; the result is gathered from all.
        assert moved(device, lambda: module(X).numpy()) == (112, 112)
        assert device.counters()["null.LAUNCHES"] % MEMORIES == 0
        assert "xtc.shards = 3" in module.ir("offloaded")
    assert device.memory_info()[0] == 0


def test_other_kernels_replicate_their_operands(device: NullDevice) -> None:
    a, b = O.tensor((4, 8), name="A"), O.tensor((8, 4), name="B")
    with O.graph(name="product") as gb:
        O.matmul(a, b, name="C", device=device)
    with xtc.compile(gb, target=device) as module:
        module.check()
        assert "xtc.shards" not in module.ir("offloaded")
        values = np.ones((4, 8), np.float32), np.ones((8, 4), np.float32)
        # Each memory has both; the result is read from one.
        assert moved(device, lambda: module(*values).numpy()) == (MEMORIES * 256, 64)


def test_weights_are_uploaded_in_shards(device: NullDevice) -> None:
    with xtc.compile(elementwise(device, weight=True), target=device) as module:
        (resident,) = module.artifact.manifest.offload.residents
        assert (resident.nbytes, resident.shard_bytes) == (112, 48)
        assert device.memory_info()[0] == MEMORIES * 48
        np.testing.assert_array_equal(module(X), np.maximum(X + 2 * X, 0))
        assert moved(device, lambda: module(X)) == (112, 0)


def test_device_arguments_are_sharded_arrays(device: NullDevice) -> None:
    with xtc.compile(elementwise(device, arguments=device), target=device) as module:
        assert [argument.shards for argument in module.artifact.manifest.arguments] == [3, 3]
        x = device.array(X, shards=3)
        before = moved(device, lambda: module(x))
        result = module(x)
        assert (before, result.shards) == ((0, 0), 3)
        np.testing.assert_array_equal(result.numpy(), np.maximum(2 * X, 0))
        with pytest.raises(UserError, match="'X' is in 3 shards, and <device array 7x4xfloat32 on"):
            module(device.array(X))
        with pytest.raises(UserError, match="in 2 shards"):
            module(device.array(X, shards=2))
        module.check()


def test_kernels_with_different_shardings_exchange_through_the_host(device: NullDevice) -> None:
    """The rows of the sum are sharded, the matmul is replicated; both are kernels of one device."""
    x = O.tensor((4, 4), name="X")
    with O.graph(name="two") as gb:
        total = O.add(x, x, device=device)
        kept = O.exp(total)  # on the host, so that the matmul is a separate function
        O.outputs(O.matmul(total, kept, name="C", device=device))
    values = np.eye(4, dtype=np.float32)
    with xtc.compile(gb, target=device) as module:
        text = module.ir("offloaded")
        assert "@two.null0.0" in text
        assert "@two.null0.1" in text
        expected = 2 * values @ np.exp(2 * values)
        np.testing.assert_allclose(module(values), expected, rtol=1e-6)
        # In: X once, the sum and its exponential to each memory. Out: the sum, the matmul.
        assert moved(device, lambda: module(values).numpy()) == (64 + 2 * MEMORIES * 64, 2 * 64)


def test_code_fits_the_number_of_memories(device: NullDevice, tmp_path: Path) -> None:
    graph = elementwise("null0")
    with xtc.compile(graph, target="null", memories=2) as module:
        module.check()
        module.save(tmp_path / "saved")
    with pytest.raises(ArtifactError, match="compiled for memories 2, and null0 has 3"):
        xtc.load(tmp_path / "saved", device)
    with pytest.raises(UserError, match="option memories=2 does not fit null0"):
        xtc.compile(graph, target=device, memories=2)


def test_a_full_memory_is_reported_and_nothing_leaks(device: NullDevice) -> None:
    with xtc.compile(elementwise(device), target=device) as module:
        with device.empty((1 << 16) - 60, "int8"):
            used = device.memory_info()[0]
            with pytest.raises(DeviceMemoryError, match="cannot allocate 48 bytes"):
                module(X)
            assert device.memory_info()[0] == used
        np.testing.assert_array_equal(module(X), np.maximum(2 * X, 0))
