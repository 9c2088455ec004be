# SPDX-License-Identifier: Apache-2.0
"""Arguments and results of a compiled function: suitable arrays are used in place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.core.errors import UserError
from xtc.driver.arguments import ALIGNMENT, aligned_empty, read_array

Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def matmul() -> Iterator[xtc.Module]:
    """C = A @ B of int32, so that results are exact."""
    a, b = O.tensor((3, 4), "int32", name="A"), O.tensor((4, 2), "int32", name="B")
    with O.graph(name="product") as gb:
        O.matmul(a, b, name="C")
    with xtc.compile(gb.graph) as module:
        yield module


@pytest.fixture(scope="module")
def pair() -> Iterator[xtc.Module]:
    """P = relu(X) and Q = relu(Y)."""
    x, y = O.tensor((4,), name="X"), O.tensor((2, 2), name="Y")
    with O.graph(name="pair") as gb:
        O.outputs(O.relu(x, name="P"), O.relu(y, name="Q"))
    with xtc.compile(gb.graph) as module:
        yield module


A = np.arange(12, dtype=np.int32).reshape(3, 4)
B = np.arange(8, dtype=np.int32).reshape(4, 2) - 3
C = A @ B
P, Q = np.array([-1, 2, -3, 4], np.float32), np.array([[1, -2], [3, -4]], np.float32)


def unaligned(array: Array) -> Array:
    """The same array at an odd address."""
    raw = np.empty(array.nbytes + 1, np.uint8)
    start = 1 - raw.ctypes.data % 2
    view: Array = raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    view[...] = array
    assert not view.flags.aligned
    return view


def read_only(array: Array) -> Array:
    """A copy that cannot be written."""
    copy: Array = array.copy()
    copy.flags.writeable = False
    return copy


class Exported:
    """A foreign tensor that only DLPack can export."""

    def __init__(self, array: Array, device: tuple[int, int] = (1, 0)) -> None:
        self._array = array
        self._device = device

    def __dlpack__(self, **options: Any) -> Any:
        if self._device != (1, 0):
            raise BufferError("the memory is on another device")
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device


class Interfaced:
    """A foreign tensor with NumPy's older protocol."""

    def __init__(self, array: Array) -> None:
        self._array = array
        self.__array_interface__ = array.__array_interface__


class TestInputs:
    @pytest.mark.parametrize(
        "change",
        [
            np.asfortranarray,
            unaligned,
            read_only,
            Exported,
            Interfaced,
            lambda array: np.repeat(array, 2, axis=1)[:, ::2],
            lambda array: array[::-1].copy()[::-1],
            lambda array: Exported(np.asfortranarray(array)),
            lambda array: array.astype(array.dtype, subok=False).view(np.ndarray),
        ],
    )
    def test_supported_arrays_are_accepted(self, matmul: xtc.Module, change: Any) -> None:
        np.testing.assert_array_equal(matmul(change(A), change(B)), C)

    def test_inputs_are_given_by_position_or_by_name(self, matmul: xtc.Module) -> None:
        for result in (matmul(A, B), matmul(A, B=B), matmul(B=B, A=A)):
            np.testing.assert_array_equal(result, C)

    @pytest.mark.slow
    def test_inputs_may_be_the_same_array(self, pair: xtc.Module) -> None:
        raw = P.copy()
        p, q = pair(raw, raw.reshape(2, 2))
        np.testing.assert_array_equal(p, q.reshape(4))

    def test_dense_inputs_are_not_copied(self, matmul: xtc.Module) -> None:
        argument = matmul.artifact.manifest.inputs[0]
        for given in (A, read_only(A), Exported(A), Interfaced(A)):
            array = read_array(given, argument)
            source = given if isinstance(given, np.ndarray) else given._array
            assert array.ctypes.data == source.ctypes.data

    def test_strided_and_unaligned_inputs_are_copied(self, matmul: xtc.Module) -> None:
        argument = matmul.artifact.manifest.inputs[0]
        for given in (unaligned(A), np.asfortranarray(A), Exported(np.asfortranarray(A))):
            array = read_array(given, argument)
            assert array.flags.aligned
            assert array.flags.c_contiguous
            np.testing.assert_array_equal(array, A)

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            (A.astype(np.int64), "'A' is int32, not int64"),
            (A.astype(np.float32), "'A' is int32, not float32"),
            (A.astype(">i4"), "'A' is int32, not >i4 in the other byte order"),
            (A.tolist(), "'A' is int32, not int64"),
            (A.T, r"'A' has shape \(3, 4\), not \(4, 3\)"),
            (A[0], r"'A' has shape \(3, 4\), not \(4,\)"),
            (A[None], r"'A' has shape \(3, 4\), not \(1, 3, 4\)"),
            (np.int32(1), r"'A' has shape \(3, 4\), not \(\)"),
            (object(), "'A' is int32, not object"),
            (None, "'A' is int32, not object"),
            ([[1], [2, 3]], "input 'A' of type list cannot be read as an array"),
            (Exported(A, (2, 0)), "input 'A' of type Exported cannot be read as an array"),
        ],
    )
    def test_unsupported_arrays_are_refused(
        self, matmul: xtc.Module, wrong: Any, message: str
    ) -> None:
        with pytest.raises(UserError, match=message):
            matmul(wrong, B)

    def test_the_conversion_in_the_hint_works(self, matmul: xtc.Module) -> None:
        with pytest.raises(UserError) as failure:
            matmul(A.astype(">i4"), B)
        assert failure.value.hints == ("convert it: array.astype('int32')",)

    def test_a_tensor_on_a_device_is_not_copied_silently(self, matmul: xtc.Module) -> None:
        with pytest.raises(UserError) as failure:
            matmul(Exported(A, (2, 0)), B)
        assert "move it to host memory" in failure.value.hints[0]

    @pytest.mark.parametrize(
        ("args", "named", "message"),
        [
            ((), {}, "'product' is called without 'A', 'B'"),
            ((A,), {}, "'product' is called without 'B'"),
            ((), {"B": B}, "'product' is called without 'A'"),
            ((A, B, B), {}, r"'product' takes 2 arrays \(A, B\), not 3"),
            ((A, B), {"D": B}, "'product' has no input 'D'"),
            ((A, B), {"C": C}, "'product' has no input 'C'"),
            ((A, B), {"A": A}, "input 'A' of 'product' is given twice"),
        ],
    )
    def test_duplicate_inputs_are_refused(
        self, matmul: xtc.Module, args: tuple[Array, ...], named: dict[str, Array], message: str
    ) -> None:
        with pytest.raises(UserError, match=message):
            matmul(*args, **named)

    def test_a_misspelled_name_is_guessed(self, pair: xtc.Module) -> None:
        with pytest.raises(UserError) as failure:
            pair(P, YY=Q)
        assert failure.value.hints == ("did you mean 'Y'?",)


class TestOutputs:
    def test_out_is_written_in_place(self, matmul: xtc.Module) -> None:
        out = np.full((3, 2), -1, np.int32)
        assert matmul(A, B, out=out) is out
        np.testing.assert_array_equal(out, C)

    def test_new_arrays_are_aligned_and_belong_to_the_caller(self, matmul: xtc.Module) -> None:
        first, second = matmul(A, B), matmul(A, B)
        assert first.ctypes.data % ALIGNMENT == 0
        assert not np.shares_memory(first, second)
        first[...] = 0
        np.testing.assert_array_equal(second, C)

    def test_results_are_exported_by_dlpack_without_a_copy(self, matmul: xtc.Module) -> None:
        result = matmul(A, B)
        assert np.from_dlpack(result).ctypes.data == result.ctypes.data

    def test_several_outputs_are_in_order(self, pair: xtc.Module) -> None:
        p, q = pair(P, Q)
        np.testing.assert_array_equal(p, [0, 2, 0, 4])
        np.testing.assert_array_equal(q, [[1, 0], [3, 0]])
        out = [np.empty_like(P), np.empty_like(Q)]
        assert pair(P, Q, out=out) is out
        np.testing.assert_array_equal(out[1], q)

    @pytest.mark.parametrize(
        ("out", "message"),
        [
            (read_only(C), "out= for 'C' is read-only"),
            (np.asfortranarray(C), "out= for 'C' is not dense in row-major order"),
            (np.zeros((3, 4), np.int32)[:, ::2], "out= for 'C' is not dense"),
            (unaligned(C), "out= for 'C' is not aligned to its elements"),
            (C.astype(np.int64), "'C' is int32, not int64"),
            (C.astype(">i4"), "in the other byte order"),
            (C.T.copy(), r"'C' has shape \(3, 2\), not \(2, 3\)"),
            (C.tolist(), "'product' writes 1 arrays; out= has 3"),
            ([C.tolist()], "out= for 'C' is list, not a NumPy array"),
            ([C, C], "'product' writes 1 arrays; out= has 2"),
            ([], "'product' writes 1 arrays; out= has 0"),
            (Exported(C), "out= for 'C' is Exported, not a NumPy array"),
        ],
    )
    def test_an_invalid_out_is_refused_and_unchanged(
        self, matmul: xtc.Module, out: Any, message: str
    ) -> None:
        before = np.array(out, copy=True) if isinstance(out, np.ndarray) else None
        with pytest.raises(UserError, match=message):
            matmul(A, B, out=out)
        if before is not None:
            np.testing.assert_array_equal(out, before)

    def test_out_must_not_be_an_input(self, pair: xtc.Module) -> None:
        x, y = P.copy(), Q.copy()
        with pytest.raises(UserError, match="out= for 'P' overlaps another argument"):
            pair(x, y, out=(x, np.empty_like(y)))
        raw = np.zeros(6, np.float32)
        with pytest.raises(UserError, match="out= for 'P' overlaps"):
            pair(raw[2:], y, out=(raw[:4], np.empty_like(y)))

    def test_outs_must_not_overlap(self, pair: xtc.Module) -> None:
        raw = np.zeros(6, np.float32)
        with pytest.raises(UserError, match="out= for 'Q' overlaps"):
            pair(P, Q, out=(raw[:4], raw[2:].reshape(2, 2)))

    def test_out_may_be_an_input_that_was_copied(self, pair: xtc.Module) -> None:
        raw = np.arange(8, dtype=np.float32)
        p, _ = pair(raw[::2], Q, out=(raw[:4], np.empty_like(Q)))
        np.testing.assert_array_equal(p, [0, 2, 4, 6])


@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (2, 3, 4)])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int8", "bool"])
def test_aligned_arrays_are_of_every_shape_and_type(shape: tuple[int, ...], dtype: str) -> None:
    array = aligned_empty(shape, dtype)
    assert (array.shape, array.dtype.name, array.ctypes.data % 64) == (shape, dtype, 0)
    array[...] = 1


class TestElementTypes:
    @pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int8", "int64"])
    def test_every_element_type_is_accepted(self, dtype: str) -> None:
        x = O.tensor((5,), dtype, name="X")
        with O.graph(name="positive") as gb:
            O.relu(x)
        values = np.array([-2, -1, 0, 1, 2]).astype(x.element.numpy)
        with xtc.compile(gb.graph, in_memory=True) as module:
            result = module(values)
        assert result.dtype == x.element.numpy
        np.testing.assert_array_equal(result.astype(int), [0, 0, 0, 1, 2])

    def test_rank_zero_is_accepted(self) -> None:
        x = O.tensor((), name="X")
        with O.graph(name="scalar") as gb:
            O.relu(x)
        with xtc.compile(gb.graph, in_memory=True) as module:
            assert module(np.float32(3)) == 3
            assert module(np.array(-3, np.float32)).shape == ()
            with pytest.raises(UserError, match="'X' is float32, not float64"):
                module(3.0)

    def test_bfloat16_of_another_library(self) -> None:
        """NumPy's DLPack import lacks bfloat16; a tensor that converts itself to an array is
        accepted."""

        class Converted(Exported):
            def __dlpack__(self, **options: Any) -> Any:
                raise BufferError("bfloat16 is not in this version of DLPack")

            def __array__(self, *_: Any, **__: Any) -> Array:
                return self._array

        x = O.tensor((2,), "bfloat16", name="X")
        with O.graph(name="positive") as gb:
            O.relu(x)
        values = np.array([-1, 1], ml_dtypes.bfloat16)
        with xtc.compile(gb.graph, in_memory=True) as module:
            np.testing.assert_array_equal(module(Converted(values)).astype(int), [0, 1])
