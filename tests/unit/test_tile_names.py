# SPDX-License-Identifier: Apache-2.0
"""Names and modules of the language beside instructions."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable

import numpy as np
import pytest

from xtc import tile
from xtc.core.errors import UserError
from xtc.tile import kernels, target, utils
from xtc.tile.hidet.ir import dtypes, expr, type
from xtc.tile.ir import layout as layouts
from xtc.tile.ir.layout import ops
from xtc.tile.layout import RegisterLayout

LAYOUTS = [
    ops.spatial(2, 4) * ops.local(1, 2),
    ops.local(2, 1) * ops.spatial(8, 4),
    ops.column_local(2, 2) * ops.spatial(4, 2),
    ops.spatial(2, 2).reduced([1]) * ops.local(2, 4),
    ops.replicated(2, 2, num_workers=4),
    ops.column_spatial(2, 4),
    ops.spatial(4),
]


def _same(a: RegisterLayout, b: RegisterLayout) -> bool:
    return a.merged() == b.merged()


@pytest.mark.parametrize(("outer", "inner"), list(itertools.product(LAYOUTS, LAYOUTS)))
def test_products_of_layouts_are_divided(outer: RegisterLayout, inner: RegisterLayout) -> None:
    made = ops.compose(outer, inner)
    assert _same(ops.divide(made, inner) * inner, made)
    assert _same(outer * ops.left_divide(made, outer), made)


def test_no_factor_is_refused() -> None:
    with pytest.raises(UserError, match="is not a product of a layout and"):
        ops.divide(ops.spatial(8, 4), ops.local(2, 2))
    with pytest.raises(UserError, match="is not a product of"):
        ops.left_divide(ops.spatial(8, 4), ops.spatial(3, 1))


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_an_element_has_its_threads_and_its_position(layout: RegisterLayout) -> None:
    held = 0
    for index in itertools.product(*map(range, layout.shape)):
        for thread in layout.get_spatial(index):
            position = layout.get_local(index)
            found = layout.get_global(spatial_index=thread, local_index=position)
            assert found == list(index)
            held += 1
    assert held == layout.spatial_size * layout.local_size
    with pytest.raises(UserError, match="is not an index"):
        layout.get_local(layout.shape)


def test_shapes_of_layouts() -> None:
    made = ops.spatial(2, 4).local(1, 2)
    assert ops.unsqueeze(made, [0, 2]).shape == (1, 2, 1, 8)
    assert _same(ops.squeeze(ops.unsqueeze(made, [1]), [1]), made)
    assert ops.flatten(made) == ops.spatial(8).local(2)
    assert ops.permute(made, [1, 0]).shape == (8, 2)
    assert ops.reduce(made, [0]).shape == (8,)
    assert layouts.reduce is ops.reduce
    assert ops.reshape(made, [16]).shape == (16,)
    assert ops.auto_local_spatial(8, [4, 8]) == (ops.local(4, 1) * ops.spatial(1, 8)).merged()
    with_one = ops.register_layout([4, 1], [2, 1, 2], [0, 1], [2])
    assert _same(with_one, ops.spatial(2, 1).local(2, 1))
    wrong: list[Callable[[], RegisterLayout]] = [
        lambda: ops.squeeze(made, [0]),
        lambda: ops.permute(made, [0, 0]),
        lambda: ops.reshape(made, [5]),
        lambda: ops.unsqueeze(made, [7]),
        lambda: ops.auto_local_spatial(3, [4]),
        lambda: ops.register_layout([4], [4], [1], []),
    ]
    for call in wrong:
        with pytest.raises(UserError):
            call()


def test_layouts_of_shared_and_global_tensors() -> None:
    assert ops.shared_row_major(2, 8).shape == ops.shared_row_major_swizzle([2, 8], 2).shape
    assert ops.shared_permute(ops.shared_row_major(2, 8), [1, 0]).shape == (8, 2)
    assert ops.shared_compose(ops.shared_row_major(2, 1), ops.shared_row_major(3, 4)).size == 24
    assert ops.global_row_major(2, 3, 4).strides == (12, 4, 1)
    assert ops.global_column_major(2, 3, 4).strides == (1, 2, 6)
    with pytest.raises(UserError, match="2 sizes and 1 strides"):
        ops.global_strides([2, 3], [1])


def test_types_by_module() -> None:
    assert (dtypes.bfloat16, dtypes.int4b, dtypes.f32) == (tile.bfloat16, tile.int4b, tile.f32)
    assert tile.hidet.u8 == tile.uint8
    assert (type.void_p, type.DataType) == (tile.void_p, tile.DataType)
    assert expr.Expr is expr.Var
    with pytest.raises(AttributeError, match="'int99'"):
        dtypes.int99  # noqa: B018


def test_casts_of_tensors() -> None:
    given = tile.from_torch(np.array([[1.5, -2.25, 3]], np.float32))
    out = tile.empty([1, 3], tile.int8)
    assert kernels.cast(given, tile.int8, out=out) is out
    assert out.values().tolist() == [[1, -2, 3]]
    with pytest.raises(UserError, match=r"out= is int8\[1, 3\], not int16\[1, 3\]"):
        kernels.cast(given, tile.int16, out=out)


def test_machines() -> None:
    current = target.get_current_target()
    assert current.supports(target.nvgpu_sm80)
    assert not current.supports(target.nvgpu_sm100a)
    assert current == current
    assert str(target.nvgpu_sm90a) == "nvgpu/sm90a"
    properties = tile.Script.cuda.runtime.get_device_properties()
    assert properties.warpSize == 32
    assert properties.multiProcessorCount > 1
    assert properties.sharedMemPerBlockOptin == current.properties.shared_memory_per_block


def test_the_grid_of_warps_in_which_each_holds_least() -> None:
    config = tile.Script.cuda.resolve_dot_config(
        tile.bfloat16, tile.float32, m=128, n=64, k=32, num_warps=8
    )
    assert (config.m, config.n, config.k, config.num_warps) == (128, 64, 32, 8)
    by_hand = tile.Script.cuda.resolve_dot_config(
        tile.bfloat16, tile.float32, m=128, n=64, k=32, warp_m=4, warp_n=2
    )
    assert config == by_hand
    assert config.lb_T.shape == (64, 32)
    with pytest.raises(UserError, match="needs num_warps=, or warp_m= and warp_n="):
        tile.Script.cuda.resolve_dot_config(tile.float16, tile.float32, m=16, n=8, k=16)
    with pytest.raises(UserError, match="3 warps cannot share a dot of 16 x 16 and 16 x 8"):
        tile.Script.cuda.resolve_dot_config(
            tile.float16, tile.float32, m=16, n=8, k=16, num_warps=3
        )


def test_utilities() -> None:
    assert utils.to_snake_case("FlashAttentionV2") == "flash_attention_v2"
    assert [utils.floor_log2(n) for n in (1, 31, 32)] == [0, 4, 5]
    assert utils.parallel_map(abs, [-1, 2]) == [1, 2]
    assert utils.same_list([1, 2], (1, 2))
    assert utils.round_up_to_multiple(5, 4) == 8
    with pytest.raises(UserError, match="24 is no multiple of 16"):
        utils.idiv(24, 16)
    with pytest.raises(UserError, match="ncu_run is not supported"):
        utils.ncu_run(print)


def test_the_log_has_levels() -> None:
    logger = tile.logging.get_logger()
    try:
        tile.logging.init_logging("debug")
        assert logger.level == logging.DEBUG
        tile.logging.set_logging_level("ERROR")
        assert logger.level == logging.ERROR
    finally:
        logger.setLevel(logging.NOTSET)
        logger.handlers.clear()
