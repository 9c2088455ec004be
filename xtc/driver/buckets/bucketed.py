# SPDX-License-Identifier: Apache-2.0
"""A module with dynamic sizes that is compiled only for bucket sizes, if padding is exact."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from xtc.core.call import match_names
from xtc.core.errors import UserError, did_you_mean
from xtc.driver.buckets.extents import Extent, valid
from xtc.driver.buckets.plan import Plan, planned
from xtc.driver.buckets.step import InexactPaddingError
from xtc.driver.module import Module
from xtc.driver.specialized import KEPT, Chosen, SpecializedModule
from xtc.graph.family import GraphFamily
from xtc.graph.graph import Graph

Array = np.ndarray[Any, Any]
Sizes = Mapping[str, int]
Names = Mapping[str, str]
PLANS = 256  # cached padding plans, one for each combination of call sizes


class BucketedModule(SpecializedModule):
    """A function on arrays of varying sizes; a context manager.

    Arguments are padded with zeros to the next bucket of each dimension, and results are cropped.
    Padding that could affect results is masked. Sizes for which this cannot be exact are compiled
    unpadded, with a warning that gives the reason.
    """

    def __init__(
        self,
        family: GraphFamily,
        dims: Sizes,
        build: Callable[[Graph], Module],
        buckets: Mapping[str, Sequence[int]],
    ) -> None:
        """Like SpecializedModule; `buckets` has the sizes by dimension, ascending."""
        super().__init__(family, dims, build)
        self.buckets = buckets
        self._plans: OrderedDict[object, tuple[Plan, Names] | None] = OrderedDict()
        self._padded: OrderedDict[object, Module] = OrderedDict()
        self._bucket_graph: tuple[object, Graph] | None = None

    def _chosen(self, args: Sequence[Any], arrays: Mapping[str, Any]) -> Chosen:
        family = self.family
        names = [given.name for given in family.inputs]
        given = match_names(f"'{family.name}'", names, args, arrays)
        found = {name: np.asarray(value) for name, value in given.items()}
        sizes, values = family.sizes_of(found)
        larger = {name: self._bucket(name, size) for name, size in sizes.items()}
        if larger == sizes:
            return super()._chosen((), found)
        planned = self._plan(sizes, larger, values)
        if planned is None:
            return super()._chosen((), found)
        return self._padded_call(*planned, (tuple(larger.items()), found))

    def _bucket(self, name: str, size: int) -> int:
        """The smallest bucket that holds `size`, or `size` itself."""
        return next((n for n in self.buckets.get(name, ()) if n >= size), size)

    def _plan(
        self, sizes: Sizes, larger: Sizes, values: Mapping[str, Array]
    ) -> tuple[Plan, Names] | None:
        """The padding plan for calls of these sizes; None if they are not padded."""
        fixed = tuple((name, value.tobytes(), value.shape) for name, value in values.items())
        key = (tuple(sizes.items()), fixed)
        with self._lock:
            if key not in self._plans:
                self._plans[key] = self._found(sizes, larger, values)
                while len(self._plans) > PLANS:
                    self._plans.popitem(last=False)
            return self._plans[key]

    def _found(
        self, sizes: Sizes, larger: Sizes, values: Mapping[str, Array]
    ) -> tuple[Plan, Names] | None:
        family = self.family
        try:
            small = family.bind(sizes, values)
            large = self._large(larger, values)
            return planned(small, large), family.input_names(large)
        except (InexactPaddingError, UserError) as error:
            listed = ", ".join(f"{name}={size}" for name, size in sizes.items())
            warnings.warn(
                f"'{family.name}' is compiled for {listed} without padding: "
                f"padding would not be exact: {error}",
                stacklevel=5,
            )
            return None

    def _large(self, sizes: Sizes, values: Mapping[str, Array]) -> Graph:
        """The graph of a bucket; the latest is cached, as successive sizes often share it."""
        key = (
            tuple(sizes.items()),
            tuple((name, value.tobytes()) for name, value in values.items()),
        )
        if self._bucket_graph is None or self._bucket_graph[0] != key:
            self._bucket_graph = (key, self.family.bind(sizes, values))
        return self._bucket_graph[1]

    def _padded_call(
        self, plan: Plan, names: Names, call: tuple[object, Mapping[str, Array]]
    ) -> Chosen:
        larger, found = call
        given = {}
        for tensor in plan.graph.inputs:
            name = str(tensor.name)
            if name in plan.masks:
                given[name] = valid(plan.masks[name])
            else:
                array = self.family.carried(found[names[name]])
                ends = zip(tensor.type.sizes, array.shape, strict=True)
                given[name] = np.pad(array, [(0, large - size) for large, size in ends])

        def finish(results: Any) -> Any:
            listed = results if isinstance(results, tuple) else (results,)
            cut = tuple(_cut(x, e) for x, e in zip(listed, plan.outputs, strict=True))
            return self.family.results(cut if isinstance(results, tuple) else cut[0])

        return self._module_of(plan, larger), given, finish

    def _module_of(self, plan: Plan, larger: object) -> Module:
        """The module for a plan's graph; calls of other sizes with the same masks share it."""
        key = (larger, plan.written)
        with self._lock:
            if self._closed:
                raise UserError(f"module '{self.family.name}' is closed")
            module = self._padded.pop(key, None) or self._build(plan.graph)
            self._padded[key] = self._latest = module
            while len(self._padded) > KEPT:
                _, oldest = self._padded.popitem(last=False)
                oldest.close()
        return module

    def close(self) -> None:
        """Close all compiled modules; a call afterwards raises UserError."""
        super().close()
        with self._lock:
            for module in self._padded.values():
                module.close()
            self._padded.clear()


def _cut(array: Array, extents: Sequence[Extent]) -> Array:
    """The valid elements of a result."""
    for axis, extent in enumerate(extents):
        if len(extent) == 1:
            array = array[(slice(None),) * axis + (slice(extent[0][0]),)]
        elif extent:
            array = np.compress(valid(extent), array, axis)
    return np.ascontiguousarray(array) if array.ndim else array


def checked_buckets(
    family: GraphFamily, buckets: Mapping[str, Sequence[int]]
) -> dict[str, tuple[int, ...]]:
    """Buckets in ascending order. Raises UserError for unknown dimensions and bad sizes."""
    found = {}
    for name, listed in buckets.items():
        if name not in family.symbols:
            raise UserError(
                f"buckets: model '{family.name}' has no dynamic dimension '{name}'",
                hints=did_you_mean(name, family.symbols),
            )
        given = (listed,) if isinstance(listed, int) else tuple(listed)
        bad = [n for n in given if isinstance(n, bool) or not isinstance(n, int | np.integer)]
        if not given or bad or min(given) < 1:
            raise UserError(
                f"buckets of dimension '{name}' cannot be {listed!r}",
                notes=["they are sizes, each 1 or more"],
            )
        found[name] = tuple(sorted({int(n) for n in given}))
    return found
