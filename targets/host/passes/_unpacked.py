# SPDX-License-Identifier: Apache-2.0
"""Tensors that elementwise operations compute from fewer bytes: weights of few bits, as numbers."""

from __future__ import annotations

import math

from xtc.ir.analysis.linalg_ops import owner
from xtc.ir.analysis.structured import element_bits, is_shaped, shape_of, structured
from xtc.ir.mlir import Value


def is_unpacked(value: Value) -> bool:
    """Whether one elementwise operation computes `value`, for one reader, from fewer bytes.

    It must read no element twice but those that are broadcast, and have no schedule.
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
