// SPDX-License-Identifier: Apache-2.0
// The functions that device code may call: six that act, and four that report to the simulator.
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
    DEV_F16 = 1, // accumulators in F32
    DEV_I8 = 2,  // accumulators of 32 bits
    DEV_OTHER = 3,
} dev_type;

// The number of the cluster, from 0.
uint32_t dev_cluster_id(void);

// The first byte of this cluster's SMEM, whose contents are undefined when a kernel begins.
void *dev_smem(void);

// Starts a copy of `rows` rows of `row_bytes` bytes, with a stride between rows on each side.
// Returns a nonzero number for dev_dma_wait. Until that wait, both sides must not be accessed. A
// kernel must wait for every transfer before it ends.
uint32_t dev_dma_2d(dev_direction direction, void *smem, size_t smem_stride, void *ddr,
                    size_t ddr_stride, size_t row_bytes, size_t rows);

void dev_dma_wait(uint32_t transfer);

// Runs function(pe, argument) on PEs 0 to pes - 1 concurrently, and waits for all of them.
void dev_pe_launch(dev_pe_function *function, void *argument, uint32_t pes);

// A memory fence: other PEs see the earlier writes of this PE before its later ones.
void dev_fence(void);

// Reports `count` multiply-adds of this PE, or of control code. The simulator counts them and
// models cycles from them. Does nothing on hardware.
void dev_count_macs(dev_type type, uint64_t count);

// Reports an estimate of the cache lines of DDR that this PE, or control code, accessed without the
// DMA, for the modelled cycles only. Does nothing on hardware.
void dev_count_ddr(uint64_t lines);

// Reports that control code keeps a buffer of `nbytes` at `offset` in SMEM while the kernel runs.
void dev_buffer(uint64_t offset, uint64_t nbytes);

// Reports that this PE, or control code, is about to read or write `nbytes` at `address`, which was
// computed from `base`, an address in the same buffer. With checks on, the simulator faults on
// accesses outside of the buffer or to memory that a transfer uses, and on races.
void dev_access(const void *base, const void *address, uint64_t nbytes, uint32_t writes);

#pragma GCC visibility pop

#endif
