# SPDX-License-Identifier: Apache-2.0
"""Checks for all simulated accelerators: no leaks, errors are reported, and searches end.

The tests of each machine provide the failing kernels.
"""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing

import numpy as np
import psutil
import pytest

import xtc
import xtc.ops as O
from tests.unit.offload_support import A, B, matmul_graph
from xtc.core.errors import DeviceError, DeviceLost, DeviceMemoryError
from xtc.graph.graph import Graph
from xtc.runtime import DriverDevice

MEBIBYTE = 1 << 20
Array = np.ndarray
Fault = Callable[[DriverDevice], None]
"""Ends a device."""


def children() -> int:
    """The child processes of this process, including simulators."""
    return len(psutil.Process().children(recursive=True))


def check_out_of_memory_leaks_nothing(device: DriverDevice, times: int) -> None:
    """`device` has 2 MiB, too few for a call of the graph."""
    x = O.tensor((512, 256), name="X")  # half a mebibyte
    with O.graph(name="big") as gb:
        O.relu(x, name="Y", device=device)
    values = np.ones((512, 256), np.float32)
    with xtc.compile(gb, device) as module:
        with device.empty(MEBIBYTE, "int8"):
            used, files = device.memory_info()[0], psutil.Process().num_fds()
            what = f"{device.device_name}: cannot allocate 524288"
            for _ in range(times):
                with pytest.raises(DeviceMemoryError, match=what) as said:
                    module(values)
                assert said.value.notes[0].endswith(" of 2097152 bytes are free")
                assert device.memory_info()[0] == used
            assert psutil.Process().num_fds() == files
        np.testing.assert_array_equal(module(values).numpy(), values)


def check_a_dead_device_is_reopened(
    device: DriverDevice, faults: Sequence[Fault], times: int
) -> None:
    """Each fault in turn takes down the device of a loaded module."""
    for number in range(times):
        with xtc.compile(matmul_graph(device, weight=True)) as module:
            np.testing.assert_allclose(module(A).numpy(), A @ B)
            faults[number % len(faults)](device)
            with pytest.raises(DeviceLost):
                module(A)
            device.init_device()
            with pytest.raises(DeviceLost, match="compile or load the module again"):
                module(A)
        assert device.memory_info()[0] == 0


def kill_the_simulator(device: DriverDevice) -> None:
    """Kill the simulator, as the system does when memory is short; one device is open."""
    name = f"{device.target_name}_sim"
    running = [child for child in psutil.Process().children() if child.name() == name]
    (simulator,) = [process for process in running if process.status() != psutil.STATUS_ZOMBIE]
    simulator.send_signal(signal.SIGKILL)
    while simulator.status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.001)


def layers(device: DriverDevice) -> Graph:
    """Contractions, rows and elementwise operators on 70x96 and 96x50 elements, larger than tiles
    and blocks."""
    x = O.tensor((70, 96), name="X")
    w = O.tensor((96, 50), name="W", device=device)
    with O.graph(name="layers") as gb:
        y = O.relu(O.matmul(x, w, device=device), device=device)
        O.outputs(O.softmax(y, axis=1, name="S", device=device), O.exp(y, name="E"))
    return gb.graph


def check_order_changes_no_result(devices: Iterable[DriverDevice]) -> None:
    """Check that devices with different execution orders give the same bits; closes them."""
    rng = np.random.default_rng(0)
    x, w = rng.random((70, 96), np.float32), rng.random((96, 50), np.float32)
    first: list[Array] = []
    for device in devices:
        with closing(device), xtc.compile(layers(device), device) as module:
            result = [np.asarray(array) for array in module(x, device.array(w))]
        first = first or result
        for actual, expected in zip(result, first, strict=True):
            np.testing.assert_array_equal(actual, expected)
    np.testing.assert_allclose(first[1], np.exp(x @ w), rtol=1e-4)


Candidate = Callable[[], Array]
"""Computes something on a device that is open and has nothing in it."""


def check_only_correct_candidates_are_ranked(
    device: DriverDevice,
    kinds: Mapping[str, Candidate],
    expected: Array,
    failures: Mapping[str, type[DeviceError]],
    cost: Callable[[], float],
    count: int,
) -> None:
    """Search over candidates that crash, never end or give wrong results.

    Candidates whose name begins with "right" are correct and are ranked by their cost. `failures`
    has the status of the others, by default "wrong".
    """

    def outcome_of(kind: str) -> float | str:
        device.init_device()
        before = cost()
        try:
            result = kinds[kind]()
        except DeviceError as error:
            return type(error).__name__
        if not np.allclose(result, expected, rtol=1e-4, atol=1e-4):
            return "wrong"
        return cost() - before

    drawn = random.Random(11).choices(list(kinds), k=count)  # noqa: S311  data of a test
    found = [(outcome_of(kind), kind) for kind in drawn]
    device.init_device()
    assert device.memory_info()[0] == 0
    ranked = sorted(entry for entry in found if isinstance(entry[0], float))
    assert [kind for _, kind in ranked] == sorted(k for k in drawn if k.startswith("right"))
    ends = {kind: failures[kind].__name__ if kind in failures else "wrong" for kind in kinds}
    failed = Counter(entry for entry in found if isinstance(entry[0], str))
    assert failed == Counter((ends[k], k) for k in drawn if not k.startswith("right"))
