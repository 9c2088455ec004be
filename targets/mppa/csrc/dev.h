// SPDX-License-Identifier: Apache-2.0
// What device code may call: six functions, and four by which it says what it does.
//
// A kernel is a function of type dev_kernel. Every cluster runs it once per launch, on its PE 0; this
// code, called control code, moves data by DMA and starts the PEs. Only control code may call
// dev_dma_2d, dev_dma_wait and dev_pe_launch.
#ifndef DEV_H
#define DEV_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)

// The launch's arguments: addresses in DDR, and integers.
typedef void dev_kernel(const uint64_t *arguments);
typedef void dev_pe_function(uint32_t pe, void *argument);

typedef enum {
    DEV_GET = 0, // DDR to SMEM
    DEV_PUT = 1, // SMEM to DDR
} dev_direction;

typedef enum {
    DEV_F32 = 0,
    DEV_F16 = 1, // sums in F32
    DEV_I8 = 2,  // sums in 32 bits
    DEV_OTHER = 3,
} dev_type;

// The number of the cluster, from 0.
uint32_t dev_cluster_id(void);

// The first byte of this cluster's SMEM. What it holds when a kernel begins is undefined.
void *dev_smem(void);

// Start copying `rows` rows of `row_bytes` bytes, whose beginnings are a stride apart on each side.
// Both sides belong to the DMA until dev_dma_wait gets what this returns, which is never 0. A kernel
// must wait for every transfer before it ends.
uint32_t dev_dma_2d(dev_direction direction, void *smem, size_t smem_stride, void *ddr,
                    size_t ddr_stride, size_t row_bytes, size_t rows);

void dev_dma_wait(uint32_t transfer);

// Run function(pe, argument) on PEs 0 to pes - 1, at the same time, and wait for all of them.
void dev_pe_launch(dev_pe_function *function, void *argument, uint32_t pes);

// What this PE wrote is seen by others before what it writes afterwards.
void dev_fence(void);

// Say that this PE, or control code, did `count` multiply-adds: counted, and the base of the
// simulator's modelled cycles. Does nothing on hardware.
void dev_count_macs(dev_type type, uint64_t count);

// Say that this PE, or control code, read or wrote about so many cache lines of DDR without the DMA:
// for the modelled cycles alone. Does nothing on hardware.
void dev_count_ddr(uint64_t lines);

// Say that control code keeps a buffer of `nbytes` at `offset` in SMEM, for as long as the kernel runs.
void dev_buffer(uint64_t offset, uint64_t nbytes);

// Say that this PE, or control code, is about to read or write `nbytes` at `address`, which it
// computed from `base`, an address in the same buffer. A simulator that watches checks it: accesses
// outside of the buffer, accesses of what the DMA owns, and races are faults.
void dev_access(const void *base, const void *address, uint64_t nbytes, uint32_t writes);

#pragma GCC visibility pop

#endif
