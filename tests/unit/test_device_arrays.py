# SPDX-License-Identifier: Apache-2.0
"""Arrays in the memory of every target's device: values, types, lifetime."""

from __future__ import annotations

import gc

import ml_dtypes
import numpy as np
import pytest

from tests.unit.device_contract import Kernels, kernels, kind
from xtc.core.errors import UserError

__all__ = ["kernels", "kind"]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]


def test_arrays_round_trip(kernels: Kernels) -> None:
    device = kernels.device
    for values in (np.arange(6).reshape(2, 3), np.float16(2.5), np.zeros((0, 3)), [True, False]):
        with device.array(values) as array:
            assert (array.shape, array.dtype) == (np.shape(values), np.asarray(values).dtype)
            assert np.array_equal(array.numpy(), values)
            assert np.array_equal(np.asarray(array), values)
    columns = np.arange(6).reshape(2, 3).T
    assert np.array_equal(device.array(columns).numpy(), columns)
    narrow = np.array([1.5, 2], ml_dtypes.bfloat16)
    assert device.array(narrow).numpy().tolist() == [1.5, 2]
    assert device.zeros((2, 2), "int8").numpy().tolist() == [[0, 0], [0, 0]]
    assert repr(device.empty(3, "float32")) == f"<device array 3xfloat32 on {device.device_name}>"
    with pytest.raises(UserError, match="unknown element type"):
        device.array(["text"])
    with pytest.raises(UserError, match="negative"):
        device.empty((2, -1), "float32")


class Foreign:
    """An array of another library, which supports only DLPack."""

    def __init__(self, array: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> None:
        self.array = array

    def __dlpack__(self, **options: object) -> object:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def test_arrays_of_other_libraries_are_accepted(kernels: Kernels) -> None:
    values = np.arange(3, dtype=np.float32)
    assert kernels.device.array(Foreign(values)).numpy().tolist() == [0, 1, 2]
    with pytest.raises(UserError, match="unknown element type"):
        kernels.device.array(object())
    with pytest.raises(UserError, match="a value of type list cannot be read as an array"):
        kernels.device.array([[1, 2], [3]])


def test_an_array_is_written_from_one_of_equal_type(kernels: Kernels) -> None:
    with kernels.device.zeros((2, 2), "float32") as array:
        array.write(np.eye(2, dtype=np.float32))
        assert np.array_equal(array.numpy(), np.eye(2))
        for wrong in (np.eye(2), np.ones(4, np.float32)):
            with pytest.raises(UserError, match="cannot be written from"):
                array.write(wrong)


def test_freed_arrays_are_refused(kernels: Kernels) -> None:
    used, _ = kernels.device.memory_info()
    array = kernels.device.zeros(4, "float32")
    array.free()
    array.free()
    with pytest.raises(UserError, match="was freed"):
        array.numpy()
    with pytest.raises(UserError, match="was freed"):
        kernels.device.launch(kernels.step, [array, 1])
    array = kernels.device.zeros(4, "float32")
    del array
    gc.collect()
    assert kernels.device.memory_info()[0] == used


def test_arrays_belong_to_their_device(kernels: Kernels) -> None:
    with kernels.kind.make() as other:
        array = other.zeros(1, "int64")
        names = f"int64 on {other.device_name}> is not on {kernels.device.device_name}"
        with pytest.raises(UserError, match=names):
            kernels.device.launch(kernels.step, [array, 1])
        other.close()
        with pytest.raises(UserError, match="was freed"):
            array.numpy()
        other.init_device()
        with pytest.raises(UserError, match="was freed"):
            array.numpy()
