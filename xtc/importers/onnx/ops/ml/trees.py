# SPDX-License-Identifier: Apache-2.0
"""Forests: all trees descend one level at a time, by lookups in node tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import constant, expanded
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.ops.ml.scores import floats, labeled, labels_of, learned, rows, transformed
from xtc.importers.onnx.table import Result
from xtc.importers.values import Array, Unsupported

_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
_TURNED = {"BRANCH_GT": "BRANCH_LEQ", "BRANCH_GTE": "BRANCH_LT", "BRANCH_NEQ": "BRANCH_EQ"}
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


@dataclass
class Forest:
    """Trees as arrays over nodes; a leaf is its own child on both sides.

    Attributes:
        roots: the root of each tree.
        features: the feature that a node tests.
        splits: the value that it is compared with.
        equal: whether the test is for equality instead of "at most".
        missing: whether NaN passes the test.
        children: for a failed and a passed test, (nodes, 2).
        weights: weights of the leaves by target, (nodes, targets); zeros for inner nodes.
        named: whether a leaf lists the target at all, (nodes, targets).
    """

    roots: Array
    features: Array
    splits: Array
    equal: Array
    missing: Array
    children: Array
    weights: Array
    named: Array

    @property
    def depth(self) -> int:
        """The maximum depth of a leaf. Raises Unsupported if there is a cycle."""
        level, count = set(self.roots.tolist()), 0
        while True:
            inner = [n for n in level if (self.children[n] != n).any()]
            if not inner:
                return count
            if count > len(self.splits):
                raise Unsupported("a tree with a cycle")
            level = set(self.children[inner].reshape(-1).tolist())
            count += 1

    def leaves(self, x: Tensor) -> Tensor:
        """The leaf of each sample in each tree, (samples, trees)."""
        samples, features = x.type.sizes
        if len(self.features) and self.features.max() >= features:
            raise Unsupported(f"feature {self.features.max()} of {features}")
        shape = (samples, len(self.roots))
        at = expanded(constant(self.roots[None]), shape)
        for _ in range(self.depth):
            value = O.gather_elements(x, self._table(self.features, at), axis=1)
            split = self._table(self.splits.astype(x.element.numpy), at)
            yes = O.less_equal(value, split)
            if self.equal.any():
                yes = O.where(self._table(self.equal, at), O.equal(value, split), yes)
            if self.missing.any():
                unknown = O.minimum(O.is_nan(value), self._table(self.missing, at))
                yes = O.maximum(yes, unknown)
            pair = O.add(O.mul(at, 2), O.cast(yes, "int64"))
            at = self._table(self.children.reshape(-1), pair)
        return at

    @staticmethod
    def _table(array: Array, at: Tensor) -> Tensor:
        return O.gather(constant(np.ascontiguousarray(array)), at, axis=0)

    def named_targets(self, leaves: Tensor) -> Tensor | None:
        """Which targets the leaves of a sample list; None if every leaf lists all."""
        inner = (self.children != np.arange(len(self.splits))[:, None]).any(axis=1)
        if self.named[~inner].all():
            return None
        found = self._table(self.named.astype(np.float32), leaves)
        return O.greater(O.reduce_max(found, axes=(1,)), 0.0)

    def sums(self, x: Tensor, leaves: Tensor, how: str) -> Tensor:
        """The aggregated weights of a sample's leaves by target, (samples, targets)."""
        found = self._table(self.weights.astype(x.element.numpy), leaves)
        if how in ("SUM", "AVERAGE"):
            total = O.reduce_sum(found, axes=(1,))
            return O.div(total, float(len(self.roots))) if how == "AVERAGE" else total
        if self.weights.shape[1] != 1:
            raise Unsupported(f"aggregate_function={how} of {self.weights.shape[1]} targets")
        return O.reduce_min(found, axes=(1,)) if how == "MIN" else O.reduce_max(found, axes=(1,))


def forest(
    roots: Array,
    features: Array,
    splits: Array,
    modes: Sequence[str],
    missing: Array,
    children: Array,
    weights: Array,
    named: Array,
) -> Forest:
    """A forest from nodes with any of the schema's tests, reduced to "at most" and "equal"."""
    known = {*_MODES, "LEAF"}
    strange = sorted(set(modes) - known)
    if strange:
        raise Unsupported(f"nodes of mode {strange[0]}")
    turned = np.array([mode in _TURNED for mode in modes], bool)
    other = np.array([mode == "BRANCH_NEQ" for mode in modes], bool)  # NaN equals no number
    plain = [_TURNED.get(mode, mode) for mode in modes]
    below = np.array([mode == "BRANCH_LT" for mode in plain], bool)
    lower = np.nextafter(splits, np.asarray(-np.inf, splits.dtype))
    return Forest(
        roots,
        features,
        np.where(below, lower, splits),  # x < t is x <= the next number below t
        np.array([mode == "BRANCH_EQ" for mode in plain], bool),
        (missing != turned) & ~other,
        np.where(turned[:, None], children[:, ::-1], children),
        weights,
        named,
    )


def _numbers(call: Call, name: str) -> Array:
    """An attribute of floats, or its tensor variant."""
    tensor = call.attribute(f"{name}_as_tensor")
    given = call.attribute(name, [])
    return np.asarray(given, np.float32) if tensor is None else np.asarray(tensor)


def _ints(call: Call, name: str) -> Array:
    return np.asarray(call.attribute(name, []), np.int64)


def _by_ids(call: Call, kind: str, targets: int) -> Forest:
    """The forest of a node that lists tree and node ids; weights of the leaves come from `kind`."""
    trees, numbers = _ints(call, "nodes_treeids"), _ints(call, "nodes_nodeids")
    index = {pair: n for n, pair in enumerate(zip(trees.tolist(), numbers.tolist(), strict=True))}
    modes = [str(mode) for mode in call.attribute("nodes_modes", [])]
    count = len(modes)
    children = np.empty((count, 2), np.int64)
    for side, name in enumerate(("nodes_falsenodeids", "nodes_truenodeids")):
        for n, child in enumerate(_ints(call, name).tolist()):
            children[n, side] = n if modes[n] == "LEAF" else index[int(trees[n]), child]
    below = {int(child) for n in range(count) if modes[n] != "LEAF" for child in children[n]}
    weights, named = np.zeros((count, targets), np.float64), np.zeros((count, targets), bool)
    given = zip(
        _ints(call, f"{kind}_treeids").tolist(),
        _ints(call, f"{kind}_nodeids").tolist(),
        _ints(call, f"{kind}_ids").tolist(),
        _numbers(call, f"{kind}_weights").tolist(),
        strict=True,
    )
    for tree, number, target, weight in given:
        weights[index[tree, number], target] += weight
        named[index[tree, number], target] = True
    missing = _ints(call, "nodes_missing_value_tracks_true")
    return forest(
        np.array([n for n in range(count) if n not in below], np.int64),
        _ints(call, "nodes_featureids"),
        _numbers(call, "nodes_values"),
        modes,
        missing.astype(bool) if len(missing) else np.zeros(count, bool),
        children,
        weights,
        named,
    )


def _based(call: Call, scores: Tensor) -> Tensor:
    base = _numbers(call, "base_values")
    if not base.size:
        return scores
    return O.add(scores, constant(base.astype(scores.element.numpy)[None]))


@learned("TreeEnsembleRegressor", 1, 3, 5)
def tree_ensemble_regressor(call: Call) -> Result:
    x = rows(floats(call.tensor(0)))
    trees = _by_ids(call, "target", int(call.attribute("n_targets", 1)))
    how = call.choice("aggregate_function", "SUM", *_AGGREGATES)
    scores = _based(call, trees.sums(x, trees.leaves(x), how))
    result = transformed(scores, str(call.attribute("post_transform", "NONE")))
    return result if result.dtype == "float32" else O.cast(result, "float32")


@learned("TreeEnsembleClassifier", 1, 3, 5)
def tree_ensemble_classifier(call: Call) -> Result:
    x = rows(floats(call.tensor(0)))
    labels = labels_of(call, "classlabels_int64s")
    if labels is None:
        raise Unsupported("string labels")
    ids, how = set(_ints(call, "class_ids").tolist()), str(call.attribute("post_transform", "NONE"))
    trees = _by_ids(call, "class", len(labels))
    leaves = trees.leaves(x)
    scores = _based(call, trees.sums(x, leaves, "SUM"))
    if len(labels) == 2 and len(ids) == 1:
        return _binary(call, scores, ids.pop(), labels, how)
    named = trees.named_targets(leaves)  # as in ONNX Runtime, only listed targets are candidates
    lowest = constant(np.asarray(-np.inf, x.element.numpy))
    chosen = O.argmax(scores if named is None else O.where(named, scores, lowest), axis=1)
    return [labeled(chosen, labels), _single(transformed(scores, how))]


def _single(x: Tensor) -> Tensor:
    return x if x.dtype == "float32" else O.cast(x, "float32")


def _binary(call: Call, scores: Tensor, used: int, labels: Array, how: str) -> Result:
    """Two classes of which only one has weights: ONNX Runtime's rules for the other."""
    samples = scores.type.sizes[0]
    score = O.slice(scores, (0, used), (samples, used + 1))
    positive = bool((_numbers(call, "class_weights") >= 0).all())
    chosen = O.cast(O.greater(score, 0.5 if positive else 0.0), "int64")
    if how not in ("NONE", "LOGISTIC"):
        raise Unsupported(f"post_transform={how} of two classes of which one has weights")
    if positive:
        score = O.sigmoid(score) if how == "LOGISTIC" else score
        both = O.concat(O.sub(1.0, score), score, axis=1)
    else:
        both = O.concat(O.neg(score), score, axis=1)
        both = O.sigmoid(both) if how == "LOGISTIC" else both
    return [labeled(O.reshape(chosen, (samples,)), labels), _single(both)]


@learned("TreeEnsemble", 5)
def tree_ensemble(call: Call) -> Result:
    x = rows(floats(call.tensor(0)))
    trees = _by_numbers(call, int(call.attribute("n_targets", 1)))
    how = _AGGREGATES[int(call.attribute("aggregate_function", 1))]
    scores = trees.sums(x, trees.leaves(x), how)
    result = transformed(scores, _TRANSFORMS[int(call.attribute("post_transform", 0))])
    dtype = call.dtype(0)
    return result if result.dtype == dtype else O.cast(result, dtype)


def _by_numbers(call: Call, targets: int) -> Forest:
    """The forest of a node whose children are indices of nodes or of separate leaf arrays."""
    kinds: Any = call.required("nodes_modes")
    codes = [int(code) for code in np.asarray(kinds).reshape(-1)]
    if any(code >= len(_MODES) for code in codes):
        raise Unsupported("nodes that test set membership")
    inner, leaves = len(codes), len(_ints(call, "leaf_targetids"))
    children = np.tile(np.arange(inner + leaves)[:, None], (1, 2))
    for side, word in enumerate(("false", "true")):
        numbers, is_leaf = _ints(call, f"nodes_{word}nodeids"), _ints(call, f"nodes_{word}leafs")
        children[:inner, side] = numbers + inner * is_leaf
    weights = np.zeros((inner + leaves, targets), np.float64)
    given = np.asarray(call.required("leaf_weights")).reshape(-1)
    weights[inner + np.arange(leaves), _ints(call, "leaf_targetids")] = given
    splits = np.asarray(call.required("nodes_splits")).reshape(-1)
    missing = _ints(call, "nodes_missing_value_tracks_true").astype(bool)
    filler = np.zeros(leaves, bool)
    return forest(
        _ints(call, "tree_roots"),
        np.concatenate([_ints(call, "nodes_featureids"), np.zeros(leaves, np.int64)]),
        np.concatenate([splits, np.zeros(leaves, splits.dtype)]),
        [*(_MODES[code] for code in codes), *["LEAF"] * leaves],
        np.concatenate([missing if len(missing) else np.zeros(inner, bool), filler]),
        children,
        weights,
        weights != 0,
    )
