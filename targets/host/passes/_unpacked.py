# SPDX-License-Identifier: Apache-2.0
"""Tensors that are computed elementwise from fewer bytes, such as dequantized weights."""

from __future__ import annotations

import math

from xtc.ir.analysis.linalg_ops import owner
from xtc.ir.analysis.structured import element_bits, is_shaped, shape_of, structured
from xtc.ir.mlir import Value


def is_unpacked(value: Value) -> bool:
    """Whether a single elementwise operation computes `value` from fewer bytes, for one reader.

    It must read each element once, except broadcast ones, and have no schedule.
    """
    producer = owner(value)
    nest = structured(producer) if producer is not None else None
    if nest is None or nest.reductions or nest.op.name != "linalg.generic":
        return False
    if len(list(value.uses)) != 1 or nest.device is not None or nest.reads_destination:
        return False
    operands = [nest.op.operands[number] for number in range(nest.destination)]
    read = sum(_bits(operand) for operand in operands if is_shaped(operand))
    return 0 < read < _bits(value)


def _bits(value: Value) -> int:
    return math.prod(shape_of(value)) * element_bits(value)
