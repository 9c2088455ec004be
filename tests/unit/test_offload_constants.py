# SPDX-License-Identifier: Apache-2.0
"""Constants stay on every device that reads them, and views of a tensor are sent once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import xtc
import xtc.ops as O
from tests.unit.offload_support import A, counted
from xtc.graph.graph import Graph
from xtc.graph.tensor import Tensor
from xtc_targets.null import NullDevice

pytestmark = pytest.mark.slow

W = np.linspace(-1, 1, 256, dtype=np.float32).reshape(16, 16)
X_BYTES = Y_BYTES = A.nbytes


def _weighted(home: object, *readers: object) -> Graph:
    """Matmuls of X and one weight, one on each of `readers`; None is the host."""
    x = O.tensor(A.shape, name="X")
    w = O.tensor(W.shape, name="W", const=W, device=home)
    with O.graph(name="weighted") as gb:
        O.outputs(*[O.cast(O.matmul(x, w, device=at), "float64") for at in readers])
    return gb.graph


def _check(graph: Graph, *devices: NullDevice) -> None:
    """Check that a call sends only the input to each device, and copies back only the results."""
    with xtc.compile(graph) as module:
        for _ in range(2):
            before = [device.counters() for device in devices]
            results = module(A)
            for device, then in zip(devices, before, strict=True):
                now = device.counters()
                assert now["null.H2D_BYTES"] - then["null.H2D_BYTES"] == X_BYTES
                assert now["null.D2H_BYTES"] - then["null.D2H_BYTES"] == Y_BYTES
        results = results if isinstance(results, tuple) else (results,)
        for result in results:
            assert np.allclose(np.asarray(result), A @ W, rtol=1e-4)
        module.check()


def test_a_weight_without_a_device_is_resident_on_its_reader() -> None:
    with NullDevice() as device:
        _check(_weighted(None, device), device)


def test_a_weight_is_resident_on_each_device_that_reads_it() -> None:
    with NullDevice() as first, NullDevice() as second:
        for home in (None, first, second):
            _check(_weighted(home, first, second), first, second)


def test_a_device_weight_that_the_host_reads_is_on_both() -> None:
    with NullDevice() as device:
        for home in (None, device):
            _check(_weighted(home, None, device), device)


def test_a_reshaped_weight_is_resident() -> None:
    with NullDevice() as device:
        w = O.tensor((256,), name="W", const=W.ravel())
        with O.graph(name="reshaped") as gb:
            rows = O.reshape(w, W.shape)
            O.outputs(
                O.cast(O.matmul(O.tensor(A.shape, name="X"), rows, device=device), "float64"),
                O.neg(rows),
            )
        with xtc.compile(gb.graph) as module:
            module(A)
            with counted(device, launches=1, bytes_to_device=X_BYTES, bytes_from_device=Y_BYTES):
                module(A)
            module.check()


def test_views_of_a_tensor_are_sent_once() -> None:
    with NullDevice() as device:
        x = O.tensor((64,), name="X")
        with O.graph(name="views") as gb:
            rows, columns = O.reshape(x, (4, 16)), O.reshape(x, (16, 4))
            product = O.matmul(rows, columns, device=device)
            O.outputs(O.cast(product, "float64"), O.neg(rows), O.neg(columns))
        with xtc.compile(gb.graph) as module:
            module(A.ravel())
            with counted(device, launches=1, bytes_to_device=256, bytes_from_device=64):
                module(A.ravel())
            module.check()


def test_a_weight_packed_for_the_host_is_also_on_the_device() -> None:
    x = O.tensor((8, 300), name="X")
    w = O.tensor((1100, 300), name="W", const=np.ones((1100, 300), np.float32))
    with NullDevice() as device:
        with O.graph(name="packed") as gb:
            O.outputs(*[O.matmul(x, w, transpose_b=True, device=at) for at in (None, device)])
        with xtc.compile(gb.graph) as module:
            module.check()


def _sliced(device: NullDevice, part: Callable[[Tensor], Tensor], shape: tuple[int, ...]) -> None:
    """Check that a call sends only the operand that is added to a slice of a constant."""
    x = O.tensor(shape, name="X")
    with O.graph(name="sliced") as gb:
        w = O.tensor(W.shape, name="W", const=W)
        O.outputs(O.cast(O.add(part(w), x, device=device), "float64"))
    with xtc.compile(gb.graph) as module:
        values = np.ones(shape, np.float32)
        module(values)
        with counted(
            device, launches=1, bytes_to_device=values.nbytes, bytes_from_device=values.nbytes
        ):
            module(values)
        module.check()


def test_slices_of_a_weight_are_resident_on_their_readers() -> None:
    with NullDevice() as device:
        _sliced(device, lambda w: O.slice(w, (0, 0), (4, 16)), (4, 16))
        _sliced(device, lambda w: O.slice(w, (4, 2), (16, 10), (2, 1)), (6, 8))
        _sliced(device, O.transpose, (16, 16))
        _sliced(device, lambda w: O.reshape(O.slice(w, (8, 0), (16, 16)), (4, 32)), (4, 32))


def test_a_weight_and_its_slices_are_resident_on_two_devices() -> None:
    with NullDevice() as first, NullDevice() as second:
        x = O.tensor((4, 16), name="X")
        w = O.tensor(W.shape, name="W", const=W)
        with O.graph(name="parts") as gb:
            O.outputs(
                O.cast(O.matmul(x, w, device=first), "float64"),
                O.cast(O.add(x, O.slice(w, (0, 0), (4, 16)), device=first), "float64"),
                O.cast(O.add(x, O.slice(w, (0, 0), (4, 16)), device=second), "float64"),
                O.neg(w),
            )
        with xtc.compile(gb.graph) as module:
            module(A)
            before = [device.counters()["null.H2D_BYTES"] for device in (first, second)]
            module(A)
            after = [device.counters()["null.H2D_BYTES"] for device in (first, second)]
            assert [now - was for now, was in zip(after, before, strict=True)] == [X_BYTES] * 2
            module.check()


def test_a_reshape_placed_on_a_device_transfers_nothing() -> None:
    with NullDevice() as device, NullDevice() as other:
        x = O.tensor((16, 4), name="X", device=device)
        with O.graph(name="shapes") as gb:
            O.outputs(O.exp(x), O.neg(O.reshape(x, (64,), device=other)))
        with xtc.compile(gb.graph) as module:
            values = device.array(A.reshape(16, 4) / 64)
            module(values)
            with counted(device, bytes_from_device=256), counted(other):
                module(values)
            module.check()


def test_an_idle_device_gets_no_command() -> None:
    with NullDevice() as first, NullDevice() as second:
        x = O.tensor((16,), name="X", device=second)
        with O.graph(name="idle") as gb:
            O.exp(O.mul(O.reshape(x, (4, 4), device=first), 2))
        with xtc.compile(gb.graph) as module:
            module.check()


@pytest.mark.parametrize(
    "given",
    [
        lambda w, at: O.transpose(w, (0, 1), device=at),
        lambda w, at: O.pad(w, [(0, 0), (0, 0)], device=at),
        lambda w, at: O.reshape(w, (-1,), device=at),
        lambda w, at: O.transpose(w[3, 4], device=at),
        lambda w, at: O.pad(O.tensor((), const=np.float32(3)), [], device=at),
        lambda w, at: O.transpose(O.tensor((), const=np.float32(3), device=at), device=at),
    ],
)
def test_a_constant_result_on_a_device_is_copied_within_it(
    given: Callable[[Tensor, NullDevice], Tensor],
) -> None:
    with NullDevice() as device:
        w = O.tensor(W.shape, name="W", const=W)
        with O.graph(name="given") as gb:
            O.outputs(given(w, device), O.exp(w))
        with xtc.compile(gb.graph) as module:
            before = device.counters()
            module()
            after = device.counters()
            assert after["null.H2D_BYTES"] == before["null.H2D_BYTES"]
            assert after["null.D2H_BYTES"] == before["null.D2H_BYTES"]
            module.check()
