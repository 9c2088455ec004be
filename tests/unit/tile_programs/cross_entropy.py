# SPDX-License-Identifier: Apache-2.0
"""Cross-entropy of logits with label smoothing and an ignored label; gradients."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch
from xtc import tile
from xtc.tile import float32, int32, int64


class CrossEntropy(tile.Script):
    def __init__(self, block=64, ignored=-100):
        super().__init__()
        self.block, self.ignored = block, ignored

    def __call__(
        self,
        m: int32,
        n: int32,
        x_ptr: ~float32,
        g_ptr: ~float32,
        label_ptr: ~int64,
        loss_ptr: ~float32,
    ):
        self.attrs.blocks = m
        self.attrs.warps = 2
        row = self.blockIdx.x
        x = self.global_view(x_ptr, dtype=float32, shape=[m, n])
        g = self.global_view(g_ptr, dtype=float32, shape=[m, n])
        labels = self.global_view(label_ptr, dtype=int64, shape=[m])
        losses = self.global_view(loss_ptr, dtype=float32, shape=[m])
        label = labels[row].item()
        i = self.register_tensor(dtype=int32, shape=[self.block], init=lambda i: i)
        if label == self.ignored:
            for at in range(0, n, self.block):
                self.store_global(
                    g,
                    self.register_tensor(dtype=float32, shape=[self.block], init=0.0),
                    offsets=[row, at],
                    dims=[1],
                )
            self.store_global(losses, float32(0.0), offsets=[row], dims=[])
            return
        most: float32 = float("-inf")
        total: float32 = 0.0
        for at in range(0, n, self.block):
            t = self.where(
                i + at < n,
                self.load_global(x, offsets=[row, at], shape=[self.block], dims=[1]),
                float("-inf"),
            )
            new = max(most, self.max(t).item())
            total = total * self.exp(most - new) + self.sum(self.exp(t - new)).item()
            most = new
        chosen = x[row, label].item()
        self.store_global(losses, most + self.log(total) - chosen, offsets=[row], dims=[])
        for at in range(0, n, self.block):
            t = self.load_global(x, offsets=[row, at], shape=[self.block], dims=[1])
            p = self.exp(t - most) / total
            p = self.where(i + at == label, p - 1.0, p)
            self.store_global(g, p / m, offsets=[row, at], dims=[1])


def case(m=5, n=150):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((m, n)).astype(np.float32) * 3
    labels = rng.integers(0, n, m)
    labels[2] = -100
    p = np.exp(x.astype(float) - x.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    grad = p.copy()
    grad[np.arange(m), labels] -= 1
    grad[2] = 0
    g = np.zeros_like(x)
    losses = np.zeros(m, np.float32)
    expected = -np.log(p[np.arange(m), labels])
    expected[2] = 0
    return Case(
        (Launch(CrossEntropy(), (m, n, x, g, labels, losses)),), losses, expected, atol=1e-4
    )
