# SPDX-License-Identifier: Apache-2.0
"""A stand-in for PyTorch on the stand-in for NVIDIA's driver.

Tensors have device memory and support DLPack; operators only consume the driver's time.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np

from tests.unit.test_nvgpu_arrays import DlTensor, Library
from xtc.tile.config import device_in_use


def no_torch() -> Any:
    """PyTorch without a GPU."""
    fake: Any = ModuleType("torch")
    fake.__spec__ = SimpleNamespace(name="torch")
    fake.cuda = SimpleNamespace(is_available=lambda: False, is_initialized=lambda: False)
    return fake


def fake_torch(library: Path, stream: int) -> Any:
    """PyTorch whose current stream is `stream`."""

    class OfTorch(DlTensor):
        __module__ = "torch"
        device = "cuda:0"
        kind: Any

        def to(self, kind: Any) -> OfTorch:
            return empty(*self._sizes, dtype=kind)

        def cuda(self) -> OfTorch:
            return self

        def __sub__(self, _: float) -> OfTorch:
            return self

        __truediv__ = __sub__

        def __matmul__(self, other: OfTorch) -> OfTorch:
            return empty(self._sizes[0], other._sizes[1], dtype=self.kind)

    def empty(*shape: int, device: str = "cuda", dtype: Any = np.float32) -> OfTorch:
        assert device == "cuda"
        tensor = Library(library).tensor(np.zeros(shape, dtype))
        made = OfTorch(tensor, code=4 if dtype is ml_dtypes.bfloat16 else 2)
        made.kind = dtype
        return made

    def matmul(a: OfTorch, b: OfTorch, out: OfTorch) -> None:
        device: Any = device_in_use()
        device.streams.copy_within(stream, out._head.data, a._head.data, 4096)

    fake: Any = no_torch()
    fake.rand = fake.randn = fake.empty = empty
    fake.matmul = matmul
    fake.float16, fake.bfloat16 = np.float16, ml_dtypes.bfloat16
    fake.testing = SimpleNamespace(assert_close=lambda *_, **__: None)
    fake.cuda = SimpleNamespace(
        is_available=lambda: True,
        is_initialized=lambda: True,
        current_device=lambda: 0,
        current_stream=lambda *_: SimpleNamespace(cuda_stream=stream),
    )
    return fake
