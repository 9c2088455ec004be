# SPDX-License-Identifier: Apache-2.0
"""JAX on the CPU: compiled ahead of time by XLA; a call waits for its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .call import Array, Call, Operators, Workload, keeping, lookup

_LAYOUT = ("NHWC", "HWIO", "NHWC")


def prepare(workload: Workload, arrays: list[Array], threads: int) -> Call:
    """The function, compiled for these shapes with weights as constants."""
    del threads  # XLA reads them from PJRT_NPROC when it is imported
    function: Callable[..., Any] = lookup(_OPERATORS, workload)(workload)
    operands = [jnp.asarray(array, dtype=workload["dtype"]) for array in arrays]
    weights = {position: operands[position] for position in workload["weights"]}
    inputs = [operand for position, operand in enumerate(operands) if position not in weights]

    def whole(*given: Any) -> Any:
        rest = iter(given)
        all_operands = (weights[p] if p in weights else next(rest) for p in range(len(operands)))
        return function(*all_operands)

    compiled = jax.jit(whole).lower(*inputs).compile()
    return keeping(lambda: compiled(*inputs).block_until_ready(), _array)


def _array(result: Any) -> Array:
    wide = result.astype(jnp.float32) if result.dtype == jnp.bfloat16 else result
    return np.asarray(wide)


def _matmul(workload: Workload) -> Callable[..., Any]:
    wide = jnp.int32 if workload["dtype"] == "int8" else None
    return lambda a, b: jnp.matmul(a, b, preferred_element_type=wide)


def _conv2d(workload: Workload) -> Callable[..., Any]:
    return _convolution(workload, depthwise=False)


def _depthwise(workload: Workload) -> Callable[..., Any]:
    return _convolution(workload, depthwise=True)


def _convolution(workload: Workload, *, depthwise: bool) -> Callable[..., Any]:
    stride, border = workload["attributes"]["stride"], workload["attributes"]["padding"]

    def function(x: Any, w: Any) -> Any:
        total = lax.conv_general_dilated(
            x,
            w,
            (stride, stride),
            [(border, border)] * 2,
            dimension_numbers=_LAYOUT,
            feature_group_count=x.shape[3] if depthwise else 1,
        )
        return jnp.maximum(total, 0)

    return function


def _layer_norm(x: Any, gamma: Any, beta: Any) -> Any:
    moved = x - jnp.mean(x, axis=1, keepdims=True)
    variance = jnp.mean(moved * moved, axis=1, keepdims=True)
    return moved * lax.rsqrt(variance + 1e-5) * gamma + beta


_OPERATORS: Operators = {
    "matmul": _matmul,
    "conv2d_relu": _conv2d,
    "depthwise_relu": _depthwise,
    "softmax": lambda workload: lambda x: jax.nn.softmax(x, axis=1),
    "layer_norm": lambda workload: _layer_norm,
    "chain": lambda workload: lambda x, y: jnp.maximum((x + y) * x - y, 0),
    "reduce_sum": lambda workload: jnp.sum,
}
