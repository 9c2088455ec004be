# SPDX-License-Identifier: Apache-2.0
"""Reference results of a model, by ONNX Runtime or ONNX's reference evaluator."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from xtc.core.errors import UserError
from xtc.importers.values import Array

_ERRORS_ONLY = 3  # ONNX Runtime's severity level; it prints warnings to the terminal


def expected(model: onnx.ModelProto, arrays: Mapping[str, Array]) -> tuple[list[Array], str]:
    """The outputs for inputs by name, and the name of the engine that computed them.

    Raises UserError if the engine rejects the model or the inputs.
    """
    constants = {entry.name for entry in model.graph.initializer}
    given = {
        info.name: arrays[info.name] for info in model.graph.input if info.name not in constants
    }
    try:
        import onnxruntime
    except ModuleNotFoundError:
        name = "ONNX's reference evaluator"
    else:
        name = f"ONNX Runtime {onnxruntime.__version__}"
    try:
        results = _evaluated(model, given) if "Runtime" not in name else _run(model, given)
    except Exception as error:  # of many kinds, none of them ours
        text = str(error).strip().splitlines() or [type(error).__name__]
        raise UserError(f"{name} refuses the model or its inputs", notes=[text[0][:300]]) from None
    return [np.asarray(result) for result in results], name


def _run(model: onnx.ModelProto, arrays: Mapping[str, Array]) -> list[Any]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = _ERRORS_ONLY
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    results: list[Any] = session.run(None, dict(arrays))
    return results


def _evaluated(model: onnx.ModelProto, arrays: Mapping[str, Array]) -> list[Any]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        results: list[Any] = ReferenceEvaluator(model).run(None, dict(arrays))
    return results
