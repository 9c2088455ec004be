// SPDX-License-Identifier: Apache-2.0
// The data that the driver and the simulator of an MPPA share: the machine and its counters.
#ifndef MPPA_BLOCK_H
#define MPPA_BLOCK_H

#include <stdint.h>

#define MPPA_MAX_CLUSTERS 5
#define MPPA_MAX_PES 16
#define MPPA_TYPES 4 // values of dev_type
#define MPPA_PATH 1024

// The machine's description, which the runtime fills in. Sizes and addresses in bytes, costs in
// cycles.
typedef struct {
    uint32_t clusters, pes;
    uint64_t smem_address, smem_stride, smem_bytes; // SMEM i is at smem_address + i * smem_stride
    uint32_t dma_alignment, dma_in_flight;
    uint32_t shuffled, deferred; // whether PEs run in random order, and DMA as late as possible
    uint32_t watched;            // whether reported accesses are checked
    uint64_t seed;

    double launch_cycles, fork_cycles, pe_cycles;
    double dma_issue_cycles, dma_latency_cycles, dma_word_bytes, ddr_bytes_per_cycle;
    double ddr_line_cycles, line_bytes; // of a PE's access without the DMA
    double macs_per_cycle[MPPA_TYPES]; // of a PE
} mppa_machine;

// Counted per cluster and PE; events of a whole cluster are counted on its PE 0.
#define MPPA_EXACT_EVENTS(X)                                                                      \
    X(LAUNCHES) X(FORKS) X(PE_RUNS) X(FENCES)                                                      \
    X(DMA_GET_OPS) X(DMA_GET_BYTES) X(DMA_PUT_OPS) X(DMA_PUT_BYTES)                                \
    X(MACS_F32) X(MACS_F16) X(MACS_I8) X(MACS_OTHER)
#define MPPA_MODELLED_EVENTS(X) X(PCC) X(PE_BUSY) X(DMA_BUSY) X(DMA_STALL) X(DDR_LINES)

#define MPPA_ENUM(name) MPPA_##name,
enum mppa_event {
    MPPA_EXACT_EVENTS(MPPA_ENUM) MPPA_MODELLED_EVENTS(MPPA_ENUM) MPPA_EVENTS
};

typedef struct {
    mppa_machine machine;
    char trace_file[MPPA_PATH]; // "": no trace
    uint64_t cycles;            // modelled, total of all launches
    uint64_t counters[MPPA_EVENTS][MPPA_MAX_CLUSTERS][MPPA_MAX_PES];
} mppa_block;

#endif
