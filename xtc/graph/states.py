# SPDX-License-Identifier: Apache-2.0
"""States: tensors that a module keeps between calls, and that calls update."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from xtc.core.errors import UserError
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor

Updates = tuple[tuple[Tensor, Tensor], ...]
"""States, each with its value after a call."""


def make_state(tensor: Tensor, initial: Array | None) -> None:
    """Make an input a state. Raises UserError if it lives on a device."""
    if tensor.placement is not None:
        raise UserError("a state lives on the host, not on a device")
    tensor.state, tensor.initial = True, initial


def checked_update(state: Tensor, value: Tensor, known: Mapping[Tensor, Tensor]) -> Tensor:
    """`value`, if it is a valid update of `state`. Raises UserError otherwise."""
    if not isinstance(state, Tensor) or not state.state:
        raise UserError(
            "the first argument of O.update is a state",
            hints=["O.tensor(shape, dtype, state=True) is one"],
        )
    if not isinstance(value, Tensor) or value.producer is None:
        raise UserError(f"the update of {_label(state)} is not the result of an operator")
    if state in known:
        raise UserError(f"{_label(state)} is updated twice")
    if value.type != state.type:
        raise UserError(f"{_label(state)} is {state.type}, and its update {value.type}")
    return value


def check_states(tensors: Collection[Tensor], updates: Mapping[Tensor, Tensor]) -> None:
    """Raise UserError for a state that a graph never updates, or never reads."""
    for state in updates:
        if state not in tensors:
            raise UserError(
                f"{_label(state)} is never read", where=state.where, hints=["make it an output"]
            )
    for tensor in tensors:
        if tensor.state and tensor not in updates:
            raise UserError(
                f"{_label(tensor)} is never updated",
                where=tensor.where,
                hints=["call O.update(state, value), or declare an input"],
            )


def _label(state: Tensor) -> str:
    return f"state '{state.name}'" if state.name else "a state"
