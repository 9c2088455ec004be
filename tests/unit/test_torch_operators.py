# SPDX-License-Identifier: Apache-2.0
"""PyTorch operators beyond those of networks: all compiled, none left to PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the package torch is not installed")

from xtc.importers.torch.partition import RunsInPyTorch  # noqa: E402

nn, functional = torch.nn, torch.nn.functional


def compare(program: Any, *inputs: Any) -> None:
    """Check that everything is compiled, and that every result agrees with PyTorch's."""
    torch._dynamo.reset()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error", RunsInPyTorch)
        found = torch.compile(program, backend="xtc")(*inputs)
        for got, wanted in zip(found, program(*inputs), strict=True):
            torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5, equal_nan=True)


@pytest.mark.slow
def test_embedding_bags() -> None:
    table = torch.randn(10, 4)
    indices, offsets = torch.tensor([1, 2, 3, 4, 5, 2]), torch.tensor([0, 2, 2, 5])

    def program(indices: Any, offsets: Any, weights: Any) -> list[Any]:
        bag = functional.embedding_bag
        ends = torch.tensor([0, 2, 2, 6])
        return [
            bag(indices, table, offsets, mode="mean", padding_idx=2),
            bag(indices, table, offsets, mode="max"),
            bag(
                indices,
                table,
                ends,
                per_sample_weights=weights,
                mode="sum",
                include_last_offset=True,
            ),
        ]

    compare(program, indices, offsets, torch.randn(6))


@pytest.mark.slow
def test_searches_and_sorts() -> None:
    def program(x: Any, ordered: Any) -> list[Any]:
        positions = [torch.searchsorted(ordered, x, right=right) for right in (False, True)]
        bounds = torch.tensor([-1.0, 0.0, 1.0])
        rows = torch.searchsorted(x.sort(1).values, x[:, :2].contiguous())
        return [
            *positions,
            torch.bucketize(x, bounds, out_int32=True),
            rows,
            *torch.sort(x, dim=0, stable=True, descending=True),
            *x.kthvalue(2, dim=1, keepdim=True),
        ]

    x = torch.randn(3, 5)
    x[0, 0] = float("nan")
    compare(lambda x, ordered: program(x, ordered)[:3], x, torch.randn(6).sort().values)
    compare(program, torch.randn(3, 5), torch.randn(6).sort().values)


@pytest.mark.slow
@pytest.mark.parametrize("include", [False, True])
def test_scattered_reductions(include: bool) -> None:
    index = torch.tensor([0, 1, 1, 3, 0])

    def program(x: Any, source: Any) -> list[Any]:
        kinds = ("sum", "prod", "mean", "amax", "amin")
        return [x.scatter_reduce(0, index, source, k, include_self=include) for k in kinds]

    compare(program, torch.randn(4), torch.randn(5))


@pytest.mark.slow
def test_images() -> None:
    grid = torch.rand(1, 2, 3, 2) * 2.8 - 1.4

    def program(x: Any) -> list[Any]:
        return [
            functional.interpolate(x, size=(5, 12), mode="bilinear", antialias=True),
            functional.interpolate(x, size=(3, 3), mode="bicubic", antialias=True),
            functional.grid_sample(x, grid, "bicubic", "border", align_corners=False),
            functional.adaptive_max_pool2d(x, (3, 4)),
        ]

    compare(program, torch.randn(1, 2, 10, 9))


@pytest.mark.slow
def test_elementwise() -> None:
    def program(x: Any, y: Any, n: Any) -> list[Any]:
        bilinear = functional.bilinear(x, y, torch.ones(3, 5, 5))
        return [
            torch.isfinite(x),
            torch.fmax(x, y),
            torch.fmin(x, y),
            torch.exp2(y),
            torch.logaddexp(y, y + 1),
            (x > 0) * (y > 0),
            (x > 0) + (y > 0),
            n << 2,
            n >> 1,
            torch.tril_indices(3, 4, 1) + n[0],
            torch.diagonal_scatter(y[:, :4], y[0, :3], 1),
            bilinear,
        ]

    x, y = torch.randn(4, 5), torch.randn(4, 5)
    x[0, :3] = torch.tensor([float("nan"), float("inf"), 0.0])
    compare(lambda *inputs: program(*inputs)[:-1], x, y, torch.tensor([7, -9, 12]))
    compare(lambda *inputs: program(*inputs)[-1:], y, y, torch.tensor([7, -9, 12]))
