# SPDX-License-Identifier: Apache-2.0
"""Tensors of types that NumPy and PyTorch lack."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.unit.tile_compatible import Total, Widened
from xtc import tile
from xtc.core.errors import UserError
from xtc.tile.ir.layout import register_layout
from xtc.tile.ir.layout.ops import spatial
from xtc.tile.types import small_type
from xtc.tile.values import packed_codes as codes

FLOATS = {
    "float8_e4m3": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float6_e3m2": ml_dtypes.float6_e3m2fn,
    "float6_e2m3": ml_dtypes.float6_e2m3fn,
    "float4_e2m1": ml_dtypes.float4_e2m1fn,
}


@pytest.mark.parametrize("name", FLOATS)
def test_casts_to_small_floats_agree_with_kernels(name: str) -> None:
    dtype, rng = getattr(tile, name), np.random.default_rng(0)
    x = (rng.standard_normal(4096) * 2.0 ** rng.integers(-18, 12, 4096)).astype(np.float32)
    expected = np.clip(x, -dtype.greatest, dtype.greatest).astype(FLOATS[name])
    found = codes.unpacked(codes.packed(x, dtype), dtype, x.shape)
    np.testing.assert_array_equal(found, expected.astype(np.float32))
    every = np.arange(1 << dtype.bits, dtype=np.uint8)
    stored = codes.packed(every, small_type(f"uint{dtype.bits}b") or tile.uint8)
    np.testing.assert_array_equal(
        codes.unpacked(stored, dtype, every.shape), every.view(FLOATS[name]).astype(np.float32)
    )


@pytest.mark.parametrize(("name", "low"), [("int1b", -1), ("int3b", -4), ("int7b", -64)])
def test_narrow_integers_are_packed_with_their_sign(name: str, low: int) -> None:
    x = np.random.default_rng(1).integers(low, -low, (24, 40)).astype(np.int32)
    tensor = tile.Tensor(tile.int32, x.shape, x).to(getattr(tile, name))
    assert tensor.storage.nbytes == x.size * tensor.dtype.bits // 8
    np.testing.assert_array_equal(tensor.values(), x)


@pytest.mark.slow
def test_a_kernel_takes_a_tensor_or_its_storage() -> None:
    x = tile.randint(-8, 8, [16, 32], tile.int4b)
    for given in (x, x.storage):
        y = np.zeros((16, 32), np.float32)
        Widened(tile.int4b)(given, y)
        np.testing.assert_array_equal(y, x.values())


@pytest.mark.slow
def test_a_total_is_stored_as_one_element() -> None:
    x = np.arange(24, dtype=np.int32).reshape(4, 6)
    program = Total()
    for run in (program.check, program):
        y = np.zeros((2, 2), np.int32)
        run(x, y)
        np.testing.assert_array_equal(y, [[0, x.sum()], [x.max(), 0]])


def test_tensors_of_pytorch_keep_its_storage() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    weight = torch.randint(-8, 8, (32, 64), dtype=torch.int8)
    packed = tile.from_torch(weight).to(tile.int4b)
    assert isinstance(packed.storage, torch.Tensor)
    assert torch.equal(packed.to(tile.int8).torch(), weight)
    again = tile.view_torch(packed.storage, dtype=tile.int4b, shape=[64, 32])
    assert torch.equal(again.to(tile.int8).torch(), weight.reshape(64, 32))


def test_views_and_ready_values() -> None:
    assert tile.full([2, 3], 300.0, tile.float8_e4m3).values().tolist() == [[288.0] * 3] * 2
    assert tile.zeros([4], tile.uint2b).values().tolist() == [0, 0, 0, 0]
    halves = tile.ones([2, 4], tile.float16)
    assert halves.view(dtype=tile.uint8).shape == (2, 8)
    assert halves.clone().numpy().dtype == np.float16
    with pytest.raises(UserError, match=r"int4b\[7\] takes 4 bytes, and its storage has 3"):
        tile.Tensor(tile.int4b, [7], np.zeros(3, np.uint8))


def test_layouts_are_made_from_their_modes() -> None:
    made = register_layout([8, 4], [8, 4], spatial_modes=[0, 1], local_modes=[])
    assert made == spatial(8, 4)
    with pytest.raises(UserError, match="is not a layout"):
        register_layout([8, 4], [8, 2], spatial_modes=[0, 1], local_modes=[])
