# SPDX-License-Identifier: Apache-2.0
"""Memory-bound tile kernels, compared with a copy of the same bytes; part of `make bench-nvgpu`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np

from benchmarks.console import wide_console
from benchmarks.nvgpu_clock import compare
from examples.tile.layer_norm import LayerNorm
from examples.tile.softmax import Softmax
from examples.tile.vector_add import VectorAdd
from xtc import tile
from xtc_targets.nvgpu import NvgpuDevice

ROWS, COLUMNS = 65536, 1024  # 256 MiB of float32
SHARE_GOAL = 0.9
say = wide_console().print


@tile.autotune("block", [512, 1024, 2048, 4096])
class Add(VectorAdd):
    """z = x + y."""


@tile.autotune("rows", [1, 2, 4, 8])
class Soft(Softmax):
    """Softmax of rows."""


@tile.autotune("rows", [1, 2, 4, 8])
class Norm(LayerNorm):
    """Layer normalization of rows, scaled and shifted."""


def rows() -> dict[str, Callable[[NvgpuDevice], None]]:
    """What is measured on a GPU."""
    return {
        f"tile {name}": partial(_measured, name) for name in ("vector add", "softmax", "layer_norm")
    }


def _measured(name: str, device: NvgpuDevice) -> None:
    """Time a kernel alternately with a copy; print rates relative to the copy, and errors."""
    host = np.random.default_rng(0).standard_normal((ROWS, COLUMNS), np.float32)
    ones = np.linspace(0.5, 1.5, COLUMNS, dtype=np.float32)
    with ExitStack() as stack, tile.use_stream():
        x, y, scale = (stack.enter_context(device.array(each)) for each in (host, host, ones))
        z = stack.enter_context(device.zeros((ROWS, COLUMNS), "float32"))
        streams: Any = device.streams
        copy = partial(streams.copy_within, 0, z.address, x.address, x.nbytes)
        kernels: dict[str, tuple[Callable[[], Any], float, Callable[..., Any]]] = {
            "vector add": (partial(Add(), ROWS * COLUMNS, x, y, z), 1.5, lambda a: a + a),
            "softmax": (partial(Soft(), ROWS, COLUMNS, x, z), 1, softmax),
            "layer_norm": (
                partial(Norm(), ROWS, COLUMNS, 1e-5, x, scale, scale, z),
                1,
                partial(layer_norm, scale=ones),
            ),
        }
        run, traffic, expected = kernels[name]
        run()
        streams.wait(0)
        check(name, z.numpy()[:64], expected(host[:64]))
        report = compare(device, f"tile {name}", {"copy": copy, name: run})
        share = traffic / report.ratio(name)
        rate = 2 * traffic * x.nbytes / report.timings[name].median
        met = "met" if share >= SHARE_GOAL else "missed"
        say(f"{name}: {rate / 1e9:.0f} GB/s, {share:.0%} of the copy's; goal 90%: {met}")


def check(name: str, found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> None:
    """Raise AssertionError if a kernel is wrong."""
    np.testing.assert_allclose(found, expected, atol=2e-5, rtol=2e-5, err_msg=name)


def softmax(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The reference softmax, by NumPy."""
    powers = np.exp(x - x.max(1, keepdims=True))
    return np.asarray(powers / powers.sum(1, keepdims=True))


def layer_norm(x: np.ndarray[Any, Any], scale: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The reference layer normalization, by NumPy."""
    centered = x - x.mean(1, keepdims=True)
    variance = (centered**2).mean(1, keepdims=True)
    return np.asarray(centered / np.sqrt(variance + 1e-5) * scale + scale)
