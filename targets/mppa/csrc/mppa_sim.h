// SPDX-License-Identifier: Apache-2.0
// The state of the simulator: one cluster and one of its PEs run at a time.
#ifndef MPPA_SIM_H
#define MPPA_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "mppa_block.h"

#define NOBODY UINT32_MAX

typedef struct {
    uint32_t cluster; // the running cluster, or NOBODY
    uint32_t pe;      // the running PE, NOBODY for control code
} mppa_coordinates;

extern mppa_block *mppa;
extern mppa_coordinates here;

// mppa_sim.c
void mppa_count(enum mppa_event event, uint64_t count); // for the running PE
uint64_t mppa_smem(uint32_t cluster);
// Faults unless control code is running.
void mppa_require_control(const char *call);

// mppa_smem.c: only the running cluster has access to its SMEM.
void mppa_smem_map(void);
void mppa_smem_enter(uint32_t cluster); // its SMEM is poisoned
void mppa_smem_leave(uint32_t cluster);

// mppa_dma.c
void mppa_dma_begin(void);
void mppa_dma_end(void); // faults if a transfer was not awaited
// Faults if an access overlaps the target of a transfer in flight, or writes to its source.
void mppa_dma_require_free(uint64_t address, uint64_t nbytes, bool writes);

// mppa_watch.c: these do nothing unless accesses are checked.
void mppa_watch_open(void);
void mppa_watch_launch(void);
void mppa_watch_cluster(void); // a cluster's kernel begins
void mppa_watch_step(void);    // a fork or a join, which orders earlier accesses before later ones
void mppa_watch_transfer(const char *to, const char *from, uint64_t nbytes); // the start of a row

// mppa_model.c: the modelled time of the running cluster, in cycles since the launch.
void mppa_model_begin(void);
double mppa_model_now(void);
void mppa_model_pe(uint32_t pe);           // the start of a PE's function
void mppa_model_macs(uint32_t type, uint64_t count);
void mppa_model_ddr(uint64_t lines);
void mppa_model_join(uint32_t pes);        // the end of all PEs' functions
double mppa_model_dma(uint64_t row_bytes, uint64_t rows); // returns the time of completion
void mppa_model_wait(double done);
void mppa_model_end(void);                 // the end of the cluster's kernel
void mppa_model_launch_end(void);

// mppa_trace.c: a track of the trace is a PE by its number, control code or the DMA.
#define MPPA_CONTROL MPPA_MAX_PES
#define MPPA_DMA (MPPA_MAX_PES + 1)
void mppa_trace_open(const char *path);
// Records an event of this launch with its start and duration in cycles.
void mppa_trace(uint32_t line, const char *name, double begin, double cycles);

#endif
