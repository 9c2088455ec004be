# SPDX-License-Identifier: Apache-2.0
"""Graphs on devices: results, and exact counts of transfers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import xtc
import xtc.ops as O
from tests.unit.offload_support import A_BYTES, B_BYTES, C_BYTES, A, B, counted, matmul_graph
from xtc.runtime import DeviceArray
from xtc_targets.mppa import MppaDevice
from xtc_targets.null import NullDevice

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]


@pytest.fixture
def device() -> Iterator[NullDevice]:
    with NullDevice() as opened:
        yield opened


class TestSignature:
    @pytest.mark.parametrize("places", range(8))
    def test_exactly_the_device_arguments_are_marked(self, places: int) -> None:
        on_a, on_b, on_c = ("null0" if places & bit else None for bit in (1, 2, 4))
        a, b = O.tensor((4, 16), name="A", device=on_a), O.tensor((16, 8), name="B", device=on_b)
        with O.graph(name="product") as gb:
            O.matmul(a, b, name="C", device=on_c)
        with xtc.compile(gb) as module:
            assert [argument.device for argument in module.artifact.manifest.arguments] == [
                on_a,
                on_b,
                on_c,
            ]
            (line,) = (line for line in module.ir().splitlines() if "@product(" in line)
            module.check(A, B)
        arguments = line.split("%arg")[1:]
        assert [("memref.on_device" in argument) for argument in arguments] == [
            on_a is not None,
            on_b is not None,
            on_c is not None,
        ]


class TestBorder:
    def test_only_host_arguments_are_copied(self, device: NullDevice) -> None:
        with xtc.compile(matmul_graph(device), device) as module:
            b = device.array(B)
            with counted(device, launches=1, bytes_to_device=A_BYTES):
                c = module(A, b)
            np.testing.assert_allclose(c.numpy(), A @ B)

    def test_device_arguments_are_not_copied(self, device: NullDevice) -> None:
        with xtc.compile(matmul_graph(device, a_device=device), device) as module:
            a, b, c = device.array(A), device.array(B), device.empty((4, 8), "float32")
            with counted(device, launches=1):
                assert module(a, b, out=c) is c
            np.testing.assert_allclose(c.numpy(), A @ B)

    def test_a_graph_without_placements_copies_inputs_in_and_outputs_out(
        self, device: NullDevice
    ) -> None:
        with xtc.compile(matmul_graph(None), device) as module:
            moved = {"null.H2D_BYTES": A_BYTES + B_BYTES, "null.D2H_BYTES": C_BYTES}
            with counted(device, launches=1, **moved):
                c = module(A, B)
            np.testing.assert_allclose(c, A @ B)

    def test_consecutive_operators_exchange_nothing_with_the_host(self, device: NullDevice) -> None:
        x = O.tensor((8, 8), name="X")
        with O.graph(name="chain") as gb:
            y = x
            for _ in range(4):
                y = O.softmax(O.matmul(y, y, device=device), axis=1, device=device)
            O.relu(y, name="Y")
        with xtc.compile(gb) as module:
            values = np.eye(8, dtype=np.float32)
            with counted(device, launches=1, bytes_to_device=256, bytes_from_device=256):
                module(values)
            module.check()

    def test_a_host_operator_between_two_others_costs_one_copy_each_way(
        self, device: NullDevice
    ) -> None:
        x = O.tensor((8, 8), name="X", device=device)
        with O.graph(name="back_and_forth") as gb:
            y = O.exp(O.matmul(x, x, device=device))
            O.add(y, x, name="Y", device=device)
        with xtc.compile(gb) as module:
            values = device.array(np.eye(8, dtype=np.float32))
            with counted(device, launches=2, bytes_to_device=256, bytes_from_device=256):
                module(values)
            module.check()

    def test_an_output_passed_to_the_next_call_is_not_copied(self, device: NullDevice) -> None:
        x = O.tensor((4, 4), name="X", device=device)
        with O.graph(name="step") as gb:
            O.add(x, x, name="Y", device=device)
        with xtc.compile(gb) as module:
            state = device.array(np.ones((4, 4), np.float32))
            with counted(device, launches=5):
                for _ in range(5):
                    state = module(state)
            np.testing.assert_array_equal(state.numpy(), 32)

    def test_a_device_argument_that_the_host_reads_is_copied_back(self, device: NullDevice) -> None:
        x = O.tensor((4, 4), name="X", device=device)
        with O.graph(name="home") as gb:
            O.relu(x, name="Y")
        with xtc.compile(gb) as module:
            values = device.array(-np.ones((4, 4), np.float32))
            with counted(device, bytes_from_device=64):
                np.testing.assert_array_equal(module(values), 0)


def test_a_kernel_may_have_many_arguments(device: NullDevice) -> None:
    parts = [O.tensor((1, 2), name=f"X{number}") for number in range(100)]
    with O.graph(name="joined") as gb:
        O.concat(*parts, axis=0, name="Y", device=device)
    with xtc.compile(gb) as module:
        module.check()


class TestWeights:
    def test_weights_are_uploaded_at_load_time(self, device: NullDevice) -> None:
        with counted(device, bytes_to_device=B_BYTES):
            module = xtc.compile(matmul_graph(device, weight=True), device)
        with module, counted(device, launches=5, bytes_to_device=5 * A_BYTES):
            for _ in range(5):
                c = module(A)
        np.testing.assert_allclose(c.numpy(), A @ B)

    def test_each_load_has_separate_weights_which_close_frees(self, device: NullDevice) -> None:
        graph = matmul_graph(device, weight=True)
        with xtc.compile(graph, device), xtc.compile(graph, device):
            assert device.memory_info()[0] == 2 * B_BYTES
        assert device.memory_info()[0] == 0

    def test_weights_of_a_graph_without_placements_are_uploaded_at_load_time(
        self, device: NullDevice
    ) -> None:
        with xtc.compile(matmul_graph(None, weight=True), device) as module:
            moved = {"null.H2D_BYTES": A_BYTES, "null.D2H_BYTES": C_BYTES}
            with counted(device, launches=1, **moved):
                module(A)

    def test_weights_without_a_device_are_uploaded_at_load_time(self, device: NullDevice) -> None:
        a, b = O.tensor((4, 16), name="A"), O.tensor((16, 8), name="B", const=B)
        with O.graph(name="product") as gb:
            O.matmul(a, b, name="C", device=device)
        with counted(device, bytes_to_device=B_BYTES):
            module = xtc.compile(gb)
        with module, counted(device, launches=2, bytes_to_device=2 * A_BYTES):
            module(A)
            module(A)


class TestResults:
    def test_a_device_result_is_a_device_array(self, device: NullDevice) -> None:
        with xtc.compile(matmul_graph(device), device) as module:
            c = module(A, device.array(B))
        assert isinstance(c, DeviceArray)
        assert c.device is device
        assert (c.shape, c.dtype) == ((4, 8), np.dtype(np.float32))

    def test_a_device_result_outlives_the_module_and_frees_itself(self, device: NullDevice) -> None:
        with xtc.compile(matmul_graph(device), device) as module:
            c = module(A, device.array(B))
        np.testing.assert_allclose(c.numpy(), A @ B)
        del c
        assert device.memory_info()[0] == 0

    def test_check_and_measure_accept_host_and_device_arrays(self, device: NullDevice) -> None:
        with xtc.compile(matmul_graph(device), device) as module:
            module.check(device.array(A), device.array(B))
            module.check(A, B)
            module.check()
            assert module.measure(A, device.array(B), repeat=2, number=1).timing.number == 1
        assert device.memory_info()[0] == 0

    def test_a_measured_call_copies_the_bytes_of_a_call(self, device: NullDevice) -> None:
        with xtc.compile(matmul_graph(device), device) as module:
            lent = {"null.H2D_BYTES": B_BYTES, "null.D2H_BYTES": C_BYTES}
            before = device.counters()["null.LAUNCHES"]
            with counted(device, launches=4, **{**lent, "null.H2D_BYTES": B_BYTES + 4 * A_BYTES}):
                module.measure(A, B, repeat=3, number=1)
            assert device.counters()["null.LAUNCHES"] - before == 4


def test_the_simulated_mppa_copies_the_same_bytes() -> None:
    with MppaDevice() as mppa, xtc.compile(matmul_graph(mppa), mppa) as module:
        b = mppa.array(B)
        before = mppa.counters()
        c = module(A, b)
        after = mppa.counters()
        np.testing.assert_allclose(c.numpy(), A @ B)
    moved = {name: after[name] - before[name] for name in after if name.endswith("_BYTES")}
    assert moved == {"mppa.H2D_BYTES": A_BYTES, "mppa.D2H_BYTES": 0, "mppa.D2D_BYTES": 0}
