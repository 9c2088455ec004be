# SPDX-License-Identifier: Apache-2.0
"""A family of graphs, one for each choice of dynamic sizes, such as a model from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from xtc.graph.graph import Graph

Array = np.ndarray[Any, Any]


class FamilyInput(Protocol):
    """An input: its name and its shape, in which texts name dynamic sizes."""

    @property
    def name(self) -> str: ...

    @property
    def shape(self) -> tuple[int | str, ...]: ...


@runtime_checkable
class GraphFamily(Protocol):
    """Graphs that differ in their sizes.

    Attributes:
        name: of the compiled function.
        inputs: in order, including those that only some of the graphs have.
        symbols: names of the dynamic sizes.
    """

    @property
    def name(self) -> str: ...

    @property
    def inputs(self) -> Sequence[FamilyInput]: ...

    @property
    def symbols(self) -> tuple[str, ...]: ...

    def bind(
        self, dims: Mapping[str, int] | None = None, values: Mapping[str, Any] | None = None
    ) -> Graph:
        """The graph for these sizes, and for values of the inputs on which shapes depend."""
        ...

    def sizes_of(self, arrays: Mapping[str, Array]) -> tuple[dict[str, int], dict[str, Array]]:
        """The sizes and values that the arrays of a call determine; arrays are by input name."""
        ...

    def input_names(self, graph: Graph) -> dict[str, str]:
        """The family's name of each input of a graph, by the graph's name."""
        ...

    def carried(self, array: Array) -> Array:
        """An argument in the form that graphs take."""
        ...

    def results(self, arrays: Any) -> Any:
        """A graph's results, an array or a tuple of arrays, in the form that callers get."""
        ...
