# SPDX-License-Identifier: Apache-2.0
"""The networks: shapes as in github.com/mlcommons/tiny, v1.0, benchmark/training."""

from __future__ import annotations

from collections.abc import Callable

import xtc.ops as O
from benchmarks.tiny.layers import Layers
from xtc.graph.graph import Graph


def resnet8() -> Graph:
    """Image classification: three stages of two convolutions with a sum."""
    make, x = Layers(), O.tensor((1, 32, 32, 3), "int8", name="x")
    with O.graph(name="resnet8") as gb:
        y = make.conv(x, 16, (3, 3), name="conv")
        for stage, filters in enumerate((16, 32, 64)):
            stride = 2 if stage else 1
            z = make.conv(y, filters, (3, 3), stride, name=f"a{stage}")
            z = make.conv(z, filters, (3, 3), name=f"b{stage}")
            if stage:
                y = make.conv(y, filters, (1, 1), stride, name=f"skip{stage}")
            y = make.add(y, z, name=f"sum{stage}")
        make.dense(make.mean(y, name="mean"), 10, name="dense")
    return gb.graph


def ds_cnn() -> Graph:
    """Keyword spotting: depthwise and pointwise convolutions."""
    make, x = Layers(), O.tensor((1, 49, 10, 1), "int8", name="x")
    with O.graph(name="ds_cnn") as gb:
        y = make.conv(x, 64, (10, 4), 2, name="conv")
        for block in range(4):
            y = make.depthwise(y, name=f"dw{block}")
            y = make.conv(y, 64, (1, 1), name=f"pw{block}")
        make.dense(make.mean(y, name="mean"), 12, name="dense")
    return gb.graph


_MOBILENET = ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5)


def mobilenet() -> Graph:
    """Visual wake words: MobileNetV1 with a quarter of the channels, images of 96 x 96."""
    make, x = Layers(), O.tensor((1, 96, 96, 3), "int8", name="x")
    with O.graph(name="mobilenet") as gb:
        y = make.conv(x, 8, (3, 3), 2, name="conv")
        for block, (filters, stride) in enumerate((*_MOBILENET, (256, 2), (256, 1))):
            y = make.depthwise(y, stride, name=f"dw{block}")
            y = make.conv(y, filters, (1, 1), name=f"pw{block}")
        make.dense(make.mean(y, name="mean"), 2, name="dense")
    return gb.graph


def autoencoder() -> Graph:
    """Anomaly detection: fully connected layers through a bottleneck."""
    make, y = Layers(), O.tensor((1, 640), "int8", name="x")
    with O.graph(name="autoencoder") as gb:
        for number, columns in enumerate((128, 128, 128, 128, 8, 128, 128, 128, 128, 640)):
            y = make.dense(y, columns, name=f"dense{number}")
    return gb.graph


NETWORKS: dict[str, Callable[[], Graph]] = {
    "ResNet-8": resnet8,
    "DS-CNN": ds_cnn,
    "MobileNetV1 0.25": mobilenet,
    "autoencoder": autoencoder,
}
