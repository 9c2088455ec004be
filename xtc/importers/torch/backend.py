# SPDX-License-Identifier: Apache-2.0
"""torch.compile(model, backend="xtc"): runs the traced graphs as compiled modules."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch._dynamo.backends.common import aot_autograd

from xtc.core.errors import UserError
from xtc.driver import Module, compile
from xtc.importers.torch.convert import Imported, Result, UnsupportedNodes, import_traced
from xtc.importers.torch.decompositions import of_traced
from xtc.importers.torch.partition import partitioned
from xtc.importers.torch.types import element_name, to_array, to_tensor
from xtc.importers.values import Array, Unsupported

KEPT = 32  # modules per traced graph; the least recently used one is closed
WEIGHTS_KEPT = 2  # sets of weights compiled as constants; beyond that, weights become inputs


class _Compiled(NamedTuple):
    """A module with its weights, kept alive so that their addresses are not reused."""

    imported: Imported
    module: Module
    weights: tuple[torch.Tensor, ...]


class CompiledGraph:
    """A traced graph, compiled for the sizes and weights of its calls.

    Weights become constants at the first call, identified by tensor and version. If they keep
    changing, as in training, they become ordinary inputs.
    """

    def __init__(
        self,
        module: torch.fx.GraphModule,
        weights: Collection[int],
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """`weights` are the positions of parameters and buffers among the arguments."""
        # Arguments come as one list, which is emptied. Wrappers copy this flag from the instance.
        self._boxed_call = True
        self._parts: Callable[..., Any] | None = None
        self._module = module
        self._weights = frozenset(weights)
        self._options = options or {}
        self._seen: set[Any] = set()
        self._compiled: OrderedDict[Any, _Compiled] = OrderedDict()

    def __call__(self, args: list[Any]) -> list[Any]:
        """Run on tensors and numbers."""
        given = list(args)
        args.clear()
        if self._parts is not None:
            return list(self._parts(*given))
        key = self._key_of(given)
        if key not in self._compiled:
            try:
                self._compiled[key] = self._build(given)
            except (UnsupportedNodes, Unsupported) as error:
                self._parts = self._partitioned(getattr(error, "nodes", ()))
                return list(self._parts(*given))
            if len(self._compiled) > KEPT:
                _, oldest = self._compiled.popitem(last=False)
                oldest.module.close()
        self._compiled.move_to_end(key)
        imported, module, _ = self._compiled[key]
        inputs = {name: to_array(given[position]) for name, position in imported.inputs.items()}
        outputs = module(**inputs)
        arrays = outputs if isinstance(outputs, tuple) else (outputs,)
        found = {output.name: array for output, array in zip(_outputs(module), arrays, strict=True)}
        return [_returned(result, found) for result in imported.results]

    def _key_of(self, given: Sequence[Any]) -> Any:
        """The cache key of a module. Weights that changed too often become inputs."""
        self._seen.add(tuple(self._key(n, given[n]) for n in sorted(self._weights)))
        if len(self._seen) > WEIGHTS_KEPT:
            self._weights = frozenset()
            self._seen.clear()
            for compiled in self._compiled.values():
                compiled.module.close()
            self._compiled.clear()
        return tuple(self._key(position, value) for position, value in enumerate(given))

    def _is_constant(self, position: int, value: Any) -> bool:
        return position in self._weights and isinstance(value, torch.Tensor)

    def _key(self, position: int, value: Any) -> Any:
        if self._is_constant(position, value):
            return value.data_ptr(), value._version, tuple(value.shape)
        if isinstance(value, torch.Tensor):
            return tuple(value.shape), value.dtype
        return value

    def _partitioned(self, unsupported: Sequence[str]) -> Callable[..., Any]:
        def compile_part(part: torch.fx.GraphModule, weights: Collection[int]) -> CompiledGraph:
            return CompiledGraph(part, weights, self._options)

        return partitioned(self._module, unsupported, self._weights, compile_part)

    def _build(self, given: Sequence[Any]) -> _Compiled:
        leaves = [
            value
            if self._is_constant(position, value) or not isinstance(value, torch.Tensor)
            else (tuple(value.shape), element_name(value.dtype))
            for position, value in enumerate(given)
        ]
        imported = import_traced("traced", self._module, leaves)
        if imported.graph is None:
            raise TypeError("a traced graph that computes nothing")
        weights = [given[n] for n in self._weights if isinstance(given[n], torch.Tensor)]
        return _Compiled(imported, compile(imported.graph, **self._options), tuple(weights))


def _returned(result: Any, found: Mapping[str, Array]) -> Any:
    """One result of a call: a tensor, possibly without elements, or a number."""
    value = found[result.name] if isinstance(result, Result) else result
    return to_tensor(value) if isinstance(value, np.ndarray) else value


def _outputs(module: Module) -> Any:
    return module.artifact.manifest.outputs


def _compile_graph(
    module: torch.fx.GraphModule, _inputs: Sequence[Any], options: Mapping[str, Any]
) -> CompiledGraph:
    context = torch._guards.TracingContext.try_get()
    metadata = context.fw_metadata if context is not None else None
    weights = metadata.static_input_indices if metadata is not None else ()
    return CompiledGraph(module, weights or (), options)


def _compile_gradient(
    module: torch.fx.GraphModule, _inputs: Sequence[Any], options: Mapping[str, Any]
) -> CompiledGraph:
    """A gradient has no constant arguments: they are values saved by the forward pass."""
    return CompiledGraph(module, (), options)


def xtc_backend(
    module: torch.fx.GraphModule,
    inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
) -> Any:
    """The backend that PyTorch calls; `options` go to `xtc.compile`, for example a target.

    Raises UserError for any `mode`.
    """
    if mode is not None:
        raise UserError(
            f"backend 'xtc' has no mode '{mode}'",
            hints=["options={...} go to xtc.compile, for example threads"],
        )
    forward = partial(_compile_graph, options=options or {})
    graph = aot_autograd(
        fw_compiler=forward,
        inference_compiler=forward,
        bw_compiler=partial(_compile_gradient, options=options or {}),
        decompositions=of_traced(),
    )
    return graph(module, inputs)
