# SPDX-License-Identifier: Apache-2.0
"""Attention on Hopper: a warp copies keys and values, two warpgroups multiply and exponentiate."""

from __future__ import annotations

import numpy as np

from examples.tile.show import Case, Launch, halves, show
from xtc import tile
from xtc.tile import float16, float32, int32, uint32

LOG2_E = 1.4426950408889634


class Slots(tile.Class):
    """Slots of shared memory, filled by one thread group and drained by another."""

    def __init__(self, slots, readers):
        self.slots = slots
        self.full = self.mbarrier.alloc([1 for _ in range(slots)])
        self.empty = self.mbarrier.alloc([readers for _ in range(slots)])
        self.slot: int32 = 0
        self.phase: uint32 = 0

    def advance(self):
        self.slot = (self.slot + 1) % self.slots
        self.phase = self.phase ^ (self.slot == 0)


class AttentionHopper(tile.Script):
    """A block processes rows of queries of a head; scores and probabilities stay in registers.

    While a warpgroup computes exponentials, the other one keeps the tensor cores busy.
    """

    def __init__(self, rows=128, columns=128, slots=2):
        super().__init__()
        self.rows, self.columns, self.slots = rows, columns, slots

    def __call__(
        self,
        heads: int32,
        n: int32,
        d: int,
        scale: float32,
        q_ptr: ~float16,
        k_ptr: ~float16,
        v_ptr: ~float16,
        o_ptr: ~float16,
    ):
        rows, columns = self.rows, self.columns
        consumers = 2 * rows
        self.attrs.blocks = [self.utils.cdiv(n, rows), heads]
        self.attrs.warps = consumers // 32 + 1
        gq, gk, gv, go = [
            self.global_view(p, dtype=float16, shape=[heads, n, d])
            for p in (q_ptr, k_ptr, v_ptr, o_ptr)
        ]
        row, head = self.blockIdx.x * rows, self.blockIdx.y
        sq = self.shared_tensor(dtype=float16, shape=[rows, d])
        sk = self.shared_tensor(dtype=float16, shape=[self.slots, columns, d])
        sv = self.shared_tensor(dtype=float16, shape=[self.slots, columns, d])
        queries = self.mbarrier.alloc(1)
        keys, values = Slots(self.slots, consumers), Slots(self.slots, consumers)
        with self.thread_group(consumers, 32):
            with self.single_thread():
                self.mbarrier.arrive_and_expect_tx(queries, sq.nbytes)
                self.tma.global_to_shared(
                    src=gq, dst=sq, offsets=[head, row, 0], dims=[1, 2], mbarrier=queries
                )
            for at in range(0, n, columns):
                self.fill(keys, gk, sk, [head, at, 0])
                self.fill(values, gv, sv, [head, at, 0])
        with self.thread_group(0, consumers):
            acc = self.register_tensor(dtype=float32, shape=[rows, d], init=0.0)
            most = self.register_tensor(dtype=float32, shape=[rows, 1], init=-1e30)
            total = self.register_tensor(dtype=float32, shape=[rows, 1], init=0.0)
            base = scale * LOG2_E  # of powers of two, which are faster than those of e
            self.mbarrier.wait(queries, phase=0)
            for at in range(0, n, columns):
                s = self.register_tensor(dtype=float32, shape=[rows, columns], init=0.0)
                self.multiply(keys, sq, sk[keys.slot].transpose(), s)
                if at + columns > n:
                    s = self.where(self.column_numbers() + at < n, s, -1e30)
                new = self.maximum(most, self.max(s, dim=1, keepdim=True) * base)
                p = self.exp2(s * base - new)
                keep = self.exp2(most - new)
                total = total * keep + self.sum(p, dim=1, keepdim=True)
                acc = acc * keep
                most = new
                self.multiply(values, self.cast(p, dtype=float16), sv[values.slot], acc)
            o = self.cast(acc * (1.0 / total), dtype=float16)
            self.store_global(go, o, offsets=[head, row, 0], dims=[1, 2])

    def column_numbers(self):
        """The numbers of the columns of a tile of scores."""
        return self.register_tensor(dtype=int32, shape=[1, self.columns], init=lambda i, j: j)

    def multiply(self, pipe, a, b, d):
        """Add a product with the next tile to `d`, once it is there, and release its slot."""
        self.mbarrier.wait(pipe.full[pipe.slot], phase=pipe.phase)
        self.wgmma.fence()
        self.wgmma.mma(a, b, d)
        self.wgmma.commit_group()
        self.wgmma.wait_group(0)
        self.mbarrier.arrive(pipe.empty[pipe.slot])
        pipe.advance()

    def fill(self, pipe, source, slots, offsets):
        """Copy the next tile to a slot, once it is empty."""
        self.mbarrier.wait(pipe.empty[pipe.slot], phase=pipe.phase ^ 1)
        with self.single_thread():
            full, target = pipe.full[pipe.slot], slots[pipe.slot]
            self.mbarrier.arrive_and_expect_tx(full, target.nbytes)
            self.tma.global_to_shared(
                src=source, dst=target, offsets=offsets, dims=[1, 2], mbarrier=full
            )
        pipe.advance()


def case(heads=2, n=200, d=64):
    """A length that is not a multiple of the block size."""
    q, k, v = (halves(seed, heads, n, d) * 4 for seed in range(3))
    o = np.zeros_like(q)
    scores = 0.125 * (q.astype(np.float32) @ k.astype(np.float32).transpose(0, 2, 1))
    weights = np.exp(scores - scores.max(2, keepdims=True))
    expected = weights / weights.sum(2, keepdims=True) @ v.astype(np.float32)
    launch = Launch(AttentionHopper(columns=64), (heads, n, d, 0.125, q, k, v, o))
    return Case((launch,), o, expected, atol=2e-3, rtol=2e-3)


if __name__ == "__main__":
    show(case())
