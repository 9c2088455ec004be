# SPDX-License-Identifier: Apache-2.0
"""Prefix sums in one pass over memory: each block looks back at the sums of those before it."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch
from xtc import tile
from xtc.tile import int32, int64


class LookBack(tile.Script):
    """A word per block holds its sum and its state: 1 for its sum alone, 2 for the whole prefix."""

    def __init__(self, block=128, warps=2):
        super().__init__()
        self.block, self.warps = block, warps

    def __call__(self, n: int32, x_ptr: ~int32, y_ptr: ~int32):
        self.attrs.blocks = self.utils.cdiv(n, self.block)
        self.attrs.warps = self.warps
        x = self.global_view(x_ptr, dtype=int32, shape=[n])
        y = self.global_view(y_ptr, dtype=int32, shape=[n])
        ticket = self.global_tensor(dtype=int32, shape=[1], requires_clean=True)
        words = self.global_tensor(
            dtype=int64, shape=[self.utils.cdiv(n, self.block)], requires_clean=True
        )
        ended = self.global_tensor(dtype=int32, shape=[1], requires_clean=True)
        before = self.shared_tensor(dtype=int32, shape=[2])
        with self.single_thread():
            single = self.register_tensor(dtype=int32, shape=[1], init=1)
            number = self.register_tensor(dtype=int32, shape=[1])
            self.atomic.global_add(ticket, single, output=number)
            self.store_shared(before, number, offsets=[1])
        self.sync()
        block = before[1].item()
        t = self.load_global(x, offsets=[block * self.block], shape=[self.block])
        t = self.cumsum(t, dim=0)
        total = self.sum(self.load_global(x, offsets=[block * self.block], shape=[self.block]))
        with self.single_thread():
            prefix: int32 = 0
            own = self.cast(total.item(), int64) & 0xFFFFFFFF
            self.publish(words, block, own, 1)
            at: int32 = block - 1
            while at >= 0:
                seen = self.peek(words, at)
                state = self.cast(seen >> 32, int32)
                if state > 0:
                    prefix += self.cast(seen, int32)
                    at -= 1
                if state == 2:
                    at = -1
            self.publish(words, block, self.cast(prefix + total.item(), int64) & 0xFFFFFFFF, 2)
            self.store_shared(
                before, self.register_tensor(dtype=int32, shape=[1], init=prefix), offsets=[0]
            )
        self.sync()
        self.store_global(y, t + before[0].item(), offsets=[block * self.block])
        self.reset(ticket, ended, words)

    def reset(self, ticket, ended, words):
        """The last block that ends clears what all have used."""
        with self.single_thread():
            done = self.atomic.global_add(
                ended, self.register_tensor(dtype=int32, shape=[1], init=1), sem="acq_rel"
            )
            if done.item() == self.gridDim.x - 1:
                for count in (ticket, ended):
                    self.store_global(
                        count, self.register_tensor(dtype=int32, shape=[1], init=0), offsets=[0]
                    )
                for number in self.range(self.gridDim.x):
                    self.store_global(
                        words,
                        self.register_tensor(dtype=int64, shape=[1], init=0),
                        offsets=[number],
                    )

    def publish(self, words, block, value, state):
        word = self.register_tensor(dtype=int64, shape=[1], init=value | (state << 32))
        self.atomic.global_exch(self.word(words, block), word)

    def peek(self, words, block):
        none = self.register_tensor(dtype=int64, shape=[1], init=0)
        return self.atomic.global_add(self.word(words, block), none).item()

    def word(self, words, block):
        return self.global_view(~words[block], dtype=int64, shape=[1])


def case(n=1000):
    x, y = np.random.default_rng(0).integers(-9, 9, n).astype(np.int32), np.zeros(n, np.int32)
    return Case((Launch(LookBack(), (n, x, y)),), y, np.cumsum(x))
