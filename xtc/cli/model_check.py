# SPDX-License-Identifier: Apache-2.0
"""Compares a compiled model with another implementation of the same file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from xtc.driver import Module
from xtc.evaluate import Comparison, compare, sample

if TYPE_CHECKING:
    from xtc.importers.onnx.model import OnnxModel

_RTOL = 1e-3
_ATOL = 1e-4  # relative to the largest element: two summation orders in a deep network


def compare_with_file(
    module: Module, model: OnnxModel, *, seed: int = 0
) -> tuple[list[Comparison], str]:
    """One comparison per output on sample data, and the name of the other implementation.

    Sample integers are 0 and 1, which are valid tokens and row indices in every model.

    Raises MismatchError with the worst element, UserError if the other implementation refuses the
    model.
    """
    names = model.input_names(module.graph)
    arrays, given = {}, {}
    for number, tensor in enumerate(module.graph.inputs):
        array = sample(tensor.type.sizes, tensor.element.numpy, seed + number)
        if tensor.element.kind == "int":
            array = abs(array) % 2
        arrays[str(tensor.name)] = given[names[str(tensor.name)]] = array
    found = module(**arrays)
    results = found if isinstance(found, tuple) else (found,)
    wanted, peer = model.expected(given)
    comparisons = [
        compare(
            np.asarray(x),
            y,
            rtol=_RTOL,
            atol=_ATOL * float(np.max(np.abs(y), initial=0)),
            name=name,
        )
        for x, (name, y) in zip(results, wanted.items(), strict=True)
    ]
    for comparison in comparisons:
        comparison.raise_if_wrong()
    return comparisons, peer
