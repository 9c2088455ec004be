// SPDX-License-Identifier: Apache-2.0
// The functions of dev.h, except DMA.
#include "dev.h"

#include <stdatomic.h>

#include "mppa_sim.h"
#include "sim_device.h"
#include "sim_order.h"

static void require_kernel(const char *call)
{
    if (here.cluster == NOBODY)
        sim_fault(0, "%s called outside a kernel", call);
}

void mppa_require_control(const char *call)
{
    require_kernel(call);
    if (here.pe != NOBODY)
        sim_fault(0, "%s called on a PE: only control code may", call);
}

uint32_t dev_cluster_id(void)
{
    require_kernel("dev_cluster_id");
    return here.cluster;
}

void *dev_smem(void)
{
    require_kernel("dev_smem");
    return (void *)(uintptr_t)mppa_smem(here.cluster);
}

void dev_pe_launch(dev_pe_function *function, void *argument, uint32_t pes)
{
    mppa_require_control("dev_pe_launch");
    if (pes < 1 || pes > mppa->machine.pes)
        sim_fault(0, "dev_pe_launch of %u PEs, of which there are %u", pes, mppa->machine.pes);
    if (!function)
        sim_fault(0, "dev_pe_launch without a function");
    uint32_t order[MPPA_MAX_PES];
    sim_order(order, pes);
    mppa_count(MPPA_FORKS, 1);
    mppa_watch_step();
    for (uint32_t i = 0; i < pes; i++) {
        here.pe = order[i];
        mppa_count(MPPA_PE_RUNS, 1);
        mppa_model_pe(here.pe);
        function(here.pe, argument);
    }
    here.pe = NOBODY;
    mppa_watch_step();
    mppa_model_join(pes);
}

void dev_fence(void)
{
    require_kernel("dev_fence");
    mppa_count(MPPA_FENCES, 1);
    atomic_thread_fence(memory_order_seq_cst);
}

void dev_count_ddr(uint64_t lines)
{
    require_kernel("dev_count_ddr");
    mppa_count(MPPA_DDR_LINES, lines);
    mppa_model_ddr(lines);
}

void dev_count_macs(dev_type type, uint64_t count)
{
    require_kernel("dev_count_macs");
    if ((uint32_t)type >= MPPA_TYPES)
        sim_fault(0, "dev_count_macs of the unknown type %u", (uint32_t)type);
    mppa_count(MPPA_MACS_F32 + type, count);
    mppa_model_macs(type, count);
}
