# SPDX-License-Identifier: Apache-2.0
"""Memory imported and exported by DLPack: used in place, and never after its release."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xtc
import xtc.ops as O
from tests.unit import dlpack_producer
from tests.unit.dlpack_producer import Ledger, Producer
from xtc.core.errors import UserError
from xtc.core.types import ELEMENT_TYPES
from xtc.driver.arguments import read_array
from xtc.interfaces.artifact import Argument

Array = np.ndarray[Any, Any]
SIZE = 256
VALUES = np.arange(SIZE, dtype=np.float32)


@pytest.fixture(scope="module")
def twice() -> Iterator[xtc.Module]:
    """Y = X + X on 256 floats."""
    with doubling() as module:
        yield module


def doubling() -> xtc.Module:
    x = O.tensor((SIZE,), name="X")
    with O.graph(name="twice") as gb:
        O.add(x, x, name="Y")
    return xtc.compile(gb.graph, in_memory=True)


def values(dtype: str, shape: tuple[int, ...]) -> Array:
    count = int(np.prod(shape))
    return (np.arange(count) % 5).astype(ELEMENT_TYPES[dtype].numpy).reshape(shape)


def times(request: pytest.FixtureRequest) -> range:
    return range(10_000 if request.config.getoption("--long") else 1_000)


def churn() -> None:
    """Allocate freed memory of the sizes in use, and overwrite it."""
    for _ in range(3):
        np.full(SIZE + 16, np.nan, np.float32)


class TestInputs:
    @pytest.mark.slow
    def test_the_owner_may_be_released_during_a_call(
        self, twice: xtc.Module, request: pytest.FixtureRequest
    ) -> None:
        for _ in times(request):
            ledger = Ledger()
            np.testing.assert_array_equal(twice(Producer(VALUES, ledger)), 2 * VALUES)
            assert (ledger.returns, ledger.outstanding) == (1, 0)

    @pytest.mark.parametrize(
        "view", [lambda a: a[::2], lambda a: a[::-1], lambda a: np.broadcast_to(a[:1], a.shape)]
    )
    def test_strided_memory_is_released_after_the_copy(
        self, twice: xtc.Module, view: Callable[[Array], Array]
    ) -> None:
        strided, ledger = view(np.arange(2 * SIZE, dtype=np.float32)), Ledger()
        given = np.ascontiguousarray(strided[:SIZE])
        np.testing.assert_array_equal(twice(Producer(strided[:SIZE], ledger)), 2 * given)
        assert ledger.outstanding == 0

    @pytest.mark.slow
    def test_a_view_keeps_the_memory(self) -> None:
        ledger, argument = Ledger(), Argument("X", "float32", (SIZE,), "input")
        array = read_array(Producer(VALUES, ledger), argument)
        part = array[10:20]
        del array
        gc.collect()
        assert ledger.outstanding == 1
        np.testing.assert_array_equal(part, VALUES[10:20])
        del part
        assert ledger.outstanding == 0

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            (VALUES.astype(np.float64), "'X' is float32, not float64"),
            (VALUES[:-1], r"'X' has shape \(256,\), not \(255,\)"),
            (VALUES.astype(ml_dtypes.bfloat16), "'X' is float32, not bfloat16"),
        ],
    )
    def test_refused_tensors_are_released(
        self, twice: xtc.Module, wrong: Array, message: str
    ) -> None:
        ledger = Ledger()
        with pytest.raises(UserError, match=message):
            twice(Producer(wrong, ledger))
        gc.collect()
        assert ledger.outstanding == 0

    def test_tensors_on_another_device_are_not_exported(self, twice: xtc.Module) -> None:
        ledger = Ledger()
        with pytest.raises(UserError, match="cannot be read as an array"):
            twice(Producer(VALUES, ledger, device=(2, 0)))
        assert ledger.outstanding == 0

    def test_outputs_are_not_imported_from_a_library(self, twice: xtc.Module) -> None:
        ledger = Ledger()
        with pytest.raises(UserError, match="out= for 'Y' is Producer, not a NumPy array"):
            twice(VALUES, out=Producer(VALUES, ledger))
        assert not ledger.loans


class TestOutputs:
    @pytest.mark.slow
    def test_results_outlive_the_module(self) -> None:
        module = doubling()
        exported = np.from_dlpack(module(VALUES))
        module.close()
        del module
        gc.collect()
        churn()
        np.testing.assert_array_equal(exported, 2 * VALUES)

    def test_a_view_outlives_the_result(
        self, twice: xtc.Module, request: pytest.FixtureRequest
    ) -> None:
        for _ in times(request):
            result = twice(VALUES)
            place = result.ctypes.data
            exported = np.from_dlpack(result)
            del result
            churn()
            assert exported.ctypes.data == place
            np.testing.assert_array_equal(exported, 2 * VALUES)


DTYPES = [name for name in ELEMENT_TYPES if name != "bfloat16"]
SHAPES = [(), (1,), (4, 6), (2, 1, 3, 2)]


class TestTypes:
    @pytest.mark.parametrize("dtype", ELEMENT_TYPES)
    @pytest.mark.parametrize("shape", SHAPES)
    def test_every_type_is_imported_without_a_copy(
        self, dtype: str, shape: tuple[int, ...]
    ) -> None:
        ledger, given = Ledger(), values(dtype, shape)
        array = read_array(Producer(given, ledger), Argument("X", dtype, shape, "input"))
        assert array.ctypes.data == ledger.loans[-1].memory.ctypes.data
        assert array.dtype == given.dtype
        np.testing.assert_array_equal(array, given)
        del array
        assert ledger.outstanding == 0

    @pytest.mark.parametrize("dtype", ELEMENT_TYPES)
    def test_every_type_is_imported_from_strided_memory(self, dtype: str) -> None:
        ledger, given = Ledger(), values(dtype, (6, 4)).T
        array = read_array(Producer(given, ledger), Argument("X", dtype, (4, 6), "input"))
        assert ledger.outstanding == 0
        assert array.flags.c_contiguous
        np.testing.assert_array_equal(array, given)

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.slow
    def test_results_are_exported_without_a_copy(self, dtype: str) -> None:
        x = O.tensor((3, 5), dtype, name="X")
        with O.graph(name="turned") as gb:
            O.transpose(x, name="Y")
        given = values(dtype, (3, 5))
        with xtc.compile(gb.graph, in_memory=True) as module:
            result = module(given)
            back = np.from_dlpack(result)
            assert back.ctypes.data == result.ctypes.data
            np.testing.assert_array_equal(back, given.T)

    def test_types_that_dlpack_lacks_are_not_exported(self) -> None:
        x = O.tensor((3, 5), "bfloat16", name="X")
        with O.graph(name="turned") as gb:
            O.transpose(x, name="Y")
        with xtc.compile(gb.graph, in_memory=True) as module:
            result = module(values("bfloat16", (3, 5)))
        with pytest.raises(BufferError):
            np.from_dlpack(result)

    def test_an_unsupported_type_is_refused(self, twice: xtc.Module) -> None:
        ledger = Ledger()
        with pytest.raises(UserError, match="'X' is float32, not uint32"):
            twice(Producer(np.arange(SIZE, dtype=np.uint32), ledger))
        assert ledger.outstanding == 0


def in_and_out(tensor: Any, array: Array, from_dlpack: Callable[[Any], Any]) -> None:
    """Check that a tensor of another library is read in place, and that a result becomes one in
    place."""
    x = O.tensor(array.shape, array.dtype.name, name="X")
    with O.graph(name="kept") as gb:
        O.reshape(x, (array.size,))
    with xtc.compile(gb.graph, in_memory=True) as module:
        argument = module.artifact.manifest.inputs[0]
        own = read_array(tensor, argument)
        assert own.ctypes.data == np.from_dlpack(tensor).ctypes.data
        result = module(tensor)
        np.testing.assert_array_equal(result, array.reshape(-1))
        exported = from_dlpack(result)
        assert np.from_dlpack(exported).ctypes.data == result.ctypes.data


class TestLibraries:
    @pytest.mark.slow
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.slow
    def test_torch(self, dtype: str) -> None:
        torch = pytest.importorskip("torch", reason="the package torch is not installed")
        array = values(dtype, (4, 6))
        in_and_out(torch.from_numpy(array.copy()), array, torch.from_dlpack)

    @pytest.mark.slow
    def test_torch_bfloat16(self) -> None:
        torch = pytest.importorskip("torch", reason="the package torch is not installed")
        tensor = torch.arange(8).to(torch.bfloat16)
        array = read_array(tensor, Argument("X", "bfloat16", (8,), "input"))
        assert array.ctypes.data == tensor.data_ptr()
        np.testing.assert_array_equal(array.astype(int), np.arange(8))

    @pytest.mark.parametrize("dtype", [name for name in DTYPES if "64" not in name])
    def test_jax(self, dtype: str) -> None:
        jax = pytest.importorskip("jax", reason="the package jax is not installed")
        array = values(dtype, (4, 6))
        in_and_out(jax.numpy.asarray(array), array, jax.dlpack.from_dlpack)

    def test_jax_bfloat16(self) -> None:
        jax = pytest.importorskip("jax", reason="the package jax is not installed")
        tensor = jax.numpy.arange(8).astype(jax.numpy.bfloat16)
        array = read_array(tensor, Argument("X", "bfloat16", (8,), "input"))
        np.testing.assert_array_equal(array.astype(int), np.arange(8))


def test_a_late_reader_would_be_detected() -> None:
    """The producer itself: released memory reads as poison."""
    ledger = Ledger()
    array = np.from_dlpack(Producer(VALUES, ledger))
    memory = array.ctypes.data
    del array
    late = np.ctypeslib.as_array((ctypes.c_uint8 * 4).from_address(memory))
    assert (late == dlpack_producer.POISON).all()
