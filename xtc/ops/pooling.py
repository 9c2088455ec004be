# SPDX-License-Identifier: Apache-2.0
"""Shared by max_pool2d and avg_pool2d: a window over the height and width of each channel."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from xtc.core.errors import UserError
from xtc.core.types import TensorType
from xtc.graph.operator import Array, Operator
from xtc.ir.builders.linalg import LinalgBuilder, Loop, Value, parallel, reduction
from xtc.ops.attributes import check_ints, check_operands, check_pair, operand_type
from xtc.ops.border import Border
from xtc.ops.pad import emit_pad
from xtc.ops.window import (
    NO_BORDER,
    Pair,
    Slide,
    canonical_padding,
    image_border,
    image_sizes,
    image_type,
    make_slides,
    window_attributes,
    window_indices,
    windows_of,
)

Number = float | int


class WindowAttributes(TypedDict):
    """The attributes every pooling has, in canonical form."""

    window: Pair
    stride: Pair
    padding: Border
    dilation: Pair


@dataclass(frozen=True)
class Pool2d(Operator):
    """Reduces a window of `x`, (n, h, w, c), at each position; `padding` is of height and width.

    Every window covers at least one element of the image.
    """

    window: Pair
    stride: Pair
    padding: Border = NO_BORDER
    dilation: Pair = (1, 1)

    def infer(self, *inputs: TensorType) -> TensorType:
        (x,) = check_operands(self.name, inputs, 1)
        self.check_element(x)
        slides = self.slides(image_sizes(self.name, x))
        result = image_type(x, slides, int(x.shape[3]))
        for what, slide in zip(("height", "width"), slides, strict=True):
            self._check_covered(what, slide)
        return result

    @abstractmethod
    def check_element(self, type: TensorType) -> None:
        """Raise UserError for element types the reduction is not defined on."""

    def slides(self, sizes: Pair) -> tuple[Slide, Slide]:
        """The positions of the window on an image of these sizes; checks the attributes."""
        r, s = check_ints(self.name, "window", self.window, count=2, minimum=1)
        return make_slides(self.name, sizes, (r, s), self.stride, self.dilation, self.padding)

    def _check_covered(self, what: str, slide: Slide) -> None:
        widest = max(slide.before, slide.after)
        if widest >= slide.extent:
            raise UserError(
                f"padding of {self.name} is {widest} in {what}, "
                f"but its window spans {slide.extent}",
                notes=["a window must not lie in the padding alone"],
            )
        if widest and not slide.counts().all():
            raise UserError(
                f"a window of {self.name} lies in the padding alone: its taps are {slide.dilation} "
                f"apart, and the {what} is {slide.size}"
            )

    def padded_windows(self, x: Array, value: Number) -> Array:
        """A view (n, h', w', c, r, s) of `x` padded with `value`."""
        padded = np.pad(x, image_border(self.padding), constant_values=x.dtype.type(value))
        return windows_of(padded, self.slides((x.shape[1], x.shape[2])))

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return (*parallel("n", "h", "w", "c"), *reduction("r", "s"))

    def reduce(
        self, builder: LinalgBuilder, name: str, x: Value, result: TensorType, start: Number
    ) -> Value:
        """The linalg operation `name` on `x` padded with `start`, its initial value."""
        padded = emit_pad(builder, x, image_border(self.padding), start)
        shape = builder.empty(x.type.with_shape(self.window))
        init = builder.fill(start, result)
        attributes = window_attributes(self.stride, self.dilation)
        return builder.named(
            name,
            (padded, shape),
            init,
            self.loops(),
            (*result.sizes, *self.window),
            indices=window_indices(self.stride, self.dilation),
            attributes=attributes,
        )

    def flops(self, *inputs: TensorType) -> int:
        return self.infer(*inputs).size * self.window[0] * self.window[1]


def canonical_window(
    op: str, x: object, window: object, stride: object, padding: object, dilation: object
) -> WindowAttributes:
    """A user's window attributes, checked; a stride of None is the window."""
    sizes = image_sizes(op, operand_type(op, x))
    taps = check_pair(op, "window", window, minimum=1)
    strides = taps if stride is None else check_pair(op, "stride", stride, minimum=1)
    dilations = check_pair(op, "dilation", dilation, minimum=1)
    border = canonical_padding(op, padding, sizes, taps, strides, dilations)
    return {"window": taps, "stride": strides, "padding": border, "dilation": dilations}
