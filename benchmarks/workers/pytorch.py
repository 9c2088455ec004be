# SPDX-License-Identifier: Apache-2.0
"""PyTorch on the processor, eager, without gradients; images in channels_last."""

from __future__ import annotations

import torch
from torch.nn import functional

from .call import Array, Call, Operators, Workload, keeping, lookup

_TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "int8": torch.int8}


def prepare(workload: Workload, arrays: list[Array], threads: int) -> Call:
    """The operator on tensors of the workload's type."""
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    dtype = _TYPES[workload["dtype"]]
    tensors = [torch.from_numpy(array).to(dtype) for array in arrays]
    call: Call = lookup(_OPERATORS, workload)(workload, *tensors)
    return call


def _array(tensor: torch.Tensor) -> Array:
    wide = tensor.float() if tensor.dtype == torch.bfloat16 else tensor
    result: Array = wide.contiguous().numpy()
    return result


def _matmul(workload: Workload, a: torch.Tensor, b: torch.Tensor) -> Call:
    if a.dtype == torch.int8:
        return _int_matmul(a, b)
    out = torch.matmul(a, b)
    return Call(lambda: torch.matmul(a, b, out=out), lambda: _array(out))


def _int_matmul(a: torch.Tensor, b: torch.Tensor) -> Call:
    if a.dim() == 2:
        out = torch._int_mm(a, b)
        return Call(lambda: torch._int_mm(a, b, out=out), lambda: _array(out))
    return keeping(
        lambda: torch.stack([torch._int_mm(*pair) for pair in zip(a, b, strict=True)]), _array
    )


def _conv2d(workload: Workload, x: torch.Tensor, w: torch.Tensor) -> Call:
    return _convolution(workload, x, w.permute(3, 2, 0, 1), groups=1)


def _depthwise(workload: Workload, x: torch.Tensor, w: torch.Tensor) -> Call:
    return _convolution(workload, x, w.permute(3, 2, 0, 1), groups=x.shape[3])


def _convolution(workload: Workload, x: torch.Tensor, w: torch.Tensor, groups: int) -> Call:
    stride, border = workload["attributes"]["stride"], workload["attributes"]["padding"]
    image = x.permute(0, 3, 1, 2)  # (n, h, w, c) in memory: channels_last
    filters = w.contiguous(memory_format=torch.channels_last)

    def run() -> torch.Tensor:
        image_out = functional.conv2d(image, filters, None, stride, border, 1, groups)
        return image_out.relu_()

    return keeping(run, lambda out: _array(out.permute(0, 2, 3, 1)))


def _softmax(workload: Workload, x: torch.Tensor) -> Call:
    out = torch.empty_like(x)
    return Call(lambda: torch.softmax(x, 1, out=out), lambda: _array(out))


def _layer_norm(
    workload: Workload, x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor
) -> Call:
    return keeping(lambda: functional.layer_norm(x, x.shape[1:], gamma, beta, 1e-5), _array)


def _chain(workload: Workload, x: torch.Tensor, y: torch.Tensor) -> Call:
    out = torch.empty_like(x)

    def run() -> None:
        torch.add(x, y, out=out)
        out.mul_(x).sub_(y).relu_()

    return Call(run, lambda: _array(out))


def _reduce(workload: Workload, x: torch.Tensor) -> Call:
    return keeping(lambda: torch.sum(x), _array)


_OPERATORS: Operators = {
    "matmul": _matmul,
    "conv2d_relu": _conv2d,
    "depthwise_relu": _depthwise,
    "softmax": _softmax,
    "layer_norm": _layer_norm,
    "chain": _chain,
    "reduce_sum": _reduce,
}
