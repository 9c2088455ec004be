# SPDX-License-Identifier: Apache-2.0
"""Constants as text: nested lists of numbers where that is exact, else base64 of the bytes.

The bytes are the array's elements in row-major order, little-endian on every machine.
"""

from __future__ import annotations

import base64
import binascii
import math
import textwrap
from collections.abc import Iterator
from typing import Any

import numpy as np

from xtc.core.errors import UserError, located
from xtc.core.types import ElementType, TensorType
from xtc.core.yaml_tree import Leaf, List, Tree, kind_of
from xtc.graph.scalar_constant import number_array

Array = np.ndarray[Any, Any]

MAX_LISTED = 16
_BASE64_COLUMNS = 96


def listed(array: Array, element: ElementType) -> Any:
    """`array` as a number or nested lists of numbers; None if it is too large or not exact."""
    if array.size > MAX_LISTED:
        return None
    with np.errstate(invalid="ignore"):
        numbers = [_shortest(value, element) for value in array.reshape(-1)]
    if any(number is None for number in numbers):
        return None
    return np.array(numbers, dtype=object).reshape(array.shape).tolist()


def _shortest(value: Any, element: ElementType) -> bool | int | float | None:
    """The shortest number that gives exactly the NumPy scalar `value`; None for odd NaNs."""
    if not element.is_float:
        plain: bool | int = value.item()
        return plain
    numbers = (math.nan,) if np.isnan(value) else (float(str(value)), float(value))
    for number in numbers:
        if np.float64(number).astype(element.numpy).tobytes() == value.tobytes():
            return number
    return None


def from_list(tree: Tree, type: TensorType) -> Array:
    """The array in nested lists of numbers. Raises UserError if they do not fit `type`."""
    numbers = list(_numbers(tree, type.sizes, type.element))
    return np.stack(numbers).reshape(type.sizes)


def _numbers(tree: Tree, shape: tuple[int, ...], element: ElementType) -> Iterator[Array]:
    if not shape:
        yield _element(tree, element)
        return
    if not isinstance(tree, List) or len(tree.items) != shape[0]:
        found = f"{len(tree.items)}" if isinstance(tree, List) else kind_of(tree)
        raise UserError(f"the data has {found} where {shape[0]} values belong", where=tree.where)
    for item in tree.items:
        yield from _numbers(item, shape[1:], element)


def _element(tree: Tree, element: ElementType) -> Array:
    value: Any = tree.value if isinstance(tree, Leaf) else None
    allowed = {"bool": (bool,), "int": (int,), "float": (int, float)}[element.kind]
    with located(tree.where):
        if type(value) not in allowed:
            raise UserError(f"{kind_of(tree)} is not a value of type {element}")
        return number_array(value, element)


def to_base64(array: Array) -> str:
    """The bytes of `array` as lines of base64."""
    bits = array.view(f"u{array.itemsize}")
    data = bits.astype(bits.dtype.newbyteorder("<")).tobytes()
    lines = textwrap.wrap(base64.b64encode(data).decode("ascii"), _BASE64_COLUMNS)
    return "\n".join(lines) + "\n"


def from_base64(text: str, type: TensorType) -> Array:
    """The array whose bytes `text` encodes. Raises UserError for a wrong number of bytes."""
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise UserError("the data is not base64", notes=[str(error)]) from None
    if len(data) != type.nbytes:
        raise UserError(f"the data has {len(data)} bytes; {type} has {type.nbytes}")
    return from_bytes(data, type)


def from_bytes(data: bytes, type: TensorType) -> Array:
    """The array of little-endian `data`. Raises UserError for bools that are neither 0 nor 1."""
    stored = np.dtype(f"<u{type.element.nbytes}")
    bits = np.frombuffer(data, stored).astype(stored.newbyteorder("="))
    if type.element.kind == "bool" and bits.size and int(bits.max()) > 1:
        raise UserError("the data of a bool tensor has bytes other than 0 and 1")
    return bits.view(type.element.numpy).reshape(type.sizes)
