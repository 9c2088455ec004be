# SPDX-License-Identifier: Apache-2.0
"""Feature preprocessing: scaling, imputation, encoding."""

from __future__ import annotations

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import constant, same
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.ops.ml.scores import learned
from xtc.importers.onnx.table import Result
from xtc.importers.values import Array, Unsupported

MOST_KEYS = 4096  # of a table; each element is compared with every key


def _single(x: Tensor) -> Tensor:
    return x if x.dtype == "float32" else O.cast(x, "float32")


@learned("Scaler", 1)
def scaler(call: Call) -> Result:
    x = _single(call.tensor(0))
    offset, scale = (
        constant(np.asarray(call.attribute(name, [default]), np.float32))
        for name, default in (("offset", 0.0), ("scale", 1.0))
    )
    return O.mul(O.sub(x, offset), scale)


@learned("Normalizer", 1)
def normalizer(call: Call) -> Result:
    x = _single(call.tensor(0))
    kind, axis = call.choice("norm", "MAX", "MAX", "L1", "L2"), (x.type.rank - 1,)
    if kind == "MAX":
        size = O.reduce_max(x, axes=axis, keepdims=True)
    elif kind == "L1":
        size = O.reduce_sum(O.abs(x), axes=axis, keepdims=True)
    else:
        size = O.sqrt(O.reduce_sum(O.mul(x, x), axes=axis, keepdims=True))
    return O.div(x, O.where(O.equal(size, 0.0), 1.0, size))


@learned("Imputer", 1)
def imputer(call: Call) -> Result:
    x = call.tensor(0)
    if x.element.is_float:
        old = float(call.attribute("replaced_value_float", 0.0))
        new = np.asarray(call.required("imputed_value_floats"), x.element.numpy)
    else:
        old = int(call.attribute("replaced_value_int64", 0))
        new = np.asarray(call.required("imputed_value_int64s"), x.element.numpy)
    hit = O.is_nan(x) if np.isnan(old) else O.equal(x, old)
    return O.where(hit, constant(new), x)


@learned("Binarizer", 1)
def binarizer(call: Call) -> Result:
    x = call.tensor(0)
    above = O.greater(x, float(call.attribute("threshold", 0.0)))
    return O.cast(above, x.dtype)


@learned("ArrayFeatureExtractor", 1)
def array_feature_extractor(call: Call) -> Result:
    x, numbers = call.tensor(0), call.tensor(1)
    flat = O.reshape(numbers, (numbers.type.size,))
    if x.type.rank == 1:
        x = O.reshape(x, (1, x.type.size))
    return O.gather(x, flat, axis=x.type.rank - 1)


@learned("FeatureVectorizer", 1)
def feature_vectorizer(call: Call) -> Result:
    parts = [_single(x) for x in call.tensors()]
    return O.concat(*parts, axis=parts[0].type.rank - 1) if len(parts) > 1 else same(parts[0])


@learned("OneHotEncoder", 1)
def one_hot_encoder(call: Call) -> Result:
    keys = call.attribute("cats_int64s", [])
    if not keys:
        raise Unsupported("string categories")
    if not int(call.attribute("zeros", 1)):
        raise Unsupported("an error for unknown categories")
    return O.cast(_hits(call.tensor(0), np.asarray(keys, np.int64)), "float32")


def _hits(x: Tensor, keys: Array) -> Tensor:
    """Which key each element equals, along a new last dimension."""
    if len(keys) > MOST_KEYS:
        raise Unsupported(f"a table of {len(keys)} keys")
    wide = O.reshape(x, (*x.type.sizes, 1))
    return O.equal(wide, constant(keys.astype(x.element.numpy)))


@learned("LabelEncoder", 2, 4)
def label_encoder(call: Call) -> Result:
    x = call.tensor(0)
    keys, values = _table(call, "keys"), _table(call, "values")
    if keys is None or values is None:
        raise Unsupported("texts")
    hits = _hits(x, keys)
    found = O.gather(constant(values), O.argmax(hits, axis=x.type.rank), axis=0)
    known = O.reduce_max(hits, axes=(x.type.rank,))
    return O.where(known, found, constant(_default(call, values)))


def _table(call: Call, word: str) -> Array | None:
    for suffix, dtype in (("tensor", None), ("int64s", np.int64), ("floats", np.float32)):
        given = call.attribute(f"{word}_{suffix}")
        if given is not None:
            array = np.asarray(given, dtype).reshape(-1)
            return array if array.dtype.kind in "iuf" else None
    return None


def _default(call: Call, values: Array) -> Array:
    given = call.attribute("default_tensor")
    if given is not None:
        return np.asarray(given, values.dtype).reshape(-1)[0:1]
    if values.dtype.kind == "f":
        return np.asarray(call.attribute("default_float", -0.0), values.dtype)
    return np.asarray(call.attribute("default_int64", -1), values.dtype)
