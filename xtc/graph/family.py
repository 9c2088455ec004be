# SPDX-License-Identifier: Apache-2.0
"""What has a graph for each choice of its free sizes, as a model from a file has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from xtc.graph.graph import Graph

Array = np.ndarray[Any, Any]


class FamilyInput(Protocol):
    """An input: its name, and its shape, in which a text is the name of a free size."""

    @property
    def name(self) -> str: ...

    @property
    def shape(self) -> tuple[int | str, ...]: ...


@runtime_checkable
class GraphFamily(Protocol):
    """Graphs that differ in their sizes.

    Attributes:
        name: of the compiled function.
        inputs: in order, those included that only some of the graphs have.
        symbols: names of the free sizes.
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
        """The graph for sizes, and for values of the inputs that shapes depend on."""
        ...

    def sizes_of(self, arrays: Mapping[str, Array]) -> tuple[dict[str, int], dict[str, Array]]:
        """The sizes and values that the arrays of a call, by input name, fix."""
        ...

    def input_names(self, graph: Graph) -> dict[str, str]:
        """The family's names of a graph's inputs, by the graph's own."""
        ...

    def carried(self, array: Array) -> Array:
        """An argument as graphs take it."""
        ...

    def results(self, arrays: Any) -> Any:
        """What a graph gives, an array or a tuple of them, as callers get it."""
        ...
