# SPDX-License-Identifier: Apache-2.0
"""Tile kernels of clusters: blocks that share what one of them loads; marks name the lines."""

from __future__ import annotations

from xtc import tile
from xtc.tile import float16, float32, int32


class Shared(tile.Script):
    """Each block of a cluster loads a part of a tile for all of them, and stores the whole."""

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
