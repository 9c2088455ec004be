# SPDX-License-Identifier: Apache-2.0
"""Parses the input types that a caller gives to a graph, in any accepted form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from xtc.core.call import match_names
from xtc.core.errors import UserError
from xtc.core.types import TensorType, tensor_type
from xtc.graph.tensor import Tensor
from xtc.graph.untyped import UntypedTensor


def given_types(
    callee: str,
    inputs: Mapping[str, Tensor],
    types: Sequence[object],
    named: Mapping[str, object],
) -> dict[str, TensorType]:
    """The type of each input by name. Raises UserError if one is missing or contradictory."""
    names = list(inputs)
    known = {
        name: None
        for name in names[len(types) :]
        if name not in named and not isinstance(inputs[name], UntypedTensor)
    }
    given = match_names(callee, names, types, {**known, **named}, "types")
    return {name: _checked(name, inputs[name], value) for name, value in given.items()}


def _checked(name: str, tensor: Tensor, given: object) -> TensorType:
    """The type given to an input. Raises UserError if its declaration does not allow it."""
    note = f"it is declared at {tensor.where}"
    if not isinstance(tensor, UntypedTensor):
        type = tensor.type if given is None else _type(given, tensor.dtype)
        if type != tensor.type:
            raise UserError(f"input '{name}' is {tensor.type}, not {type}", notes=[note])
        return type
    if given is None:
        raise UserError(f"the type of input '{name}' is needed", notes=[note])
    declared = tensor.given.name if tensor.given else None
    type = _type(given, declared or "float32")
    if declared not in (None, type.element.name):
        raise UserError(f"input '{name}' is {declared}, not {type.element}", notes=[note])
    return type


def _type(given: object, dtype: str) -> TensorType:
    if isinstance(given, TensorType):
        return given
    if isinstance(given, Tensor):
        return given.type
    if isinstance(given, np.ndarray):
        return tensor_type(given.shape, given.dtype)
    if isinstance(given, tuple | list) and len(given) == 2 and isinstance(given[0], tuple | list):
        return tensor_type(*given)
    return tensor_type(given, dtype)
