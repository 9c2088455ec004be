# SPDX-License-Identifier: Apache-2.0
"""Winograd's algorithm F(2x2, 3x3): its matrices, and the convolutions that it suits.

A tile of 2 x 2 results of a 3 x 3 convolution takes 36 multiplications per pair of channels. With
transformed image tiles and filters it takes 16 (A. Lavin and S. Gray, "Fast Algorithms for
Convolutional Neural Networks", CVPR 2016). All entries of the transforms of images and results are
0, 1 and -1.
"""

from __future__ import annotations

from dataclasses import dataclass

from xtc.ir.analysis.function_view import FunctionView
from xtc.ir.analysis.linalg_ops import is_constant, is_zero_fill, owner
from xtc.ir.analysis.structured import Structured, shape_of
from xtc.ir.mlir import F32Type, Operation, Value

TILE = 2  # results along each dimension of a tile
READ = 4  # elements that a tile reads, and multiplies, along each dimension
FILTER_ROWS = ((1.0, 0.0, 0.0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0.0, 0.0, 1.0))
INPUT_ROWS = ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1))
_FEWEST_CHANNELS = 32  # of the image: with fewer, the transforms cost more than they save
_FEWEST_FEATURES = 16  # the lanes of a vector
_FEWEST_TILES = 9  # with fewer, reading the larger filters costs more than it saves
_TILES_OF_LARGE_FILTERS = 128  # of a band whose filters do not fit into the second-level cache
_BYTES = 4


@dataclass(frozen=True)
class Convolution:
    """A 3 x 3 convolution of stride 1 whose filters are a constant of float32.

    Attributes:
        nest: the operation.
        filters: the operation that reads the filters from memory.
    """

    nest: Structured
    filters: Operation

    @property
    def image(self) -> Value:
        """The image that it reads, borders included."""
        value: Value = self.nest.op.operands[0]
        return value

    @property
    def batch(self) -> int:
        return shape_of(self.nest.result)[0]

    @property
    def height(self) -> int:
        return shape_of(self.nest.result)[1]

    @property
    def width(self) -> int:
        return shape_of(self.nest.result)[2]

    @property
    def channels(self) -> int:
        """Channels of the image."""
        return shape_of(self.image)[3]

    @property
    def features(self) -> int:
        """Channels of the result."""
        return shape_of(self.nest.result)[3]

    @property
    def tiles(self) -> tuple[int, int]:
        """Tiles along height and width."""
        return -(-self.height // TILE), -(-self.width // TILE)

    @property
    def is_even(self) -> bool:
        """Whether the result consists of whole tiles."""
        return self.height % TILE == 0 and self.width % TILE == 0


@dataclass(frozen=True)
class Bands:
    """The division of a convolution: bands of `images` images, or of `rows` tile rows of one."""

    images: int
    rows: int


def convolution(view: FunctionView, nest: Structured) -> Convolution | None:
    """The operation as a convolution, if the algorithm can compute it, or None."""
    op = nest.op
    if op.name != "linalg.conv_2d_nhwc_hwcf" or nest.device is not None:
        return None
    values = list(op.operands)
    if any(value.type.element_type != F32Type.get() for value in values):
        return None
    if shape_of(values[1])[:2] != (3, 3) or not is_constant(values[1]):
        return None
    if any(factor != 1 for index in nest.indices[0] for _, factor in index.factors):
        return None  # a stride, or a dilation
    buffer, begins = owner(values[1]), view.producers.get(values[2])
    load = None if buffer is None or not buffer.operands else owner(buffer.operands[0])
    if load is None or load.name != "memref.get_global" or not is_zero_fill(begins):
        return None
    return Convolution(nest, load)


def bands(found: Convolution, l2_bytes: int, *, parallel: bool) -> Bands | None:
    """The division of a convolution that the algorithm makes faster; None for others.

    The transformed tiles of a band stay in the second-level cache. If the filters do not, bands are
    long enough to make up for rereading them.
    """
    if found.channels < _FEWEST_CHANNELS or found.features < _FEWEST_FEATURES:
        return None
    most = l2_bytes // (READ * READ * _BYTES * (found.channels + found.features))
    if READ * READ * _BYTES * found.channels * found.features > l2_bytes // 2:
        most = max(most, _TILES_OF_LARGE_FILTERS)
    down, across = found.tiles
    sizes = (min(most, found.batch * down * across // 2), most) if parallel else (most,)
    return next((made for size in sizes if (made := _divided(found, size))), None)


def _divided(found: Convolution, most: int) -> Bands | None:
    """Bands of at most `most` tiles; None if bands are too small, or the last one is shorter."""
    down, across = found.tiles
    if down * across <= most:
        made = Bands(_divisor(found.batch, most // (down * across)), down)
    elif found.height % TILE:
        return None
    else:
        made = Bands(1, _divisor(down, max(1, most // across)))
    return made if made.images * made.rows * across >= _FEWEST_TILES else None


def _divisor(of: int, most: int) -> int:
    """The largest divisor of at most `most`."""
    return max(part for part in range(1, min(of, most) + 1) if of % part == 0)
