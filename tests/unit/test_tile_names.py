# SPDX-License-Identifier: Apache-2.0
"""Names and modules of the language besides instructions."""

from __future__ import annotations

import importlib
import itertools
import logging
from collections.abc import Callable

import numpy as np
import pytest

from xtc import tile
from xtc.core.errors import UserError
from xtc.tile import target, utils
from xtc.tile.hidet.ir import dtypes, expr, type
from xtc.tile.ir import layout as layouts
from xtc.tile.ir.layout import ops
from xtc.tile.launch import kernels
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


def test_layouts_that_are_no_factors_are_refused() -> None:
    with pytest.raises(UserError, match="is not a product of a layout and"):
        ops.divide(ops.spatial(8, 4), ops.local(2, 2))
    with pytest.raises(UserError, match="is not a product of"):
        ops.left_divide(ops.spatial(8, 4), ops.spatial(3, 1))


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_an_element_has_threads_and_a_position(layout: RegisterLayout) -> None:
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
    assert ops.spatial(2).spatial(3) == ops.spatial(6)
    assert made / ops.local(1, 2) == ops.spatial(2, 4)
    assert made.reduce_to([8]) == ops.reduce(made, [0])
    assert made.visualize() == layouts.visualize_layout(made)
    assert layouts.canonicalize_layout(made) == made
    with_one = ops.register_layout([4, 1], [2, 1, 2], [0, 1], [2])
    assert _same(with_one, ops.spatial(2, 1).local(2, 1))
    wrong: list[Callable[[], RegisterLayout]] = [
        lambda: ops.squeeze(made, [0]),
        lambda: ops.permute(made, [0, 0]),
        lambda: ops.reshape(made, [5]),
        lambda: made.reduce_to([3]),
        lambda: made / ops.spatial(3),
        lambda: ops.unsqueeze(made, [7]),
        lambda: ops.auto_local_spatial(3, [4]),
        lambda: ops.register_layout([4], [4], [1], []),
    ]
    for call in wrong:
        with pytest.raises(UserError):
            call()


SHARED = [
    ops.shared_row_major(4, 6),
    ops.shared_column_major(4, 6),
    ops.shared_compose(ops.shared_row_major(2, 3), ops.shared_column_major(2, 2)),
    ops.shared_row_major_swizzle([8, 64], 2),
    ops.shared_row_major(2, 4, 5),
]


@pytest.mark.parametrize("layout", SHARED, ids=str)
def test_shared_layouts_keep_each_element_at_its_offset(layout: layouts.SharedLayout) -> None:
    grid = layout.as_numpy_grid()
    assert sorted(grid.flat) == list(range(layout.size))
    assert layout(*(size - 1 for size in layout.shape)) == grid.flat[-1]
    dims = list(range(len(layout.shape)))[::-1]
    np.testing.assert_array_equal(layout.permute(dims).as_numpy_grid(), grid.T)
    np.testing.assert_array_equal(layout.unsqueeze([0]).as_numpy_grid(), grid[None])
    first = grid.reshape(layout.shape[0], -1)[:, 0]
    np.testing.assert_array_equal(layout.slice([0]).as_numpy_grid(), first)
    halves = [layout.shape[0] // 2, 2, *layout.shape[1:]]
    np.testing.assert_array_equal(layout.reshape(halves).as_numpy_grid(), grid.reshape(halves))
    several = layout.prepend_dim(3).as_numpy_grid()
    np.testing.assert_array_equal(several[0], grid)
    assert len(np.unique(several)) == 3 * layout.size
    indices = np.indices(layout.shape)
    np.testing.assert_array_equal(layout.byte_offset(*indices, nbytes=2), 2 * grid)


def test_functions_and_modules_may_share_a_name() -> None:
    for name in ("register_layout", "shared_layout"):
        module = importlib.import_module(f"xtc.tile.ir.layout.{name}")
        assert getattr(layouts, name) is getattr(module, name)


def test_canonical_shared_layouts() -> None:
    made = layouts.SharedLayout.create([4, 8], [2, 2, 4, 2], [16, 8, 2, 1])
    assert layouts.canonicalize_shared_layout(made) == ops.shared_row_major(4, 8)
    assert ops.shared_layout([4, 1], [2, 1, 2], [1, 9, 2]).mode_shape == (2, 2)
    assert made.count_size() == 32
    rows = ops.shared_row_major_swizzle([8, 64], 2)
    assert rows.swizzle == layouts.Swizzle(3, 3, 3)
    assert [int(rows(row, 0)) // 8 % 8 for row in range(8)] == list(range(8))
    assert "9 13" in ops.shared_row_major(4, 4).transpose().visualize()
    wrong: list[Callable[[], object]] = [
        lambda: ops.shared_layout([4], [2], [1]),
        lambda: ops.shared_row_major_swizzle([2, 8], 2),
        lambda: ops.shared_compose(rows, ops.shared_row_major(2, 2)),
        lambda: rows.apply_swizzle(rows.swizzle),
        lambda: made.swizzle,
        lambda: made(1),
        lambda: made.slice([2]),
        lambda: made.unsqueeze([7]),
        lambda: ops.shared_row_major(2, 3, 4).visualize(),
    ]
    for call in wrong:
        with pytest.raises(UserError):
            call()
    with pytest.raises(ops.LayoutOperationError, match="keeps the elements"):
        ops.shared_column_major(3, 4).reshape([4, 3])
    assert issubclass(ops.LayoutOperationError, RuntimeError)


def test_layouts_of_global_tensors() -> None:
    rows = ops.global_row_major(2, 3, 4)
    assert (rows.strides, rows.size, rows(1, 2, 3)) == ((12, 4, 1), 24, 23)
    assert ops.global_column_major(2, 3, 4).strides == (1, 2, 6)
    part = ops.global_slice(rows, [0, 1, 0], [0, 2], [2, 4])
    assert (part.shape, part.strides) == ((2, 4), (12, 1))
    for call in (lambda: ops.global_strides([2, 3], [1]), lambda: rows(1)):
        with pytest.raises(UserError):
            call()
    with pytest.raises(UserError, match="1 offsets, 1 dimensions and 2 sizes"):
        ops.global_slice(rows, [0], [0], [1, 2])


def test_types_by_module() -> None:
    kinds = (tile.bfloat16, tile.tfloat32, tile.uint8, tile.boolean, tile.int4b, tile.float8_e4m3)
    assert [kind.short_name for kind in kinds] == ["bf16", "tf32", "u8", "bool", "i4", "f8e4m3"]
    assert (tile.float16.zero, tile.int32.one, tile.boolean.one) == (0.0, 1, True)
    assert (tile.int4b.is_integer_subbyte(), tile.uint8.is_subbyte()) == (True, False)
    assert (dtypes.bfloat16, dtypes.int4b, dtypes.f32) == (tile.bfloat16, tile.int4b, tile.f32)
    assert tile.hidet.u8 == tile.uint8
    floats = (tile.float16, tile.bfloat16, tile.float6_e3m2)
    assert [(t.exponent_nbits, t.mantissa_nbits) for t in floats] == [(5, 10), (8, 7), (3, 2)]
    assert [t.signedness() for t in (tile.int4b, tile.uint4b)] == [True, False]
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


@pytest.mark.parametrize(
    ("machine", "code", "runs"),
    [
        ("sm90", "sm80", True),
        ("sm80", "sm90", False),
        ("sm90a", "sm90", True),
        ("sm90a", "sm90f", True),
        ("sm90", "sm90f", False),
        ("sm90", "sm90a", False),
        ("sm100a", "sm90a", False),
        ("sm103f", "sm100f", True),
        ("sm103a", "sm100f", True),
        ("sm100f", "sm103f", False),
        ("sm110f", "sm100f", False),
        ("sm100f", "sm100a", False),
    ],
)
def test_code_of_a_family_and_of_one_machine(machine: str, code: str, runs: bool) -> None:
    found = getattr(target, f"nvgpu_{machine}")
    assert found.supports(getattr(target, f"nvgpu_{code}")) is runs
    assert found.supports(target.gpgpu_any)
    assert (found.is_nvgpu(), found.is_amdgpu()) == (True, False)
    properties = target.TargetProperties(compute_capability=(11, 0))
    other = target.Target("amdgpu", "gfx1100", properties)
    assert not other.supports(found)
    assert other.is_amdgpu()


def test_a_machine_for_a_block() -> None:
    before = target.get_current_target()
    with target.scope(target.nvgpu_sm80) as machine:
        assert target.get_current_target().arch == machine.arch == "sm80"
    assert target.get_current_target() == before


def test_another_machine() -> None:
    try:
        target.set_current_target(target.nvgpu_sm80)
        assert str(target.get_current_target()) == "nvgpu/sm80"
        machines = [target.nvgpu_sm80, target.nvgpu_sm86, target.nvgpu_sm90a]
        assert target.match_target(target.nvgpu_sm89, machines) == target.nvgpu_sm86
        assert target.match_target(target.nvgpu_sm80, machines[1:]) is None
        with pytest.raises(UserError, match="sm_100a"):
            target.set_current_target(target.nvgpu_sm100a)
    finally:
        tile.use_device(None)


def test_the_warp_grid_minimizes_elements_per_warp() -> None:
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
    with pytest.raises(UserError, match="24 is not a multiple of 16"):
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
