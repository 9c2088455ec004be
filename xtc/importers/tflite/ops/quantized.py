# SPDX-License-Identifier: Apache-2.0
"""Quantization, dequantization and requantization."""

from __future__ import annotations

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.tflite.call import Call, known
from xtc.importers.tflite.table import reads
from xtc.importers.values import Unsupported, Value

_NARROW = ("int8", "uint8", "int16")


@reads("QUANTIZE")
def quantize(call: Call) -> Tensor:
    x, dtype, y = call.tensor(0), call.results[0].dtype, call.result_scale
    if dtype not in _NARROW:
        raise Unsupported(f"a result of {dtype}")
    if x.dtype == "float32":
        return O.quantize(x, y.scale, zero_point=y.zero_point, dtype=dtype, halves="away")
    if x.dtype not in _NARROW:
        raise Unsupported(f"an operand of {x.dtype}")
    q = call.scale(0)
    steps = O.cast(x, "int32")
    steps = O.sub(steps, q.zero_point) if q.zero_point else steps
    return O.requantize(steps, q.scale / y.scale, zero_point=y.zero_point, dtype=dtype)


@reads("DEQUANTIZE")
def dequantize(call: Call) -> Value:
    found = call.value(0)
    if isinstance(found, np.ndarray):
        return known(call, 0)
    x = found
    if x.dtype == "float16":
        return O.cast(x, "float32")
    scaling = call.scales(0)
    if len(scaling.scales) == 1:
        q = call.scale(0)
        return O.dequantize(x, q.scale, zero_point=q.zero_point)
    shape = [1] * x.type.rank
    shape[scaling.axis] = -1
    scales = scaling.scales.reshape(shape)
    if scaling.zero_points.any():
        points = scaling.zero_points.reshape(shape).astype(np.int32)
        x = O.sub(O.cast(x, "int32"), O.tensor(points.shape, "int32", const=points))
    return O.mul(
        O.cast(x, "float32"), O.tensor(scales.shape, "float32", const=np.ascontiguousarray(scales))
    )
