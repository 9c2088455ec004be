# SPDX-License-Identifier: Apache-2.0
"""Constant folding of nodes, by ONNX's reference evaluator."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from xtc.graph.node import Node
from xtc.graph.tensor import Tensor
from xtc.importers.values import Array, Unsupported

LARGEST = 1 << 28  # bytes of a folded value
_NEVER = ("If", "Loop", "Scan", "SequenceMap")
_RANDOM = ("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli")


def foldable(node: onnx.NodeProto) -> bool:
    """Whether a node's results depend on its operands only, without subgraphs."""
    return node.op_type not in (*_NEVER, *_RANDOM, "Multinomial")


def fold(
    node: onnx.NodeProto, inputs: Sequence[Array | None], opsets: Mapping[str, int]
) -> list[Array | None]:
    """The outputs of a node. Raises Unsupported if the evaluator fails or returns no arrays."""
    names = [name for name in node.input if name]
    given = [value for value in inputs if value is not None]
    evaluator = _evaluator(node, names, opsets)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            results: list[Any] = evaluator.run(None, dict(zip(names, given, strict=True)))
    except Exception as error:  # an evaluator may raise anything for invalid attributes
        raise Unsupported(f"{type(error).__name__}: {error}"[:200]) from None
    found = iter(results)
    return [_array(next(found)) if name else None for name in node.output]


def _evaluator(
    node: onnx.NodeProto, names: Sequence[str], opsets: Mapping[str, int]
) -> ReferenceEvaluator:
    make, unknown = onnx.helper.make_value_info, onnx.TypeProto()
    outputs = [make(name, unknown) for name in node.output if name]
    graph = onnx.helper.make_graph(
        [node], "folded", [make(name, unknown) for name in dict.fromkeys(names)], outputs
    )
    imports = [onnx.helper.make_opsetid(domain, number) for domain, number in opsets.items()]
    model = onnx.helper.make_model(graph, opset_imports=imports)
    try:
        return ReferenceEvaluator(model)
    except Exception as error:
        raise Unsupported(f"{type(error).__name__}: {error}"[:200]) from None


def _array(value: Any) -> Array:
    if not isinstance(value, np.ndarray | np.generic):
        raise Unsupported(f"a result of type {type(value).__name__}")
    array = np.asarray(value)
    if array.nbytes > LARGEST:
        raise Unsupported(f"a constant of {array.nbytes} bytes")
    return array


def evaluated(nodes: Sequence[Node]) -> dict[Tensor, Array]:
    """Evaluate operators on constants in NumPy. Raises Unsupported if a result is too large."""
    values: dict[Tensor, Array] = {}
    for node in nodes:
        operands = [values.get(x, x.const) for x in node.inputs]
        if node.output.type.nbytes > LARGEST:
            raise Unsupported(f"a constant of {node.output.type.nbytes} bytes")
        with np.errstate(all="ignore"):
            array = np.asarray(node.op.reference(*(x for x in operands if x is not None)))
        element = node.output.element
        values[node.output] = array.astype(element.numpy).reshape(node.output.type.sizes)
    return values
