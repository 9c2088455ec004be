# SPDX-License-Identifier: Apache-2.0
"""conv2d: convolution of images (n, h, w, c) with filters (r, s, c, f), grouped forms included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.errors import UserError
from xtc.core.types import TensorType
from xtc.graph.builder import apply
from xtc.graph.operator import Array, Operator
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import LinalgBuilder, Loop, Value, parallel, reduction
from xtc.ops.accumulation import (
    accumulator_dtype,
    contraction_element,
    multiply_add,
    round_result,
)
from xtc.ops.attributes import check_int, check_operands, check_pair, operand_type, user_function
from xtc.ops.border import Border
from xtc.ops.elementwise import require_number, require_same_element
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


@dataclass(frozen=True)
class Conv2d(Operator):
    """`y[n, h, w, f] = sum_rsc x[n, h * stride + r * dilation, ..., c] * w[r, s, c, f]`.

    `padding` is ((top, bottom), (left, right)). `groups` divides channels and filters, and a filter
    sees the channels of its group. Accumulates like matmul.
    """

    name: ClassVar[str] = "conv2d"
    stride: Pair = (1, 1)
    padding: Border = NO_BORDER
    dilation: Pair = (1, 1)
    groups: int = 1

    def infer(self, *inputs: TensorType) -> TensorType:
        x, w = check_operands(self.name, inputs, 2)
        require_same_element(self.name, inputs)
        require_number(self.name, x)
        slides = self._slides(x, w)
        self._check_channels(int(x.shape[3]), int(w.shape[2]), int(w.shape[3]))
        result = image_type(x, slides, int(w.shape[3]))
        return result.with_element(contraction_element(x.element))

    def _slides(self, x: TensorType, w: TensorType) -> tuple[Slide, Slide]:
        sizes, window = image_sizes(self.name, x), _filter_sizes(w)
        return make_slides(self.name, sizes, window, self.stride, self.dilation, self.padding)

    def _check_channels(self, channels: int, seen: int, filters: int) -> None:
        groups = check_int(self.name, "groups", self.groups, minimum=1)
        for what, count in (("channels", channels), ("filters", filters)):
            if count % groups:
                raise UserError(
                    f"groups of conv2d is {groups}, which does not divide {count} {what}"
                )
        if seen != channels // groups:
            raise UserError(
                f"the filters of conv2d have {seen} channels, but the image has {channels}",
                notes=[
                    f"with groups={groups} they have {channels} / {groups} = {channels // groups}"
                ],
            )

    def reference(self, *arrays: Array) -> Array:
        x, w = (array.astype(accumulator_dtype(array.dtype)) for array in arrays)
        sizes, window = (x.shape[1], x.shape[2]), (w.shape[0], w.shape[1])
        slides = make_slides(self.name, sizes, window, self.stride, self.dilation, self.padding)
        windows = windows_of(np.pad(x, image_border(self.padding)), slides)
        n, h, v, channels, r, s = windows.shape
        part, filters = channels // self.groups, w.shape[3]
        taps = windows.reshape(n, h, v, self.groups, part, r, s).transpose(3, 0, 1, 2, 5, 6, 4)
        parts = w.reshape(r, s, part, self.groups, -1).transpose(3, 0, 1, 2, 4)
        products: Array = np.matmul(
            taps.reshape(self.groups, n * h * v, r * s * part),
            parts.reshape(self.groups, r * s * part, filters // self.groups),
        )
        result: Array = products.transpose(1, 0, 2).reshape(n, h, v, filters)
        return result

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return _LOOPS[self._form(*inputs)]

    def _form(self, x: TensorType, w: TensorType) -> str:
        if self.groups == 1:
            return "plain"
        if self.groups == x.shape[3]:
            return "depthwise" if w.shape[3] == self.groups else "multiplied"
        return "grouped"

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        x, w = inputs
        form = self._form(x.type, w.type)
        padded = emit_pad(builder, x, image_border(self.padding), 0)
        wide = result.with_element(result.element.accumulator)
        x_shape, w_shape, out_shape = self._shapes(form, padded.type, w.type, wide)
        operands = builder.reshape(padded, x_shape), builder.reshape(w, w_shape)
        init = builder.fill(0, wide.with_shape(out_shape))
        value = self._sum(builder, form, operands, init)
        return round_result(builder, builder.reshape(value, wide.sizes), result)

    def _shapes(
        self, form: str, x: TensorType, w: TensorType, out: TensorType
    ) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Shapes of operands and result, with a dimension for the group if the form needs it."""
        (*image, channels), (r, s, part, filters), (*positions, _) = x.sizes, w.sizes, out.sizes
        each = filters // self.groups
        if form == "depthwise":
            return x.sizes, (r, s, channels), out.sizes
        if form == "multiplied":
            return x.sizes, (r, s, channels, each), (*positions, channels, each)
        if form == "grouped":
            return (
                (*image, self.groups, part),
                (r, s, part, self.groups, each),
                (*positions, self.groups, each),
            )
        return x.sizes, w.sizes, out.sizes

    def _sum(
        self, builder: LinalgBuilder, form: str, operands: tuple[Value, Value], init: Value
    ) -> Value:
        loops = _LOOPS[form]
        indices = window_indices(self.stride, self.dilation)
        if form in _NAMED:
            attributes = window_attributes(self.stride, self.dilation)
            taps = len(loops) - init.type.rank
            sizes = (*init.type.sizes, *operands[1].type.sizes[:taps])
            return builder.named(
                _NAMED[form], operands, init, loops, sizes, indices=indices, attributes=attributes
            )
        maps = ("n", *indices, "g", "c"), ("r", "s", "c", "g", "f")
        out_map = ("n", "h", "w", "g", "f")
        return builder.generic(
            list(zip(operands, maps, strict=True)), (init, out_map), loops, multiply_add
        )

    def flops(self, *inputs: TensorType) -> int:
        return 2 * self.infer(*inputs).size * self.reduction_size(*inputs)

    def reduction_size(self, *inputs: TensorType) -> int:
        r, s, part, _ = inputs[1].sizes
        return r * s * part


_NAMED = {
    "plain": "linalg.conv_2d_nhwc_hwcf",
    "depthwise": "linalg.depthwise_conv_2d_nhwc_hwc",
    "multiplied": "linalg.depthwise_conv_2d_nhwc_hwcm",
}
_LOOPS = {
    "plain": (*parallel("n", "h", "w", "f"), *reduction("r", "s", "c")),
    "depthwise": (*parallel("n", "h", "w", "c"), *reduction("r", "s")),
    "multiplied": (*parallel("n", "h", "w", "c", "m"), *reduction("r", "s")),
    "grouped": (*parallel("n", "h", "w", "g", "f"), *reduction("r", "s", "c")),
}


@user_function
def conv2d(
    x: Tensor,
    w: Tensor,
    *,
    stride: int | Pair = 1,
    padding: object = 0,
    dilation: int | Pair = 1,
    groups: int = 1,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """2-D convolution of `x`, (n, h, w, c), with filters `w`, (r, s, c / groups, f).

    The result is (n, h', w', f). Stride and dilation are one number or (height, width); padding is
    zeros: one number, (height, width), ((top, bottom), (left, right)), "valid" for none, or "same"
    for ceil(h / stride) x ceil(w / stride) positions with the odd row or column at the end.
    `groups` splits channels and filters; with groups == c every channel has its filters
    (depthwise). float16 and bfloat16 are summed in float32 and rounded once; int8 and int16 give
    int32. Loops are n, h, w, f, r, s, c; with groups n, h, w, g, f, r, s, c; depthwise n, h, w, c,
    r, s, and m before r where a channel has several filters. Raises UserError if shapes, element
    types or attributes do not fit.
    """
    strides = check_pair("conv2d", "stride", stride, minimum=1)
    dilations = check_pair("conv2d", "dilation", dilation, minimum=1)
    sizes = image_sizes("conv2d", operand_type("conv2d", x))
    window = _filter_sizes(operand_type("conv2d", w))
    border = canonical_padding("conv2d", padding, sizes, window, strides, dilations)
    op = Conv2d(strides, border, dilations, check_int("conv2d", "groups", groups, minimum=1))
    return apply(op, x, w, name=name, device=device)


def _filter_sizes(w: TensorType) -> Pair:
    """Height and width of the filters (r, s, c, f). Raises UserError for another rank."""
    if w.rank != 4:
        raise UserError(
            f"the filters of conv2d have rank {w.rank}, not 4",
            notes=["their dimensions are height, width, channel, filter"],
        )
    if not w.is_static:
        raise UserError(f"the filters of conv2d have the symbolic height '{w.shape[0]}'")
    return w.sizes[0], w.sizes[1]
