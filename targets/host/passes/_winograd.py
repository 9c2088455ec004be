# SPDX-License-Identifier: Apache-2.0
"""Winograd's algorithm F(2x2, 3x3): its matrices, and the convolutions that it suits.

A tile of 2 x 2 results of a 3 x 3 convolution takes 36 multiplications per pair of channels. With
transformed image tiles and filters it takes 16 (A. Lavin and S. Gray, "Fast Algorithms for
Convolutional Neural Networks", CVPR 2016). All entries of the transforms of images and results are
0, 1 and -1. A convolution of volumes is a sum of such convolutions over its taps along the depth,
and the transformed frames of the image serve all taps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from xtc.ir.analysis.contractions import multiply_add
from xtc.ir.analysis.function_view import FunctionView
from xtc.ir.analysis.linalg_ops import is_constant, is_zero_fill, owner
from xtc.ir.analysis.structured import Structured, shape_of
from xtc.ir.mlir import F32Type, Operation, Value
from xtc_passes.tensor._padding import Padding, padding_of

TILE = 2  # results along each dimension of a tile
READ = 4  # elements that a tile reads, and multiplies, along each dimension
FILTER_ROWS = ((1.0, 0.0, 0.0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0.0, 0.0, 1.0))
INPUT_ROWS = ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1))
_FEWEST_CHANNELS = 32  # of the image: with fewer, the transforms cost more than they save
_FEWEST_FEATURES = 16  # the lanes of a vector
_FEWEST_TILES = 9  # with fewer, reading the larger filters costs more than it saves
_TILES_OF_LARGE_FILTERS = 128  # of a band whose filters do not fit into the second-level cache
_FILLED = 1.15  # times the height of a result: more rows of tiles cost what others save
# Multiply-adds for each channel that is transformed, of image and result, that make up for copies
# of bands: 75x75x32 to 32 takes 0.82 ms with and 0.70 without, 147x147x32 to 64 4.9 and 4.8,
# 75x75x48 to 192 5.1 and 6.2, on one core of an Intel Xeon, family 6, model 207.
_PRODUCTS = 24
_BYTES = 4
_IMAGES = "linalg.conv_2d_nhwc_hwcf"
_VOLUME_RANK = 5
_VOLUMES = (  # the loops of each index of image, filters and result
    ((0,), (1, 5), (2, 6), (3, 7), (8,)),
    ((5,), (6,), (7,), (8,), (4,)),
    ((0,), (1,), (2,), (3,), (4,)),
)


@dataclass(frozen=True)
class DepthTap:
    """A tap of a filter along the depth, and the frames for which it reads no border.

    Attributes:
        number: of the tap.
        first: number of the first frame of the result.
        count: frames.
        reads: number of the frame of the image that the first one reads.
    """

    number: int
    first: int
    count: int
    reads: int


@dataclass(frozen=True)
class Convolution:
    """A convolution of stride 1 whose filters, 3 x 3 or q x 3 x 3, are a constant of float32.

    Attributes:
        nest: the operation.
        filters: the operation that reads the filters from memory.
        padding: the zero padding of the image, or None.
    """

    nest: Structured
    filters: Operation
    padding: Padding | None

    @property
    def image(self) -> Value:
        """The image that it reads, borders included."""
        value: Value = self.nest.op.operands[0]
        return value

    @property
    def batch(self) -> int:
        """Images, or volumes."""
        return shape_of(self.nest.result)[0]

    @property
    def frames(self) -> int:
        """Frames of each volume of the result; 1 for images."""
        return math.prod(shape_of(self.nest.result)[1:-3])

    @property
    def read_frames(self) -> int:
        """Frames of each volume of the image, without borders of zeros; 1 for images."""
        padded = math.prod(shape_of(self.image)[1:-3])
        return math.prod(shape_of(self.padding.inside)[1:-3]) if self.padding else padded

    @property
    def skips_frames(self) -> bool:
        """Whether frames of the image are borders of zeros."""
        return self.read_frames != math.prod(shape_of(self.image)[1:-3])

    @property
    def depth_taps(self) -> int:
        """The taps of a filter along the depth; 1 for images."""
        return math.prod(shape_of(self.nest.op.operands[1])[:-4])

    @property
    def taps(self) -> list[DepthTap]:
        """The taps along the depth that read no border for some frame, the most frames first."""
        before = self.padding.offsets[1] if self.padding and self.is_of_volumes else 0
        ranges = (
            (tap, max(0, before - tap), min(self.frames, before - tap + self.read_frames))
            for tap in range(self.depth_taps)
        )
        taps = [
            DepthTap(tap, first, end - first, first + tap - before)
            for tap, first, end in ranges
            if first < end
        ]
        return sorted(taps, key=lambda tap: (-tap.count, tap.number))

    @property
    def is_of_volumes(self) -> bool:
        return len(shape_of(self.image)) == _VOLUME_RANK

    @property
    def height(self) -> int:
        return shape_of(self.nest.result)[-3]

    @property
    def width(self) -> int:
        return shape_of(self.nest.result)[-2]

    @property
    def channels(self) -> int:
        """Channels of the image."""
        return shape_of(self.image)[-1]

    @property
    def features(self) -> int:
        """Channels of the result."""
        return shape_of(self.nest.result)[-1]

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
    """The division of a convolution: bands of `images` images, or of `rows` tile rows of one.

    Attributes:
        down: tile rows of an image, with those that fill up its last band.
    """

    images: int
    rows: int
    down: int


def convolution(view: FunctionView, nest: Structured) -> Convolution | None:
    """The operation as a convolution, if the algorithm can compute it, or None."""
    op = nest.op
    if nest.device is not None or not (op.name == _IMAGES or _is_of_volumes(nest)):
        return None
    values = list(op.operands)
    if any(value.type.element_type != F32Type.get() for value in values):
        return None
    if shape_of(values[1])[-4:-2] != (3, 3) or not is_constant(values[1]):
        return None
    if any(factor != 1 for index in nest.indices[0] for _, factor in index.factors):
        return None  # a stride, or a dilation
    buffer, begins = owner(values[1]), view.producers.get(values[2])
    load = None if buffer is None or not buffer.operands else owner(buffer.operands[0])
    if load is None or load.name != "memref.get_global" or not is_zero_fill(begins):
        return None
    return Convolution(nest, load, _zero_padding(values[0]))


def _zero_padding(image: Value) -> Padding | None:
    """The padding of an image with zeros, as many images as before."""
    producer = owner(image)
    padding = padding_of(producer) if producer else None
    if padding is None or not is_zero_fill(padding.fill):
        return None
    return padding if shape_of(padding.inside)[0] == shape_of(image)[0] else None


def _is_of_volumes(nest: Structured) -> bool:
    """Whether an operation has the loops n, d, h, w, f, q, r, s and c of a convolution of volumes.

    The strides and dilations may be any.
    """
    if len(nest.indices) != len(_VOLUMES) or multiply_add(nest.op) != ("", ""):
        return False
    walked = tuple(
        tuple(tuple(sorted(loop for loop, _ in index.factors)) for index in row)
        for row in nest.indices
    )
    return walked == _VOLUMES and not any(index.offset for row in nest.indices for index in row)


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
    down, across = found.tiles[0], found.tiles[1] * found.frames
    sizes = (min(most, found.batch * down * across // 2), most) if parallel else (most,)
    return next((divided for size in sizes if (divided := _divided(found, size))), None)


def _divided(found: Convolution, most: int) -> Bands | None:
    """Bands of at most `most` tiles; None if bands are too small, or too much fills up the last.

    Bands of an even height end where the result does. An odd one, whose last tiles hang over, is
    rounded up to whole bands.
    """
    down, across = found.tiles[0], found.tiles[1] * found.frames
    if down * across <= most:
        # The frames of one volume are consecutive, those of several that a tap reads are not.
        is_split = found.depth_taps > 1 or found.skips_frames
        most_images = 1 if is_split else most // (down * across)
        divided = Bands(_divisor(found.batch, most_images), down, down)
    elif found.height % TILE:
        count = -(-down // max(1, most // across))
        rows = -(-down // count)
        divided = Bands(1, rows, rows * -(-down // rows))
        pays = found.channels * found.features >= _PRODUCTS * (found.channels + found.features)
        if divided.down * TILE > _FILLED * found.height or not pays:
            return None
    else:
        divided = Bands(1, _divisor(down, max(1, most // across)), down)
    return divided if divided.images * divided.rows * across >= _FEWEST_TILES else None


def _divisor(of: int, most: int) -> int:
    """The largest divisor of at most `most`."""
    return max(part for part in range(1, min(of, most) + 1) if of % part == 0)
