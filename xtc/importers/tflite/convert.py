# SPDX-License-Identifier: Apache-2.0
"""import_tflite: converts the operators of a model, writing them into a graph."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import xtc.ops as O
from xtc.core.errors import UserError, XtcError
from xtc.core.location import SourceLocation
from xtc.core.types import ELEMENT_TYPES
from xtc.graph.builder import GraphBuilder
from xtc.graph.graph import Graph
from xtc.graph.tensor import Tensor
from xtc.importers.finish import finish, undeclared
from xtc.importers.names import graph_name, plain_name
from xtc.importers.tflite import ops as _  # noqa: F401  fills the table
from xtc.importers.tflite.call import Call
from xtc.importers.tflite.load import (
    DAMAGED,
    UNSIGNED,
    OperatorOf,
    TensorOf,
    TfliteModel,
    load_model,
)
from xtc.importers.tflite.table import TABLE
from xtc.importers.tflite.variables import OPERATORS, Variables
from xtc.importers.values import Unsupported, Value, as_tensor, dtype_of, shape_of

_LISTED = 20  # unsupported operators in an error message


@dataclass
class Converter:
    """Writes operators into `builder` and collects those that it cannot write.

    Attributes:
        values: values of the tensors, by index.
        problems: descriptions of unsupported operators.
        names: names taken by tensors.
    """

    builder: GraphBuilder
    model: TfliteModel
    file: str
    values: dict[int, Value] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    variables: Variables = field(init=False)

    def __post_init__(self) -> None:
        self.variables = Variables(self.builder, self.model, self.names)

    def leaves(self) -> list[Tensor]:
        """Declare inputs and constants; return the inputs."""
        for number, tensor in enumerate(self.model.tensors):
            if tensor.data is not None and tensor.data.size:
                self.values[number] = tensor.data
        found = []
        for number in dict.fromkeys(self.model.inputs):
            tensor = self.model.tensors[number]
            if tensor.dtype not in ELEMENT_TYPES or 0 in tensor.shape:
                raise UserError(
                    f"input '{tensor.name}' is {tensor.dtype} of shape {tensor.shape}",
                    where=self.file,
                )
            name = plain_name(tensor.name, self.names)
            self.names.add(name)
            dtype = "uint8" if tensor.is_unsigned else tensor.dtype
            x = undeclared(self.builder, tensor.shape, dtype, name)
            found.append(x)
            self.values[number] = _moved(x, -UNSIGNED, "int8") if tensor.is_unsigned else x
        return found

    def results(self) -> list[Tensor]:
        """The outputs of the model, in the file's element types."""
        found = []
        for number in self.model.outputs:
            value = as_tensor(self.values[number])
            is_unsigned = self.model.tensors[number].is_unsigned
            found.append(_moved(value, UNSIGNED, "uint8") if is_unsigned else value)
        return found

    def run(self) -> None:
        """Convert all operators."""
        for number, operator in enumerate(self.model.operators):
            start, before = len(self.builder.nodes), set(self.values)
            try:
                self._operator(operator)
            except (Unsupported, UserError, *DAMAGED) as error:
                del self.builder.nodes[start:]
                for added in set(self.values) - before:
                    del self.values[added]
                self.problems.append(f"operator {number}, {operator.name}: {_reason(error)}")
                continue
            where = SourceLocation(self.file, number)
            for node in self.builder.nodes[start:]:
                node.where = node.output.where = where

    def _operator(self, operator: OperatorOf) -> None:
        for number in operator.inputs:
            if number >= 0 and self.model.tensors[number].is_variable:
                self.values[number] = self.variables.tensor(number, self.model.tensors[number])
        known = self.values.keys() | self.variables.handles.keys()
        missing = [n for n in operator.inputs if n >= 0 and n not in known]
        if missing and not self.problems:
            tensor = self.model.tensors[missing[0]]
            if tensor.is_sparse:
                raise Unsupported(f"'{tensor.name}' is stored as a sparse tensor")
            raise Unsupported(f"no operator computes '{tensor.name}'")
        if missing:
            return  # the producer is among the problems
        values = [self.values.get(n) for n in operator.inputs]
        wanted = [self.model.tensors[n] for n in operator.outputs]
        if operator.name in OPERATORS:
            value = self.variables.run(operator, values, wanted)
            if value is not None:
                self.values[operator.outputs[0]] = value
            return
        write = TABLE.get(operator.name)
        if write is None:
            raise Unsupported("the operator is not supported")
        tensors = [self.model.tensors[n] if n >= 0 else None for n in operator.inputs]

        def assign(position: int, value: Value) -> None:
            self.variables.assign_tensor(operator.inputs[position], value)

        found = write(Call(operator, tensors, values, wanted, assign))
        results = [found] if isinstance(found, Tensor | np.ndarray) else list(found)
        for number, tensor, value in zip(operator.outputs, wanted, results, strict=True):
            self._result(number, tensor, value)

    def _result(self, number: int, tensor: TensorOf, value: Value) -> None:
        if number < 0 or number in self.values:
            raise Unsupported(f"its result, tensor {number}, is already defined")
        if dtype_of(value) != tensor.dtype:
            raise Unsupported(f"a result of type {tensor.dtype}, not {dtype_of(value)}")
        if shape_of(value) != tensor.shape:
            if math.prod(tensor.shape) != math.prod(shape_of(value)):
                raise Unsupported(f"a result of shape {shape_of(value)}, not {tensor.shape}")
            value = O.reshape(as_tensor(value), tensor.shape)
        is_inner = not (tensor.is_unsigned and number in self.model.outputs)  # the output is named
        if isinstance(value, Tensor) and value.producer and value.name is None and is_inner:
            value.name = plain_name(tensor.name, self.names)
            self.names.add(value.name)
        self.values[number] = value


def _moved(x: Tensor, by: int, dtype: str) -> Tensor:
    """Convert between uint8 and int8 with shifted zero points."""
    return O.cast(O.add(O.cast(x, "int32"), by), dtype)


def _reason(error: Exception) -> str:
    if isinstance(error, XtcError):
        return error.what
    if isinstance(error, Unsupported):
        return str(error)
    return f"invalid operands or options ({type(error).__name__}: {error})"[:300]


def graph_of(path: Path, device: object = None) -> Graph:
    """The graph in a file. Raises UserError that lists the unsupported operators."""
    model = load_model(path)
    with O.graph(name=graph_name(model.name)) as builder:
        converter = Converter(builder, model, str(path))
        leaves = converter.leaves()
        converter.run()
        if converter.problems:
            raise _refusal(converter)
        found = [number for number in model.outputs if number in converter.values]
        if len(found) != len(model.outputs):
            raise UserError("no operator computes an output of the model", where=str(path))
        updates = converter.variables.updates()
        leaves += [state for state, _ in updates]
        finish(builder, _names(model), converter.results(), leaves, device, updates)
    return builder.graph


def _names(model: TfliteModel) -> list[str]:
    return [model.tensors[number].name or "output" for number in model.outputs]


def _refusal(converter: Converter) -> UserError:
    problems = converter.problems
    count = len(problems)
    more = [f"and {count - _LISTED} more"] if count > _LISTED else []
    return UserError(
        f"{count} operator{'s' * (count != 1)} of {converter.file} cannot be imported",
        notes=[*problems[:_LISTED], *more],
    )
