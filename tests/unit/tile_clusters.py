# SPDX-License-Identifier: Apache-2.0
"""Tile kernels of clusters: blocks that share loaded tiles; marks identify lines."""

from __future__ import annotations

from xtc import tile
from xtc.tile import float16, float32, int32


class Shared(tile.Script):
    """Each block of a cluster loads a part of a tile for all of them, and stores the whole tile."""

    def __init__(self, blocks=2, rounds=3):
        super().__init__()
        self.blocks, self.rounds = blocks, rounds

    def __call__(self, m: int32, x_ptr: ~float16, y_ptr: ~float16):
        self.attrs.blocks = self.utils.cdiv(m, self.rounds * 16 * self.blocks) * self.blocks
        self.attrs.cluster_blocks = self.blocks
        self.attrs.warps = 4
        x = self.global_view(x_ptr, dtype=float16, shape=[m, 64])
        y = self.global_view(y_ptr, dtype=float16, shape=[self.blocks, m, 64])
        parts = self.shared_tensor(dtype=float16, shape=[self.blocks, 16, 64])
        full = self.mbarrier.alloc(1)
        empty = self.mbarrier.alloc([self.blocks])
        rank = self.cluster.blockRank
        everybody = (1 << self.blocks) - 1
        self.cluster.sync()  # begun
        first = self.blockIdx.x // self.blocks * self.rounds * self.blocks
        for turn in range(self.rounds):
            part = (first + turn * self.blocks + rank) * 16
            with self.single_thread():
                self.mbarrier.wait(empty, phase=(turn + 1) % 2, scope="cluster")  # empty
                self.mbarrier.arrive_and_expect_tx(full, parts.nbytes)
                self.tma.global_to_shared(
                    src=x,
                    dst=parts[rank],
                    offsets=[part, 0],
                    mbarrier=full,
                    multicast_mask=everybody,
                )
            self.mbarrier.wait(full, phase=turn % 2, scope="cluster")  # full
            for number in range(self.blocks):
                at = (first + turn * self.blocks + number) * 16
                self.store_global(
                    y, self.load_shared(parts[number]), offsets=[rank, at, 0], dims=[1, 2]
                )
            self.sync()
            with self.single_thread():
                for number in range(self.blocks):
                    there = self.cluster.map_shared_addr(empty, number)
                    self.mbarrier.arrive(there, scope="cluster")  # used
        self.cluster.sync()  # ended


class Multiplied(tile.Script):
    """Each block multiplies its rows of `a` by columns of `b` that the cluster loads together."""

    def __init__(self, blocks=2, slots=2):
        super().__init__()
        self.blocks, self.slots = blocks, slots

    def __call__(self, m: int32, k: int32, a_ptr: ~float16, b_ptr: ~float16, c_ptr: ~float32):
        self.attrs.blocks = self.utils.cdiv(m, 64 * self.blocks) * self.blocks
        self.attrs.cluster_blocks = self.blocks
        self.attrs.warps = 5
        a = self.global_view(a_ptr, dtype=float16, shape=[m, k])
        b = self.global_view(b_ptr, dtype=float16, shape=[64, k])
        rows = self.shared_tensor(dtype=float16, shape=[self.slots, 64, 32])
        columns = self.shared_tensor(
            dtype=float16, shape=[self.slots, self.blocks, 64 // self.blocks, 32]
        )
        full = self.mbarrier.alloc([1 for _ in range(self.slots)])
        empty = self.mbarrier.alloc([128 * self.blocks for _ in range(self.slots)])
        self.cluster.sync()
        rank = self.cluster.blockRank
        with self.thread_group(128, 32):
            slot: int32 = 0
            phase: int32 = 1
            for at in range(0, k, 32):
                self.mbarrier.wait(empty[slot], phase=phase)
                with self.single_thread():
                    self.mbarrier.arrive_and_expect_tx(full[slot], 2 * 64 * 32 * 2)
                    self.tma.global_to_shared(
                        src=a,
                        dst=rows[slot],
                        offsets=[self.blockIdx.x * 64, at],
                        mbarrier=full[slot],
                    )
                    self.tma.global_to_shared(
                        src=b,
                        dst=columns[slot, rank],
                        offsets=[rank * (64 // self.blocks), at],
                        mbarrier=full[slot],
                        multicast_mask=(1 << self.blocks) - 1,
                    )
                slot = (slot + 1) % self.slots
                phase = phase ^ (slot == 0)
        with self.thread_group(0, 128):
            sums = self.register_tensor(dtype=float32, shape=[64, 64], init=0.0)
            slot: int32 = 0
            phase: int32 = 0
            for _ in range(0, k, 32):
                self.mbarrier.wait(full[slot], phase=phase)
                right = self.reshape_shared(columns, [self.slots, 64, 32])[slot]
                self.wgmma.fence()
                self.wgmma.mma(rows[slot], right.transpose(), sums)
                self.wgmma.commit_group()
                self.wgmma.wait_group(0)
                for other in range(self.blocks):
                    self.mbarrier.arrive(self.cluster.map_shared_addr(empty[slot], other))
                slot = (slot + 1) % self.slots
                phase = phase ^ (slot == 0)
            c = self.global_view(c_ptr, dtype=float32, shape=[m, 64])
            self.store_global(c, sums, offsets=[self.blockIdx.x * 64, 0])
        self.cluster.sync()


class Announced(tile.Script):
    """One block announces the bytes of a load at the barriers of all."""

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32, positions: ~int32):
        self.attrs.blocks = [4, 2]
        self.attrs.cluster_blocks = (2, 2)
        self.attrs.warps = 1
        x = self.global_view(x_ptr, dtype=float32, shape=[16, 32])
        y = self.global_view(y_ptr, dtype=float32, shape=[2, 4, 16, 32])
        s = self.shared_tensor(dtype=float32, shape=[16, 32])
        barrier = self.mbarrier.alloc(counts=2)
        self.cluster.sync()
        rank = self.cluster.blockRank
        if rank == 0:
            self.mbarrier.arrive_and_expect_tx_multicast(barrier, s.nbytes, multicast_mask=15)
            self.tma.global_to_shared(
                src=x, dst=s, offsets=[0, 0], mbarrier=barrier, multicast_mask=15
            )
        with self.single_thread():
            self.mbarrier.arrive_and_expect_tx_remote(barrier, 0, target_rank=3 - rank)
        self.mbarrier.wait(barrier, phase=0)
        self.store_global(
            y, self.load_shared(s), offsets=[self.blockIdx.y, self.blockIdx.x, 0, 0], dims=[2, 3]
        )
        where = self.cluster.blockIdx
        seen = self.global_view(positions, dtype=int32, shape=[2, 4])
        code = rank * 100 + where.x * 10 + where.y + self.cluster.clusterDim.x * 1000
        self.store_global(
            seen,
            self.register_tensor(dtype=int32, shape=[1, 1], init=code),
            offsets=[self.blockIdx.y, self.blockIdx.x],
        )
        self.cluster.sync()


class GridBarrier(tile.Script):
    """Each block waits for all blocks of the launch, including other clusters."""

    def __call__(self, count_ptr: ~int32, seen_ptr: ~int32):
        self.attrs.blocks, self.attrs.cluster_blocks, self.attrs.warps = 6, 2, 1
        count = self.global_view(count_ptr, dtype=int32, shape=[1])
        seen = self.global_view(seen_ptr, dtype=int32, shape=[6])
        self.atomic.global_add(
            count, self.register_tensor(dtype=int32, shape=[1], init=1), sem="acq_rel"
        )
        none = self.register_tensor(dtype=int32, shape=[1], init=0)
        arrived = self.register_tensor(dtype=int32, shape=[1], init=0)
        while arrived.item() < 6:
            self.atomic.global_add(count, none, sem="acquire", output=arrived)
        self.store_global(seen, arrived, offsets=[self.blockIdx.x])
