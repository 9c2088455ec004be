# SPDX-License-Identifier: Apache-2.0
"""Operators with named shapes: `conv2d:ResNet18_01` or `matmul:Polybench_large:float64`.

Papers on tiling and autotuning publish figures for these shapes: layers of Yolo9000, MobileNet,
ResNet-18, SqueezeNet and AlexNet, the matmuls of Llama 3 and Gemma, and Polybench's. The numbers
are those of xtc-tools, so that figures are comparable. A convolution takes an image that is already
padded: `height + kernel height - 1` rows.
"""

from __future__ import annotations

import xtc.ops as O
from xtc.core.errors import UserError, did_you_mean
from xtc.graph.graph import Graph

_CONVOLUTIONS = """
Yolo9000_00 544x544 3 32 3x3 1
Yolo9000_02 272x272 32 64 3x3 1
Yolo9000_04 136x136 64 128 3x3 1
Yolo9000_05 136x136 128 64 1x1 1
Yolo9000_08 68x68 128 256 3x3 1
Yolo9000_09 68x68 256 128 1x1 1
Yolo9000_12 34x34 256 512 3x3 1
Yolo9000_13 34x34 512 256 1x1 1
Yolo9000_18 17x17 512 1024 3x3 1
Yolo9000_19 17x17 1024 512 1x1 1
Yolo9000_23 17x17 1024 28272 1x1 1
MobilNet_01 112x112 32 32 3x3 1
MobilNet_02 112x112 64 64 3x3 2
MobilNet_03 56x56 128 128 3x3 1
MobilNet_04 56x56 128 128 3x3 2
MobilNet_05 28x28 256 256 3x3 1
MobilNet_06 28x28 256 256 3x3 2
MobilNet_07 14x14 512 512 3x3 1
MobilNet_08 14x14 512 512 3x3 2
MobilNet_09 7x7 1024 1024 3x3 1
ResNet18_01 224x224 3 64 7x7 2
ResNet18_02 56x56 64 64 3x3 1
ResNet18_03 56x56 64 64 1x1 1
ResNet18_04 56x56 64 128 3x3 2
ResNet18_05 56x56 64 128 1x1 2
ResNet18_06 28x28 128 128 3x3 1
ResNet18_07 28x28 128 256 3x3 2
ResNet18_08 28x28 128 256 3x3 1
ResNet18_09 14x14 256 256 3x3 1
ResNet18_10 14x14 512 512 3x3 2
ResNet18_11 14x14 256 512 1x1 2
ResNet18_12 7x7 512 512 3x3 1
SqueezeNet_00 224x224 3 96 7x7 2
SqueezeNet_01 54x54 96 16 1x1 1
SqueezeNet_03 56x56 16 64 3x3 1
SqueezeNet_04 54x54 128 16 1x1 1
SqueezeNet_05 54x54 128 32 1x1 1
SqueezeNet_07 54x54 32 128 3x3 1
SqueezeNet_08 27x27 256 32 1x1 1
SqueezeNet_11 27x27 256 48 1x1 1
SqueezeNet_13 27x27 48 192 3x3 1
SqueezeNet_14 27x27 384 48 1x1 1
SqueezeNet_17 27x27 64 256 3x3 1
SqueezeNet_21 15x15 512 1000 1x1 1
AlexNet_00 228x228 3 64 11x11 4
AlexNet_01 31x31 64 192 5x5 1
AlexNet_02 15x15 192 384 3x3 1
AlexNet_03 15x15 384 256 3x3 1
AlexNet_04 15x15 256 256 3x3 1
"""
"""Name, height x width, channels, filters, kernel, stride."""
_MATMULS = """
Llama3AttMm 8192 8192 4096
Polybench_medium 200 224 240
Polybench_large 1000 1104 1200
Polybench_extralarge 2000 2304 2600
Llama3_In 4096 4096 128
Llama3_QK 128 4096 8192
Llama3_QKV 128 8192 4096
Llama3_FC 4096 4096 4096
Gemma27B_In 4608 4096 256
Gemma27B_QK 256 4608 8192
Gemma27B_QKV 256 8192 4608
Gemma27B_FC 4608 36864 4608
Gemma9B_In 3584 4096 256
Gemma9B_QK 256 3584 8192
Gemma9B_QKV 256 8192 3584
Gemma9B_FC 3584 14336 3584
Gemma7B_In 3072 4096 256
Gemma7B_QK 256 3072 8192
Gemma7B_QKV 256 8192 3072
Gemma7B_FC 3072 24576 3072
Gemma2B_In 2048 4096 256
Gemma2B_QK 256 2048 8192
Gemma2B_QKV 256 8192 2048
Gemma2B_FC 2048 16384 2048
AlexNet_FC6 1 4096 9216
AlexNet_FC7 1 4096 4096
AlexNet_FC8 1 1000 4096
"""
"""Name, rows, columns, K."""


def named_graph(text: str) -> Graph:
    """The graph of one operator with a named shape and an element type, by default float32.

    Raises UserError for an unknown operator or name.
    """
    kind, _, rest = text.partition(":")
    name, _, dtype = rest.partition(":")
    if kind not in _TABLES:
        hints = did_you_mean(kind, _TABLES)
        raise UserError(f"operator '{kind}' has no named shapes", hints=hints)
    known = {row[0].lower(): row[1:] for row in map(str.split, _TABLES[kind].strip().splitlines())}
    if name.lower() not in known:
        raise UserError(
            f"no {kind} is called '{name}'",
            hints=did_you_mean(name, names(kind)),
        )
    with O.graph(name=f"{kind}_{name}".lower()) as builder:
        _WRITES[kind](known[name.lower()], dtype or "float32")
    return builder.graph


def is_named(text: str) -> bool:
    """Whether a text has the form of a named shape."""
    return text.partition(":")[0] in _TABLES and ":" in text


def names(kind: str) -> list[str]:
    """The names of the shapes of an operator."""
    return [row.split()[0] for row in _TABLES[kind].strip().splitlines()]


def _conv2d(row: list[str], dtype: str) -> None:
    image, channels, filters, kernel, stride = row
    (height, width), (rows, columns) = (map(int, pair.split("x")) for pair in (image, kernel))
    shape = (1, height + rows - 1, width + columns - 1, int(channels))
    x = O.tensor(shape, dtype, name="X")
    weights = O.tensor((rows, columns, int(channels), int(filters)), dtype, name="W")
    O.conv2d(x, weights, stride=int(stride), name="C")


def _matmul(row: list[str], dtype: str) -> None:
    rows, columns, k = map(int, row)
    O.matmul(
        O.tensor((rows, k), dtype, name="A"), O.tensor((k, columns), dtype, name="B"), name="C"
    )


_TABLES = {"conv2d": _CONVOLUTIONS, "matmul": _MATMULS}
_WRITES = {"conv2d": _conv2d, "matmul": _matmul}
