# SPDX-License-Identifier: Apache-2.0
"""Random parameters and sizes of kernels with bulk copies, warpgroups, clusters, and waiting groups
and blocks; and of plain loops that become such kernels."""

from __future__ import annotations

import random
from typing import Any

import ml_dtypes
import numpy as np

from tests.unit import tile_bulk, tile_clusters, tile_groups, tile_instructions, tile_pipelines
from tests.unit.random_tiles.cases import Case
from xtc.tile import bfloat16, float8_e4m3, float8_e5m2, float16, int8, tfloat32, uint8

_HALVES = {float16: np.float16, bfloat16: ml_dtypes.bfloat16}
_BYTES = {float8_e4m3: ml_dtypes.float8_e4m3fn, float8_e5m2: ml_dtypes.float8_e5m2}
_WHOLE = {int8: np.int8, uint8: np.uint8}


def _numbers(rng: random.Random, shape: tuple[int, ...], kind: Any, most: int = 3) -> Any:
    return np.random.default_rng(rng.getrandbits(32)).integers(-most, most + 1, shape).astype(kind)


def _product(a: Any, b: Any) -> Any:
    total = np.int32 if a.dtype in (np.int8, np.uint8) else np.float32
    return a.astype(total) @ b.astype(total)


def _case(program: Any, arguments: list[Any], expected: Any, **parameters: Any) -> tuple[Any, Case]:
    out = np.zeros_like(expected)
    text = f"{program} with {parameters}"
    return program, Case([*arguments, out], expected, text)


def pipeline(rng: random.Random) -> tuple[Any, Case]:
    """A plain loop of copies and dots."""
    kinds = {**_HALVES, **_BYTES, **_WHOLE, tfloat32: np.float32}
    dtype = rng.choice((*_HALVES, *kinds))
    transposed = rng.choice(("", "a", "b", "ab") if dtype in _HALVES else ("b", "b", "b", "ab"))
    lanes = 16 // dtype.nbytes  # of a row's alignment
    tiles = 64, rng.choice((32, 64)), lanes * rng.choice((2, 4, 8))
    if "b" not in transposed and tiles[1] == 64:
        tiles = (rng.choice((64, 128)), *tiles[1:])
    slots = rng.randint(1, 3)
    m, n = (8 * rng.randint(1, most) for most in (14, 12))
    k = lanes * rng.randint(1, 20)
    a, b = (_numbers(rng, shape, kinds[dtype]) for shape in ((m, k), (k, n)))
    given = [np.ascontiguousarray(x.T) if at in transposed else x for at, x in (("a", a), ("b", b))]
    how = {"tiles": tiles, "slots": slots, "dtype": dtype, "transposed": transposed}
    program = tile_pipelines.Matmul(**how)
    return _case(program, [m, n, k, *given], _product(a, b), m=m, n=n, k=k, **how)


def warpgroup(rng: random.Random) -> tuple[Any, Case]:
    """A multiplication from shared memory."""
    dtype = rng.choice((*_HALVES, *_BYTES))
    kinds = {**_HALVES, **_BYTES}
    turned = {"a_transposed": rng.random() < 0.5, "b_transposed": rng.random() < 0.5}
    warps = rng.choice((4, 8))
    m, n, k = 16 * warps, rng.choice((16, 32, 64)), rng.choice((16, 32, 64))
    if dtype in _BYTES:
        turned, k = {"a_transposed": False, "b_transposed": True}, rng.choice((32, 64))
    a, b = _numbers(rng, (m, k), kinds[dtype]), _numbers(rng, (k, n), kinds[dtype])
    given = [
        np.ascontiguousarray(x.T) if x_turned else x
        for x, x_turned in zip((a, b), turned.values(), strict=True)
    ]
    program = tile_bulk.WgmmaMatmul(dtype, warps=warps, **turned)
    return _case(program, [m, n, k, *given], _product(a, b), m=m, n=n, k=k, dtype=dtype, **turned)


def registers(rng: random.Random) -> tuple[Any, Case]:
    """Two multiplications: the accumulators of the first are an operand of the second."""
    dtype, transposed = rng.choice(list(_HALVES)), rng.random() < 0.5
    kind = _HALVES[dtype]
    m, k, n = 64, rng.choice((16, 32)), rng.choice((16, 32, 64))
    a, b = _numbers(rng, (m, k), kind, 1), _numbers(rng, (k, k), kind, 1)
    c = _numbers(rng, (k, n), kind, 1)
    expected = _product(_product(a, b).astype(kind), c)
    given = [a, b, np.ascontiguousarray(c.T) if transposed else c]
    program = tile_bulk.FromRegisters(dtype, transposed)
    return _case(program, [m, k, n, *given], expected, k=k, n=n, dtype=dtype)


def bulk(rng: random.Random) -> tuple[Any, Case]:
    """Bulk copies in both directions."""
    rows, columns = rng.choice((8, 16, 64)), rng.choice((16, 32, 64, 128))
    m, n = rng.randint(1, 2 * rows), 8 * rng.randint(1, columns // 4)
    x = _numbers(rng, (m, n), np.float16)
    program = tile_bulk.BulkDouble(rows, columns)
    return _case(program, [m, n, x], 2 * x, m=m, n=n, rows=rows, columns=columns)


def cluster(rng: random.Random) -> tuple[Any, Case]:
    """Blocks of a cluster that load for each other."""
    blocks, rounds = rng.choice((2, 4)), rng.randint(1, 3)
    m = rng.randint(1, 2 * rounds * 16 * blocks)
    x = _numbers(rng, (m, 64), np.float16)
    expected = np.repeat(x[None], blocks, axis=0)
    program = tile_clusters.Shared(blocks, rounds)
    return _case(program, [m, x], expected, m=m, blocks=blocks, rounds=rounds)


def groups(rng: random.Random) -> tuple[Any, Case]:
    """A group that fills slots, and one that drains them."""
    n = 128 * rng.randint(1, 9)
    x = _numbers(rng, (n,), np.float32)
    expected = 2 * x.reshape(-1, 128).sum(0)
    return _case(tile_groups.SumInGroups(), [n, x], expected, n=n)


def ordered(rng: random.Random) -> tuple[Any, Case]:
    """Blocks that wait for a semaphore."""
    n = rng.randint(1, 6)
    x = _numbers(rng, (n, 64), np.float32)
    return _case(tile_instructions.Ordered(), [n, x], 2 * x.sum(0), n=n)


KINDS = (
    *(pipeline, pipeline, pipeline, warpgroup, warpgroup),
    *(registers, bulk, cluster, groups, ordered),
)


def asynchronous(seed: int) -> tuple[Any, Case]:
    """The kernel of a seed; the kinds alternate."""
    return KINDS[seed % len(KINDS)](random.Random(seed))  # noqa: S311
