# SPDX-License-Identifier: Apache-2.0
"""The number of instructions that an elementwise operation becomes on a GPU."""

from __future__ import annotations

from types import MappingProxyType

from xtc.ir.mlir import FloatType, Operation, Type, VectorType

LIBRARY = MappingProxyType(
    {
        "exp": (12, 43),
        "exp2": (1, 48),
        "expm1": (27, 48),
        "log": (26, 67),
        "log10": (27, 69),
        "log1p": (28, 90),
        "log2": (28, 69),
        "erf": (27, 60),
        "erfc": (54, 104),
        "pow": (104, 241),
        "rsqrt": (1, 1),
        "sin": (89, 211),
        "cos": (90, 212),
        "tan": (89, 219),
        "atan2": (44, 72),
        "sinh": (34, 64),
        "cosh": (21, 40),
        "tanh": (18, 59),
        "asin": (25, 64),
        "acos": (28, 85),
        "atan": (23, 42),
        "asinh": (46, 190),
        "acosh": (63, 181),
        "atanh": (41, 102),
    }
)
"""PTX instructions of each function of the device library, inlined, in float32 and float64, as
LLVM 22 generates them."""

FUNCTIONS = MappingProxyType(
    {f"math.{name}": name for name in LIBRARY if name != "pow"} | {"math.powf": "pow"}
)
"""The function of the device library that computes an operation."""

_SEQUENCES = MappingProxyType(
    {
        "arith.divf": 17,
        "math.sqrt": 14,
        **dict.fromkeys(("arith.divsi", "arith.divui", "arith.remsi", "arith.remui"), 30),
    }
)
"""Machine instructions that ptxas 13 writes for one PTX instruction for sm_90a, in 32 bits."""


def instructions(op: Operation) -> int:
    """The number of instructions of an elementwise operation for an element."""
    name = FUNCTIONS.get(op.name)
    if name is None:
        return _SEQUENCES.get(op.name, 1)
    return library_instructions(name, element_of(op.results[0].type))


def library_instructions(name: str, element: Type) -> int:
    """The number of instructions of a library function, which computes narrow floats in float32."""
    return LIBRARY[name][FloatType(element).width == 64]


def element_of(type: Type) -> Type:
    """The type of the elements of a vector, or of a scalar."""
    return type.element_type if isinstance(type, VectorType) else type
