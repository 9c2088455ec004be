# SPDX-License-Identifier: Apache-2.0
"""Arguments that live on a device: accepted arrays, and messages for others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import xtc
import xtc.ops as O
from tests.unit.offload_support import A, B, matmul_graph
from xtc.core.errors import UserError
from xtc.core.types import element_type
from xtc_targets.mppa import MppaDevice
from xtc_targets.null import NullDevice

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]


@pytest.fixture
def device() -> Iterator[NullDevice]:
    with NullDevice() as opened:
        yield opened


@pytest.fixture
def module(device: NullDevice) -> Iterator[xtc.Module]:
    with xtc.compile(matmul_graph(device), device) as compiled:
        yield compiled


def message(call: Callable[[], Any]) -> str:
    """The message of the user's error."""
    with pytest.raises(UserError) as failure:
        call()
    return str(failure.value)


class TestInputs:
    def test_a_host_array_is_refused_with_a_hint(self, module: xtc.Module) -> None:
        assert message(lambda: module(A, B)) == (
            "'B' lives on null0, and ndarray does not\n"
            "  note: the compiled code neither allocates nor copies it\n"
            "  hint: move it there once, before the call: null0.array(...)"
        )

    def test_other_objects_are_refused(self, module: xtc.Module) -> None:
        assert message(lambda: module(A, B.tolist())).startswith(
            "'B' lives on null0, and list does not\n"
        )
        assert message(lambda: module(A, None)).startswith(
            "'B' lives on null0, and NoneType does not\n"
        )

    def test_an_array_of_another_device_is_refused(self, module: xtc.Module) -> None:
        with NullDevice() as other:
            assert message(lambda: module(A, other.array(B))) == (
                "'B' lives on null0, and <device array 16x8xfloat32 on null1> elsewhere\n"
                "  hint: move it there: null0.array(that.numpy())"
            )

    def test_an_array_of_another_target_is_refused(self, module: xtc.Module) -> None:
        with MppaDevice() as other:
            assert "<device array 16x8xfloat32 on mppa0> elsewhere" in message(
                lambda: module(A, other.array(B))
            )

    def test_a_freed_array_is_refused(self, module: xtc.Module, device: NullDevice) -> None:
        b = device.array(B)
        b.free()
        assert message(lambda: module(A, b)) == "<device array 16x8xfloat32 on null0> was freed"

    def test_another_element_type_is_refused(self, module: xtc.Module, device: NullDevice) -> None:
        assert message(lambda: module(A, device.array(B.astype(np.float64)))) == (
            "'B' is float32, not float64\n  hint: convert it: array.numpy().astype('float32')"
        )

    def test_another_shape_is_refused(self, module: xtc.Module, device: NullDevice) -> None:
        assert message(lambda: module(A, device.array(B.T))) == (
            "'B' has shape (16, 8), not (8, 16)\n  note: nothing is broadcast or reshaped at a call"
        )

    def test_missing_arguments_are_refused(self, module: xtc.Module) -> None:
        assert "'product'" in message(lambda: module(A))

    def test_a_refused_call_copies_and_leaks_nothing(
        self, module: xtc.Module, device: NullDevice
    ) -> None:
        for _ in range(3):
            message(lambda: module(A, B))
        assert device.memory_info()[0] == 0
        assert set(device.counters().values()) == {0.0}

    def test_arguments_are_given_by_name(self, module: xtc.Module, device: NullDevice) -> None:
        np.testing.assert_allclose(module(B=device.array(B), A=A).numpy(), A @ B)

    def test_a_device_array_for_a_host_argument_is_refused(
        self, module: xtc.Module, device: NullDevice
    ) -> None:
        said = message(lambda: module(device.array(A), device.array(B)))
        assert "'A' lives on the host, and <device array 4x16xfloat32 on null" in said
        assert "every call would copy it from there" in said
        assert "copy it once with .numpy()" in said


class TestOut:
    def test_a_device_array_is_written(self, module: xtc.Module, device: NullDevice) -> None:
        c = device.empty((4, 8), "float32")
        assert module(A, device.array(B), out=c) is c
        np.testing.assert_allclose(c.numpy(), A @ B)

    def test_a_host_array_is_refused(self, module: xtc.Module, device: NullDevice) -> None:
        out = np.zeros((4, 8), np.float32)
        said = message(lambda: module(A, device.array(B), out=out))
        assert said.startswith("'C' lives on null0, and ndarray does not\n")
        assert not out.any()

    def test_a_device_array_for_an_output_on_the_host_is_refused(self, device: NullDevice) -> None:
        with xtc.compile(matmul_graph(None), device) as module:
            said = message(lambda: module(A, B, out=device.empty((4, 8), "float32")))
        assert said == "out= for 'C' is DeviceArray, not a NumPy array"

    def test_wrong_type_and_shape_are_refused(self, module: xtc.Module, device: NullDevice) -> None:
        b = device.array(B)
        doubles, transposed = device.empty((4, 8), "float64"), device.empty((8, 4), "float32")
        assert message(lambda: module(A, b, out=doubles)).startswith("'C' is float32, not float64")
        assert message(lambda: module(A, b, out=transposed)).startswith(
            "'C' has shape (4, 8), not (8, 4)"
        )

    def test_an_output_cannot_be_an_input(self, device: NullDevice) -> None:
        x = O.tensor((4, 4), name="X", device=device)
        with O.graph(name="square") as gb:
            O.matmul(x, x, name="Y", device=device)
        with xtc.compile(gb) as module:
            values = device.array(np.eye(4, dtype=np.float32))
            assert message(lambda: module(values, out=values)).startswith(
                "out= for 'Y' overlaps another argument"
            )

    def test_two_outputs_cannot_be_one_array(self, device: NullDevice) -> None:
        x = O.tensor((4, 4), name="X", device=device)
        with O.graph(name="two") as gb:
            O.outputs(O.exp(x, name="Y", device=device), O.relu(x, name="Z", device=device))
        with xtc.compile(gb) as module:
            values, out = device.array(np.eye(4, dtype=np.float32)), device.empty((4, 4), "float32")
            said = message(lambda: module(values, out=(out, out)))
            y, z = module(values, out=(out, device.empty((4, 4), "float32")))
        assert said.startswith("out= for 'Z' overlaps another argument")
        np.testing.assert_allclose(y.numpy(), np.exp(values.numpy()), rtol=1e-6)
        np.testing.assert_array_equal(z.numpy(), values.numpy())


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int8", "int32", "int64"])
def test_every_element_type_is_supported(device: NullDevice, dtype: str) -> None:
    x = O.tensor((3, 5), dtype, name="X", device=device)
    with O.graph(name="twice") as gb:
        O.add(x, x, name="Y", device=device)
    with xtc.compile(gb) as module:
        values = np.arange(15).reshape(3, 5).astype(element_type(dtype).numpy)
        doubled = module(device.array(values)).numpy()
    assert doubled.dtype == values.dtype
    np.testing.assert_array_equal(doubled.astype("f8"), 2 * values.astype("f8"))


@pytest.mark.parametrize("shape", [(), (1,), (1, 3, 1)])
def test_every_shape_is_supported(device: NullDevice, shape: tuple[int, ...]) -> None:
    x = O.tensor(shape, name="X", device=device)
    with O.graph(name="twice") as gb:
        O.add(x, x, name="Y", device=device)
    with xtc.compile(gb) as module:
        values = np.ones(shape, np.float32)
        result = module(device.array(values)).numpy()
    assert result.shape == shape
    np.testing.assert_array_equal(result, 2 * values)
