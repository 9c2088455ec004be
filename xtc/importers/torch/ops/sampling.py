# SPDX-License-Identifier: Apache-2.0
"""Images read between their elements, and put together from columns."""

from __future__ import annotations

from collections.abc import Sequence

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.folding import folded
from xtc.importers.compositions.sampling import grid_sampled
from xtc.importers.torch.table import writes


@writes("grid_sampler_2d", "grid_sampler_3d")
def grid_sampler(x: Tensor, grid: Tensor, mode: int, padding: int, corners: bool) -> Tensor:
    kinds, outsides = ("linear", "nearest", "cubic"), ("zeros", "border", "reflection")
    return grid_sampled(x, grid, kinds[mode], outsides[padding], corners)


@writes("col2im")
def col2im(
    x: Tensor,
    sizes: Sequence[int],
    taps: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    strides: Sequence[int],
) -> Tensor:
    single = x.type.rank == 2
    columns = O.reshape(x, (1, *x.type.sizes)) if single else x
    borders = [(pad, pad) for pad in pads]
    result = folded(columns, sizes, taps, strides, dilations, borders)
    return O.reshape(result, result.type.sizes[1:]) if single else result
