# SPDX-License-Identifier: Apache-2.0
"""Constants are resident wherever they are read, and views of a tensor are sent as one."""

from __future__ import annotations

import numpy as np
import pytest

import xtc
import xtc.ops as O
from tests.unit.offload_support import A, counted
from xtc.graph.graph import Graph
from xtc_targets.null import NullDevice

pytestmark = pytest.mark.slow

W = np.linspace(-1, 1, 256, dtype=np.float32).reshape(16, 16)
X_BYTES = Y_BYTES = A.nbytes


def _weighted(home: object, *readers: object) -> Graph:
    """Products of X and one weight, one on each of `readers`; None is the host."""
    x = O.tensor(A.shape, name="X")
    w = O.tensor(W.shape, name="W", const=W, device=home)
    with O.graph(name="weighted") as gb:
        O.outputs(*[O.cast(O.matmul(x, w, device=at), "float64") for at in readers])
    return gb.graph


def _check(graph: Graph, *devices: NullDevice) -> None:
    """A call sends the input to each device, and nothing else; the results come back."""
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


def test_a_weight_without_a_device_stays_where_it_is_read() -> None:
    with NullDevice() as device:
        _check(_weighted(None, device), device)


def test_a_weight_stays_on_each_device_that_reads_it() -> None:
    with NullDevice() as first, NullDevice() as second:
        for home in (None, first, second):
            _check(_weighted(home, first, second), first, second)


def test_a_weight_of_a_device_is_on_the_host_too_where_the_host_reads_it() -> None:
    with NullDevice() as device:
        for home in (None, device):
            _check(_weighted(home, None, device), device)


def test_a_reshaped_weight_stays_as_well() -> None:
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


def test_a_weight_that_the_host_packs_is_on_a_device_too() -> None:
    x = O.tensor((8, 300), name="X")
    w = O.tensor((1100, 300), name="W", const=np.ones((1100, 300), np.float32))
    with NullDevice() as device:
        with O.graph(name="packed") as gb:
            O.outputs(*[O.matmul(x, w, transpose_b=True, device=at) for at in (None, device)])
        with xtc.compile(gb.graph) as module:
            module.check()
