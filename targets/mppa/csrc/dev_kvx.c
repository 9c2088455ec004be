// SPDX-License-Identifier: Apache-2.0
// The functions of dev.h on the real machine. Experimental: written from public sources, never
// compiled with the vendor's compiler and never run. The DMA and the launch of PEs have no public
// interface, so transfers are copies by control code, and PEs are threads of ClusterOS.
#include "dev.h"

#include <pthread.h>
#include <string.h>

// PCR_CID and __builtin_kvx_get as github.com/kalray/newlib, libgloss/kvx-elf uses them.
#include <kv3/registers.h>

#define SMEM_BYTES (3840 << 10)
#define MAX_PES 16

// The SMEM of each cluster, by dev_kvx.ld. It is unknown whether the vendor's loader puts it there.
extern char xtc_smem[] __attribute__((visibility("hidden")));

typedef struct {
    dev_pe_function *function;
    void *argument;
    uint32_t pe;
} start;

uint32_t dev_cluster_id(void)
{
    return (uint32_t)KVX_SFR_GET_FIELD(__builtin_kvx_get(KVX_SFR_PCR), PCR_CID);
}

void *dev_smem(void)
{
    return xtc_smem + (size_t)dev_cluster_id() * SMEM_BYTES;
}

uint32_t dev_dma_2d(dev_direction direction, void *near, size_t near_stride, void *ddr,
                    size_t ddr_stride, size_t row_bytes, size_t rows)
{
    for (size_t row = 0; row < rows; row++) {
        char *here = (char *)near + row * near_stride, *there = (char *)ddr + row * ddr_stride;
        memcpy(direction == DEV_GET ? here : there, direction == DEV_GET ? there : here, row_bytes);
    }
    return 1;
}

void dev_dma_wait(uint32_t transfer)
{
    (void)transfer;
    dev_fence();
}

static void *run(void *argument)
{
    const start *begun = argument;
    begun->function(begun->pe, begun->argument);
    dev_fence();
    return NULL;
}

// If a thread cannot be started for a PE, control code runs its function: the result is the same.
void dev_pe_launch(dev_pe_function *function, void *argument, uint32_t pes)
{
    start starts[MAX_PES];
    pthread_t threads[MAX_PES];
    int started[MAX_PES] = {0};
    for (uint32_t pe = 0; pe < pes; pe++)
        starts[pe] = (start){function, argument, pe};
    for (uint32_t pe = 1; pe < pes; pe++)
        started[pe] = pthread_create(&threads[pe], NULL, run, &starts[pe]) == 0;
    run(&starts[0]);
    for (uint32_t pe = 1; pe < pes; pe++) {
        if (started[pe])
            pthread_join(threads[pe], NULL);
        else
            run(&starts[pe]);
    }
}

void dev_fence(void)
{
    __builtin_kvx_fence();
}

void dev_count_ddr(uint64_t lines)
{
    (void)lines;
}

void dev_count_macs(dev_type type, uint64_t count)
{
    (void)type;
    (void)count;
}

void dev_buffer(uint64_t offset, uint64_t nbytes)
{
    (void)offset;
    (void)nbytes;
}

void dev_access(const void *base, const void *address, uint64_t nbytes, uint32_t writes)
{
    (void)base;
    (void)address;
    (void)nbytes;
    (void)writes;
}
