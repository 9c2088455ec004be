# SPDX-License-Identifier: Apache-2.0
"""A model from an ONNX file, which becomes a graph once all sizes are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import xtc.ops as O
from xtc.core.errors import UserError, did_you_mean
from xtc.core.types import ELEMENT_TYPES
from xtc.graph.builder import GraphBuilder
from xtc.graph.graph import Graph
from xtc.graph.placement import placement
from xtc.graph.states import make_state
from xtc.graph.tensor import Tensor
from xtc.importers.dynamic_sizes import DynamicSizes, ModelInput, Size
from xtc.importers.finish import finish, undeclared
from xtc.importers.names import graph_name, plain_name
from xtc.importers.onnx.convert import Converter, Problem
from xtc.importers.onnx.expected import expected
from xtc.importers.onnx.inline import inlined
from xtc.importers.onnx.large_constants import with_data
from xtc.importers.onnx.load import opsets
from xtc.importers.onnx.narrow import (
    carried,
    carrier,
    is_narrow,
    narrow,
    narrowed,
    numpy_type,
    shown,
)
from xtc.importers.onnx.types import narrow_name
from xtc.importers.values import Array, Narrow, Unsupported, Value, as_tensor

Key = tuple[tuple[tuple[str, int], ...], tuple[tuple[str, bytes, tuple[int, ...]], ...]]
MOST_VALUES = 4096  # of an input whose values may determine sizes
MOST_MET = 256  # signatures of calls that a model remembers


@dataclass(eq=False)
class OnnxModel:
    """A model read from ONNX.

    `bind` returns the graph for given sizes; `graph` is the graph if all sizes are known.
    `xtc.compile(model)` accepts the model itself, and compiles it for the sizes of each call.

    Attributes:
        name: name of the compiled function.
        inputs: inputs that are not constants, in the order of the file.
        outputs: names in the order of the file.
        dims: sizes given when the model was read.
        states: inputs that the module keeps between calls, each with the output of its next value.
    """

    name: str
    inputs: tuple[ModelInput, ...]
    outputs: tuple[str, ...]
    dims: Mapping[str, int]
    _proto: onnx.ModelProto = field(repr=False)
    _arrays: Mapping[str, Array] = field(default_factory=dict, repr=False)
    _file: str | None = field(default=None, repr=False)
    _device: object = field(default=None, repr=False)
    _values: tuple[str, ...] = field(default=(), repr=False)
    states: tuple[tuple[ModelInput, str], ...] = ()
    _met: dict[Key, None] = field(default_factory=dict, repr=False)
    _latest: tuple[dict[str, int], dict[str, Array], Graph] | None = field(default=None, repr=False)

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names of the dynamic dimensions, in the order of the inputs."""
        return self._dynamic.symbols

    @cached_property
    def _dynamic(self) -> DynamicSizes:
        states = tuple(state for state, _ in self.states)
        return DynamicSizes(self.name, self.inputs, states, self.dims, self._file)

    @property
    def graph(self) -> Graph:
        """The graph, if all sizes are known. Raises UserError otherwise."""
        return self.bind()

    def bind(
        self, dims: Mapping[str, int] | None = None, values: Mapping[str, Any] | None = None
    ) -> Graph:
        """The graph for given sizes of the dynamic dimensions.

        Args:
            dims: sizes by name.
            values: arrays of inputs that determine shapes; they become constants of the graph.

        Raises UserError for missing and unknown names, and for unsupported nodes, listing them all.
        """
        if self._latest is not None and self._latest[0] is dims and self._latest[1] is values:
            return self._latest[2]
        return self._bound(dims, values)

    def _bound(self, dims: Mapping[str, int] | None, values: Mapping[str, Any] | None) -> Graph:
        sizes = self._dynamic.chosen(dims or {})
        given = {name: np.asarray(value) for name, value in (values or {}).items()}
        with O.graph(name=self.name) as builder:
            file = self._file or f"<{self.name}>"
            converter = Converter(builder, opsets(self._proto), file, self._arrays)
            known = self._leaves(converter, sizes, given)
            found = self._converted(converter, known, sizes)
            if converter.problems:
                raise self._refusal(converter, known)
            self._finish(builder, found, known)
        return builder.graph

    def _converted(
        self, converter: Converter, known: dict[str, Value], sizes: Mapping[str, int]
    ) -> dict[str, Value]:
        graph = inlined(self._proto, self._static(sizes))
        try:
            return converter.graph(graph, known)
        except Unsupported as error:
            raise UserError(f"the model has {error}", where=self._file) from None

    def _static(self, sizes: Mapping[str, int]) -> dict[str, list[int]]:
        return {
            given.name: [sizes[s] if isinstance(s, str) else s for s in given.shape]
            for given in self.inputs
        }

    def expected(self, arrays: Mapping[str, Any]) -> tuple[dict[str, Array], str]:
        """Reference outputs by name for inputs by name, and the name of the engine.

        The engine is ONNX Runtime if it is installed, ONNX's reference evaluator otherwise.

        Raises UserError if the engine rejects the model or the arrays.
        """
        given = {name: np.asarray(value) for name, value in arrays.items()}
        results, who = expected(with_data(self._proto, self._arrays), given)
        return dict(zip(self.outputs, results, strict=True)), who

    def _leaves(
        self, converter: Converter, sizes: Mapping[str, int], values: Mapping[str, Array]
    ) -> dict[str, Value]:
        leaves: dict[str, Value] = {}
        states = [state for state, _ in self.states]
        for given in (*self.inputs, *states):
            shape = [sizes[size] if isinstance(size, str) else size for size in given.shape]
            if given.name in values:
                leaves[given.name] = values[given.name]
            elif 0 in shape:
                leaves[given.name] = np.empty(shape, numpy_type(given.dtype))
            else:
                name = plain_name(given.name, converter.names)
                converter.names.add(name)
                # Not declared in the graph, because a model may have unused inputs.
                held = carrier(given.dtype) if is_narrow(given.dtype) else given.dtype
                tensor = undeclared(converter.builder, tuple(shape), held, name)
                if given in states:
                    make_state(tensor, None)
                few = is_narrow(given.dtype)
                leaves[given.name] = narrow(tensor, given.dtype) if few else tensor
        return leaves

    def _refusal(self, converter: Converter, known: Mapping[str, Value]) -> UserError:
        problems = converter.problems
        needs = _inputs_behind(problems, known)
        notes = [f"{self._location(problem)}: {problem.why}" for problem in problems]
        count = f"{len(problems)} node{'s' * (len(problems) != 1)}"
        error = UnsupportedModel(
            f"{count} of model '{self.name}' cannot be imported", where=self._file, notes=notes
        )
        error.needs = needs
        return error

    def _location(self, problem: Problem) -> str:
        node = problem.node
        label = f" '{node.name}'" if node.name else ""
        opset = opsets(self._proto).get(node.domain, "?")
        domain = f"{node.domain}." if node.domain else ""
        return f"node {problem.number}{label}, {domain}{node.op_type} (opset {opset})"

    def _finish(
        self, builder: GraphBuilder, found: Mapping[str, Value], known: Mapping[str, Value]
    ) -> None:
        every = [value for value in known.values() if isinstance(value, Tensor)]
        leaves = [value.bits if isinstance(value, Narrow) else value for value in every]
        results = self._results(found, self.outputs)
        nexts = self._results(found, [name for _, name in self.states])
        updates = []
        for (state, name), value in zip(self.states, nexts, strict=True):
            leaf = known[state.name]
            if not isinstance(leaf, Tensor) or leaf.type != value.type:
                raise UserError(
                    f"output '{name}' is {value.type}, and input '{state}' is not a state"
                )
            updates.append((leaf, value))
        finish(builder, self.outputs, results, leaves, self._device, updates)

    def _results(self, found: Mapping[str, Value], names: Sequence[str]) -> list[Tensor]:
        results = []
        for name in names:
            if name not in found:
                raise UserError(f"no node computes output '{name}'", where=self._file)
            try:
                value = narrowed(found[name])
                results.append(value.bits if isinstance(value, Narrow) else as_tensor(value))
            except Unsupported as error:
                raise UserError(f"output '{name}' is {error}", where=self._file) from None
        return results

    def sizes_of(self, arrays: Mapping[str, Array]) -> tuple[dict[str, int], dict[str, Array]]:
        """The dynamic sizes, from arrays by input name, and the inputs that determine shapes."""
        sizes = self._dynamic.of_arrays(arrays)
        values = {name: arrays[name] for name in self._values}
        while _key(sizes, values) not in self._met:
            try:
                self._latest = (sizes, values, self._bound(sizes, values))
            except UnsupportedModel as error:
                if not set(error.needs) - set(values):
                    raise
                values |= {name: arrays[name] for name in error.needs}
            else:
                self._values = tuple(values)
                self._remember(_key(sizes, values))
        return sizes, values

    def _remember(self, key: Key) -> None:
        """Remember that a call's graph can be built, so that similar calls do not build it."""
        self._met[key] = None
        while len(self._met) > MOST_MET:
            del self._met[next(iter(self._met))]

    def carried(self, array: Array) -> Array:
        """An argument in the graph's element type: narrow elements in their carrier integers."""
        return carried(array)

    def results(self, arrays: Any) -> Any:
        """The results of a graph, in the types that the file declares."""
        listed = arrays if isinstance(arrays, tuple) else (arrays,)
        pairs = zip(listed, self._declared, strict=True)
        found = tuple(shown(array, kind) if kind else array for array, kind in pairs)
        return found if isinstance(arrays, tuple) else found[0]

    @cached_property
    def _declared(self) -> list[str]:
        """For each output the name of its narrow element type, or ""."""
        types = {info.name: info.type.tensor_type.elem_type for info in self._proto.graph.output}
        return [narrow_name(types[name]) for name in self.outputs]

    def input_names(self, graph: Graph) -> dict[str, str]:
        """The model's input names, by the graph's input names."""
        taken: set[str] = set()
        names = {}
        for given in self.inputs:
            plain = plain_name(given.name, taken)
            taken.add(plain)
            names[plain] = given.name
        inputs = (str(tensor.name) for tensor in graph.inputs if not tensor.state)
        return {name: names[name] for name in inputs}

    def __repr__(self) -> str:
        inputs = ", ".join(map(str, self.inputs))
        return f"<xtc model {self.name}({inputs}) -> {', '.join(self.outputs)}>"


def _key(sizes: Mapping[str, int], values: Mapping[str, Array]) -> Key:
    given = ((name, x.tobytes(), x.shape) for name, x in sorted(values.items()))
    return tuple(sorted(sizes.items())), tuple(given)


class UnsupportedModel(UserError):  # noqa: N818  what the user has, not what went wrong
    """Nodes of a model are not supported.

    `needs` names the inputs whose values would make the nodes supported that need a value.
    """

    needs: tuple[str, ...] = ()


def _inputs_behind(problems: list[Problem], known: Mapping[str, Value]) -> tuple[str, ...]:
    """The small inputs that the needed values depend on; none if they depend on others as well."""
    names = {value: name for name, value in known.items() if isinstance(value, Tensor)}
    found: dict[str, None] = {}
    for problem in problems:
        if problem.needs is None:
            continue  # it may fail only because of another node's missing value
        for leaf in _leaves_of(problem.needs):
            if leaf not in names or not _small(leaf):
                return ()
            found[names[leaf]] = None
    return tuple(found)


def _small(tensor: Tensor) -> bool:
    """Whether a tensor may hold sizes, positions or flags: few elements, not an image."""
    return tensor.type.size <= MOST_VALUES and not (
        tensor.element.is_float and tensor.type.rank > 1
    )


def _leaves_of(tensor: Tensor) -> set[Tensor]:
    """The inputs that a tensor depends on."""
    leaves, open_, seen = set(), [tensor], set()
    while open_:
        current = open_.pop()
        if current in seen:
            continue
        seen.add(current)
        if current.producer is not None:
            open_.extend(current.producer.inputs)
        elif current.const is None:
            leaves.add(current)
    return leaves


def model_of(
    proto: onnx.ModelProto,
    arrays: Mapping[str, Array],
    file: str | None,
    dims: Mapping[str, int],
    values: Mapping[str, Any],
    states: Mapping[str, str],
    device: object = None,
) -> OnnxModel:
    """The model in a checked file; inputs in `values` become constants.

    `arrays` holds the data of constants that have none in `proto`.
    `states` maps inputs that become states to the outputs of their next values.

    Raises UserError if an input is not a tensor.
    """
    placement(device)  # raises an error for an invalid device early
    graph = proto.graph
    for name, value in values.items():
        graph.initializer.append(_constant(graph, name, value, file))
    constants = {entry.name for entry in graph.initializer}
    leaves = [_input(info, file) for info in graph.input if info.name not in constants]
    names = [info.name for info in graph.output]
    kept = _states(states, leaves, names, file)
    inputs = tuple(given for given in leaves if given.name not in states)
    outputs = tuple(name for name in names if name not in states.values())
    stem = Path(file).stem if file else graph.name
    model = OnnxModel(
        graph_name(stem), inputs, outputs, dict(dims), proto, arrays, file, device, states=kept
    )
    model._dynamic.check_names(dims)
    return model


def _states(
    states: Mapping[str, str],
    inputs: Sequence[ModelInput],
    outputs: Sequence[str],
    file: str | None,
) -> tuple[tuple[ModelInput, str], ...]:
    """States with the outputs of their next values. Raises UserError for unknown names."""
    by_name = {given.name: given for given in inputs}
    for name, result in states.items():
        for kind, wanted, known in (("input", name, by_name), ("output", result, outputs)):
            if wanted not in known:
                raise UserError(
                    f"the model has no {kind} '{wanted}'",
                    where=file,
                    hints=did_you_mean(wanted, known),
                )
    return tuple((by_name[name], result) for name, result in states.items())


def _constant(graph: onnx.GraphProto, name: str, value: Any, file: str | None) -> onnx.TensorProto:
    """An input's value as a constant of the model. Raises UserError if it does not fit."""
    found = [info for info in graph.input if info.name == name]
    if not found:
        raise UserError(
            f"the model has no input '{name}'",
            where=file,
            hints=did_you_mean(name, [info.name for info in graph.input]),
        )
    given = _input(found[0], file)
    array = np.asarray(value)
    if array.size == 1:
        array = array.reshape((1,) * len(given.shape))
    fixed = [isinstance(size, str) or size for size in given.shape]
    if array.ndim != len(fixed) or any(
        size is not True and size != n for size, n in zip(fixed, array.shape, strict=True)
    ):
        raise UserError(f"the value of input '{given}' has shape {array.shape}", where=file)
    return onnx.numpy_helper.from_array(array.astype(numpy_type(given.dtype)), name)


def _input(info: onnx.ValueInfoProto, file: str | None) -> ModelInput:
    if not info.type.HasField("tensor_type"):
        kind = info.type.WhichOneof("value") or "type"
        raise UserError(
            f"input '{info.name}' is a {kind.removesuffix('_type')}, not a tensor", where=file
        )
    tensor = info.type.tensor_type
    try:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type).name
    except KeyError:
        dtype = f"number {tensor.elem_type}"
    if dtype not in ELEMENT_TYPES and not is_narrow(dtype):
        raise UserError(
            f"input '{info.name}' has element type {dtype}, which is not supported", where=file
        )
    if not tensor.HasField("shape"):
        raise UserError(f"input '{info.name}' has no rank", where=file)
    shape = tuple(_size(dim, position, info.name) for position, dim in enumerate(tensor.shape.dim))
    return ModelInput(info.name, shape, dtype)


def _size(dim: onnx.TensorShapeProto.Dimension, position: int, name: str) -> Size:
    if dim.HasField("dim_value"):
        return int(dim.dim_value) if dim.dim_value >= 0 else f"{name}_{position}"
    # Strings such as "?" or "2 * n" are not names and do not identify equal sizes.
    return dim.dim_param if dim.dim_param.isidentifier() else f"{name}_{position}"
