# SPDX-License-Identifier: Apache-2.0
"""Names of element types by ONNX's numbers."""

from __future__ import annotations

from typing import Any

import onnx

from xtc.core.types import ELEMENT_TYPES
from xtc.importers.onnx.narrow import is_narrow
from xtc.importers.values import Unsupported


def narrow_name(number: int) -> str:
    """The name of a narrow element type; "" for any other."""
    try:
        name = str(onnx.helper.tensor_dtype_to_np_dtype(number).name)
    except KeyError:
        return ""
    return name if is_narrow(name) else ""


def any_element_name(number: Any) -> str:
    """The name of an element type, narrow or not. Raises Unsupported for others."""
    try:
        name = str(onnx.helper.tensor_dtype_to_np_dtype(int(number)).name)
    except (KeyError, TypeError, ValueError):
        raise Unsupported(f"element type number {number}") from None
    return name if is_narrow(name) else element_name(number)


def element_name(number: Any) -> str:
    """The name of an element type. Raises Unsupported for types that graphs lack."""
    try:
        name = onnx.helper.tensor_dtype_to_np_dtype(int(number)).name
    except (KeyError, TypeError, ValueError):
        raise Unsupported(f"element type number {number}") from None
    if name not in ELEMENT_TYPES:
        raise Unsupported(f"element type {onnx.TensorProto.DataType.Name(int(number))}")
    return str(name)
