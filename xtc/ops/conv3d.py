# SPDX-License-Identifier: Apache-2.0
"""conv3d: convolution of volumes (n, d, h, w, c) with filters (q, r, s, c, f)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.errors import UserError
from xtc.core.types import TensorType, tensor_type
from xtc.graph.builder import apply
from xtc.graph.operator import Array, Operator
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import LinalgBuilder, Loop, Value, parallel, reduction
from xtc.ops.accumulation import accumulator_dtype, multiply_add, product_element, round_result
from xtc.ops.attributes import (
    check_each,
    check_int,
    check_ints,
    check_operands,
    operand_type,
    user_function,
)
from xtc.ops.border import Border
from xtc.ops.elementwise import require_number, require_same_element
from xtc.ops.pad import emit_pad
from xtc.ops.window import Slide, canonical_padding

Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Conv3d(Operator):
    """The sum over taps and channels of x times filters, as conv2d in one more dimension.

    `padding` has (before, after) of depth, height and width.
    """

    name: ClassVar[str] = "conv3d"
    stride: Triple = (1, 1, 1)
    padding: Border = ((0, 0), (0, 0), (0, 0))
    dilation: Triple = (1, 1, 1)
    groups: int = 1

    def infer(self, *inputs: TensorType) -> TensorType:
        x, w = check_operands(self.name, inputs, 2)
        require_same_element(self.name, inputs)
        require_number(self.name, x)
        _require_rank(x, w)
        groups = check_int(self.name, "groups", self.groups, minimum=1)
        channels, filters = int(x.shape[4]), w.sizes[4]
        if channels % groups or filters % groups or w.sizes[3] != channels // groups:
            raise UserError(
                f"the filters of conv3d have {w.sizes[3]} channels, but the image has {channels}",
                notes=[f"groups is {groups}, the filters are {filters}"],
            )
        shape = (x.shape[0], *(slide.output for slide in self._slides(x.shape, w.sizes)), filters)
        return tensor_type(shape, product_element(x.element).name)

    def _slides(self, x: Sequence[int | str], w: Sequence[int]) -> list[Slide]:
        strides = check_ints(self.name, "stride", self.stride, count=3, minimum=1)
        dilations = check_ints(self.name, "dilation", self.dilation, count=3, minimum=1)
        if len(self.padding) != 3:
            raise UserError(f"padding of conv3d has {len(self.padding)} entries, not 3")
        border = [
            check_ints(self.name, "padding", ends, count=2, minimum=0) for ends in self.padding
        ]
        slides = [
            Slide(int(x[d + 1]), w[d], strides[d], dilations[d], *border[d]) for d in range(3)
        ]
        for what, slide in zip(("depth", "height", "width"), slides, strict=True):
            if slide.output < 1:
                raise UserError(
                    f"the window of conv3d spans {slide.extent} of the {what}, "
                    f"which has {slide.padded}"
                )
        return slides

    def reference(self, *arrays: Array) -> Array:
        x, w = (array.astype(accumulator_dtype(array.dtype)) for array in arrays)
        slides = self._slides(x.shape, w.shape)
        padded = np.pad(x, ((0, 0), *self.padding, (0, 0)))
        windows = np.lib.stride_tricks.sliding_window_view(
            padded, [slide.extent for slide in slides], axis=(1, 2, 3)
        )
        steps = (slice(None, None, slide.stride) for slide in slides)
        taps = (slice(None, None, slide.dilation) for slide in slides)
        chosen = (slice(None), *steps, slice(None), *taps)
        windows = windows[chosen]
        n, d, h, v, channels, *_ = windows.shape
        part, each = channels // self.groups, w.shape[4] // self.groups
        split = windows.reshape(n, d, h, v, self.groups, part, *w.shape[:3])
        filters = w.reshape(*w.shape[:3], part, self.groups, each)
        result: Array = np.einsum("ndhvgcqrs,qrscgf->ndhvgf", split, filters, optimize=True)
        return result.reshape(n, d, h, v, -1)

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        lead = ("n", "d", "h", "w", "g", "f") if self.groups > 1 else ("n", "d", "h", "w", "f")
        return (*parallel(*lead), *reduction("q", "r", "s", "c"))

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        x, w = inputs
        padded = emit_pad(builder, x, ((0, 0), *self.padding, (0, 0)), 0)
        groups, loops = self.groups, self.loops(x.type, w.type)
        indices = [
            f"{position} * {step} + {tap} * {apart}"
            for position, tap, step, apart in zip(
                "dhw", "qrs", self.stride, self.dilation, strict=True
            )
        ]
        wide = result.with_element(result.element.accumulator)
        group = ("g",) if groups > 1 else ()
        if groups > 1:
            *lead, channels = padded.type.sizes
            padded = builder.reshape(padded, (*lead, groups, channels // groups))
            *taps, filters = w.type.sizes
            w = builder.reshape(w, (*taps, groups, filters // groups))
            *lead, filters = wide.sizes
            wide = wide.with_shape((*lead, groups, filters // groups))
        init = (builder.fill(0, wide), ("n", "d", "h", "w", *group, "f"))
        operands = [
            (padded, ("n", *indices, *group, "c")),
            (w, ("q", "r", "s", "c", *group, "f")),
        ]
        value = builder.generic(operands, init, loops, multiply_add)
        shaped = builder.reshape(value, result.sizes)
        return round_result(builder, shaped, result)

    def flops(self, *inputs: TensorType) -> int:
        return 2 * self.infer(*inputs).size * self.reduction_size(*inputs)

    def reduction_size(self, *inputs: TensorType) -> int:
        return math.prod(inputs[1].sizes[:4])


@user_function
def conv3d(
    x: Tensor,
    w: Tensor,
    *,
    stride: int | Sequence[int] = 1,
    padding: object = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """3-D convolution of `x`, (n, d, h, w, c), with filters `w`, (q, r, s, c / groups, f).

    The result is (n, d', h', w', f). Stride and dilation are one number or (depth, height, width);
    padding is zeros: one number, (depth, height, width), a pair (before, after) for each, "valid"
    or "same". Sums, groups and these words are as in conv2d. Raises UserError if shapes, element
    types or attributes do not fit.
    """
    image, filters = operand_type("conv3d", x), operand_type("conv3d", w)
    _require_rank(image, filters)
    strides, dilations = _triple("stride", stride), _triple("dilation", dilation)
    sizes, window = [int(size) for size in image.shape[1:4]], filters.sizes[:3]
    border = canonical_padding("conv3d", padding, sizes, window, strides, dilations)
    return apply(Conv3d(strides, border, dilations, groups), x, w, name=name, device=device)


def _require_rank(x: TensorType, w: TensorType) -> None:
    for what, type in (("image", x), ("filters", w)):
        if type.rank != 5:
            raise UserError(f"the {what} of conv3d has rank {type.rank}, not 5")


def _triple(attribute: str, value: object) -> Triple:
    depth, height, width = check_each("conv3d", attribute, value, count=3, minimum=1)
    return depth, height, width
