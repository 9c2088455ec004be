# SPDX-License-Identifier: Apache-2.0
"""Padding rules of convolutions and poolings: windows at the end read a border."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from xtc.driver.buckets.extents import Extent, is_leading, is_whole
from xtc.driver.buckets.step import Step
from xtc.ops.avg_pool2d import AvgPool2d
from xtc.ops.conv2d import Conv2d
from xtc.ops.conv3d import Conv3d
from xtc.ops.max_pool2d import MaxPool2d

WINDOWED = (Conv2d, Conv3d, MaxPool2d, AvgPool2d)


def windowed(step: Step, large: Any) -> list[Extent]:
    """The common rule: windows beyond the image read the border's elements."""
    small: Any = step.small.op
    step.require(replace(small, padding=large.padding) == large, "its window depends on the size")
    image, *weights = step.extents
    for extents in weights:
        step.require(all(map(is_whole, extents)), "its weights are padded")
    step.require(is_whole(image[-1]), "its channels are padded")
    for axis, ends in enumerate(zip(small.padding, large.padding, strict=True), start=1):
        _border(step, axis, *ends)
    if isinstance(large, AvgPool2d):
        _counted(step, small, large)
    return [image[0], *step.output()[1:]]


def _border(step: Step, axis: int, small: Sequence[int], large: Sequence[int]) -> None:
    extent = step.extents[0][axis]
    if is_whole(extent):
        step.require(tuple(small) == tuple(large), "its border depends on the size")
        return
    step.require(is_leading(extent), "its window slides along several dimensions")
    step.require(small[0] == large[0], "its border depends on the size")
    if small[1]:
        step.overwrite(0, axis, _beyond(step))


def _beyond(step: Step) -> float | int:
    """The value of elements beyond the image."""
    if not isinstance(step.large.op, MaxPool2d):
        return 0
    element = step.large.inputs[0].element
    return -np.inf if element.is_float else element.limits[0]


def _counted(step: Step, small: AvgPool2d, large: AvgPool2d) -> None:
    """Check that both graphs divide means by the same counts."""
    images = (node.inputs[0].type.sizes for node in (step.small, step.large))
    (_, *few_sizes, _), (_, *many_sizes, _) = images
    counts = (
        small.counts((few_sizes[0], few_sizes[1])),
        large.counts((many_sizes[0], many_sizes[1])),
    )
    for few, many in zip(*counts, strict=True):
        same = np.array_equal(few, many[: len(few)])
        step.require(same, "means at the border are of fewer elements")
