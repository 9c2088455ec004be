# SPDX-License-Identifier: Apache-2.0
"""A module with dynamic sizes, compiled and cached for the sizes of its calls."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from xtc.core.call import match_names
from xtc.core.closing import Closing
from xtc.core.errors import UserError, did_you_mean
from xtc.driver.module import Module
from xtc.driver.states import States
from xtc.graph.family import GraphFamily
from xtc.graph.graph import Graph

if TYPE_CHECKING:
    from xtc.evaluate.profile import Profile

KEPT = 32  # modules; the least recently used one is closed for a new one
Array = np.ndarray[Any, Any]
Chosen = tuple[Module, Mapping[str, Any], Callable[[Any], Any]]
"""The module for a call, its inputs by name, and a function that converts its results."""
Key = tuple[tuple[tuple[str, int], ...], tuple[tuple[str, bytes, tuple[int, ...]], ...]]


def specialized(
    family: GraphFamily, dims: Mapping[str, int], build: Callable[[Graph], Module]
) -> SpecializedModule:
    """A module for the dynamic sizes of `family`; `dims` fixes some of them."""
    return SpecializedModule(family, dims, build)


class SpecializedModule(Closing):
    """A function on arrays of varying sizes; a context manager.

    A call with new sizes compiles a module for them, which later calls reuse. Inputs whose values
    determine shapes count as sizes. `specialize` returns the module for given sizes.

    Attributes:
        family: the graph family.
        graph: the graph of the latest call.
    """

    def __init__(
        self,
        family: GraphFamily,
        dims: Mapping[str, int],
        build: Callable[[Graph], Module],
        *,
        kept: int = KEPT,
    ) -> None:
        """`dims` fixes some sizes, `build` compiles a graph, `kept` limits the open modules."""
        self.family = family
        self._dims = dict(dims)
        self._build = build
        self._kept = kept
        self._modules: OrderedDict[Key, Module] = OrderedDict()
        self._lock = Lock()
        self._latest: Module | None = None
        self._closed = False

    @property
    def graph(self) -> Graph:
        """The graph of the latest call. Raises UserError before the first one."""
        return self._require_latest().graph

    @property
    def state(self) -> States:
        """The states of the module that ran last. Raises UserError before the first call."""
        return self._require_latest().state

    def _require_latest(self) -> Module:
        if self._latest is None:
            raise UserError(
                f"'{self.family.name}' has not been called, so its sizes are unknown",
                hints=["module.specialize(...) compiles for sizes by name"],
            )
        return self._latest

    def specialize(self, **dims: int) -> Module:
        """The module for sizes by name, compiled if necessary. Raises UserError."""
        return self._module({**self._dims, **dims}, {})

    def __call__(self, *args: Any, out: Any = None, **arrays: Any) -> Any:
        """Run on arrays; returns new arrays, or `out` after writing to it, like `Module`.

        Raises UserError if the arrays do not fit the family's inputs, or `out` the results.
        Elements of less than a byte are stored in wider integers. Arrays for states are passed by
        their names in `state`.
        """
        given, states = self._inputs_and_states(args, arrays)
        module, inputs, finish = self._chosen(args, given)
        for name in states:
            self._require_state(name, module)
        if out is not None:
            return module(**inputs, **states, out=out)
        return finish(module(**inputs, **states))

    def _inputs_and_states(
        self, args: Sequence[Any], arrays: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Splits named arguments into inputs and candidates for states, which only graphs know."""
        names = [given.name for given in self.family.inputs]
        inputs = {name: value for name, value in arrays.items() if name in names}
        if len(args) + len(inputs) != len(names):
            match_names(f"'{self.family.name}'", names, args, arrays)
        return inputs, {name: value for name, value in arrays.items() if name not in names}

    def _require_state(self, name: str, module: Module) -> None:
        if name not in module.state:
            known = [*(given.name for given in self.family.inputs), *module.state]
            raise UserError(
                f"'{self.family.name}' has no input '{name}'", hints=did_you_mean(name, known)
            )

    def profile(self, *args: Any, repeat: int = 20, **arrays: Any) -> Profile:
        """Profile calls on these arrays: `Module.profile` of the module for their sizes.

        Raises UserError like a call, and without arrays, because the sizes are unknown.
        """
        if not args and not arrays:
            raise UserError(
                f"'{self.family.name}' has dynamic sizes, so a profile takes arrays",
                hints=["module.specialize(...).profile() takes samples of sizes by name"],
            )
        module, inputs, _ = self._chosen(args, arrays)
        return module.profile(repeat=repeat, **inputs)

    def _chosen(self, args: Sequence[Any], arrays: Mapping[str, Any]) -> Chosen:
        family = self.family
        names = [given.name for given in family.inputs]
        given = match_names(f"'{family.name}'", names, args, arrays)
        values = {name: np.asarray(value) for name, value in given.items()}
        module = self._module(*family.sizes_of(values))
        names_of = family.input_names(module.graph)
        inputs = {ours: family.carried(values[theirs]) for ours, theirs in names_of.items()}
        return module, inputs, family.results

    def _module(self, dims: Mapping[str, int], values: Mapping[str, Array]) -> Module:
        key = (
            tuple(sorted(dims.items())),
            tuple((name, value.tobytes(), value.shape) for name, value in sorted(values.items())),
        )
        with self._lock:
            if self._closed:
                raise UserError(f"module '{self.family.name}' is closed")
            module = self._modules.pop(key, None)
            if module is None:
                module = self._build(self.family.bind(dims, values))
            self._modules[key] = self._latest = module
            while len(self._modules) > self._kept:
                _, oldest = self._modules.popitem(last=False)
                oldest.close()
        return module

    def close(self) -> None:
        """Close all compiled modules; a call afterwards raises UserError."""
        with self._lock:
            self._closed = True
            for module in self._modules.values():
                module.close()
            self._modules.clear()

    def __repr__(self) -> str:
        return f"<xtc.SpecializedModule {self.family!r}, {len(self._modules)} compiled>"
