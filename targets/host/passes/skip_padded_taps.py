# SPDX-License-Identifier: Apache-2.0
"""skip-padded-taps: computes dilated convolutions without reading their large borders."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.linalg_ops import is_zero_fill, node_in_function, owner
from xtc.ir.analysis.structured import Structured, shape_of, structured
from xtc.ir.attributes import LOOP_SCHEDULE
from xtc.ir.builders.generic import copy_body, structured_op
from xtc.ir.builders.slices import extract_slice, insert_slice
from xtc.ir.mlir import InsertionPoint, Operation, Value, outer_operations
from xtc.ir.passes import Pass
from xtc_passes.tensor._padding import Padding, padding_of
from xtc_passes.tensor._scheduled import fused_nodes

_CONVOLUTION = "linalg.conv_2d_nhwc_hwcf"
_MOST_KEPT = 0.75  # of the multiplications: accumulators are read and written once per tap
_SEGMENTS = "operandSegmentSizes"
_Range = tuple[int, int]


@dataclass(frozen=True)
class SkipPaddedTaps(Pass):
    """Compute a dilated convolution tap by tap, each over the pixels that it reads in the image.

    With a large dilation, taps read zeros of the border for many pixels: a 3 x 3 convolution with
    dilation 18 on a 33 x 33 image, padded to keep its size, multiplies by zero in 60 % of the
    multiplications. The pass applies if it avoids at least a quarter of them. Convolutions with a
    user's schedule stay.

    Before:
        %p = tensor.insert_slice %x into %zeros[0, 18, 18, 0] [1, 33, 33, 8] [1, 1, 1, 1]
        %y = linalg.conv_2d_nhwc_hwcf {dilations = dense<18>} ins(%p, %w) outs(%c)
    After:
        %x0 = tensor.extract_slice %x[0, 0, 0, 0] [1, 15, 15, 8] [1, 1, 1, 1]
        %w0 = tensor.extract_slice %w[0, 0, 0, 0] [1, 1, 8, 4] [1, 1, 1, 1]
        %c0 = tensor.extract_slice %c[0, 18, 18, 0] [1, 15, 15, 4] [1, 1, 1, 1]
        %y0 = linalg.conv_2d_nhwc_hwcf ins(%x0, %w0) outs(%c0)
        %d = tensor.insert_slice %y0 into %c[0, 18, 18, 0] [1, 15, 15, 4] [1, 1, 1, 1]  // and so on
    """

    name: ClassVar[str] = "skip-padded-taps"

    def run(self, module: Operation) -> None:
        kept = fused_nodes(module)
        with module.context:
            for op in [op for op in outer_operations(module) if op.name == _CONVOLUTION]:
                found = _found(op)
                if found is not None and node_in_function(op) not in kept:
                    with op.location:
                        found.rewrite()


@dataclass(frozen=True)
class _Convolution:
    """A convolution of a padded image.

    Attributes:
        nest: the convolution.
        padding: the zero padding of its image.
        rows, columns: for each tap along the dimension, the range of results for which it reads no
            border.
    """

    nest: Structured
    padding: Padding
    rows: tuple[_Range, ...]
    columns: tuple[_Range, ...]

    @property
    def kept(self) -> float:
        """The fraction of the multiplications that are not by zeros of the border."""
        _, height, width, _ = shape_of(self.nest.result)
        both = [sum(end - start for start, end in taps) for taps in (self.rows, self.columns)]
        return math.prod(both) / (height * width * len(self.rows) * len(self.columns))

    def rewrite(self) -> None:
        """Accumulate the taps, and erase the convolution."""
        op = self.nest.op
        ip = InsertionPoint(op)
        total = op.operands[2]
        for taps in itertools.product(enumerate(self.rows), enumerate(self.columns)):
            if all(start < end for _, (start, end) in taps):
                total = self._add(taps, total, ip)
        self.nest.result.replace_all_uses_with(total)
        op.erase()

    def _add(self, taps: tuple[tuple[int, _Range], ...], total: Value, ip: InsertionPoint) -> Value:
        """`total` plus the contribution of one tap: (row, results) and (column, results)."""
        op = self.nest.op
        numbers, ranges = zip(*taps, strict=True)
        sizes = [end - start for start, end in ranges]
        starts, extents = zip(
            *(self._read(dim, tap, span) for dim, (tap, span) in enumerate(taps, 1)), strict=True
        )
        images, _, _, channels = shape_of(self.padding.inside)
        features = shape_of(total)[3]
        image = extract_slice(
            self.padding.inside, [0, *starts, 0], [images, *extents, channels], ip
        )
        filters = extract_slice(op.operands[1], [*numbers, 0, 0], [1, 1, channels, features], ip)
        offsets = [0, *(start for start, _ in ranges), 0]
        part = extract_slice(total, offsets, [images, *sizes, features], ip)
        kept = {name: op.attributes[name] for name in op.attributes if name != _SEGMENTS}
        name = op.name.removeprefix("linalg.")
        created = structured_op(name, [image, filters], [part], kept, ip)
        copy_body(op, created)
        return insert_slice(created.results[0], total, offsets, ip)

    def _read(self, dim: int, tap: int, span: _Range) -> tuple[int, int]:
        """Offset and size, along a dimension, of the pixels that a tap reads for some results."""
        stride, dilation = _steps(self.nest, dim)
        start = stride * span[0] + dilation * tap - self.padding.offsets[dim]
        return start, stride * (span[1] - span[0] - 1) + 1


def _found(op: Operation) -> _Convolution | None:
    """The convolution, if it has a padded image and no schedule, and skipping borders pays."""
    created = owner(op.operands[0])
    padding = padding_of(created) if created is not None else None
    nest = structured(op)
    if padding is None or nest is None or LOOP_SCHEDULE in op.attributes:
        return None
    if not is_zero_fill(padding.fill) or nest.device is not None:
        return None
    found = _Convolution(nest, padding, *(_taps(nest, padding, dim) for dim in (1, 2)))
    return found if found.kept <= _MOST_KEPT else None


def _taps(nest: Structured, padding: Padding, dim: int) -> tuple[_Range, ...]:
    """For each tap along a dimension, the results for which it reads the inside."""
    stride, dilation = _steps(nest, dim)
    low, inside = padding.offsets[dim], shape_of(padding.inside)[dim]
    results, taps = shape_of(nest.result)[dim], shape_of(nest.op.operands[1])[dim - 1]
    # Result o reads stride * o + dilation * tap of the padded image.
    first = (low - dilation * tap for tap in range(taps))
    return tuple(
        (min(results, max(0, -(-at // stride))), min(results, max(0, -(-(at + inside) // stride))))
        for at in first
    )


def _steps(nest: Structured, dim: int) -> tuple[int, int]:
    """The stride and the dilation along a dimension."""
    factors = dict(nest.indices[0][dim].factors)
    stride = factors.pop(nest.out[dim])
    (dilation,) = factors.values()
    return stride, dilation
