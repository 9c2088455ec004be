// SPDX-License-Identifier: Apache-2.0
// The main program of the MPPA simulator, which the driver starts as a process.
#include "mppa_sim.h"

#include <stddef.h>

#include "dev.h"
#include "sim_device.h"
#include "sim_order.h"

mppa_block *mppa;
mppa_coordinates here = {NOBODY, NOBODY};

void mppa_count(enum mppa_event event, uint64_t count)
{
    mppa->counters[event][here.cluster][here.pe == NOBODY ? 0 : here.pe] += count;
}

uint64_t mppa_smem(uint32_t cluster)
{
    return mppa->machine.smem_address + cluster * mppa->machine.smem_stride;
}

static void where(sim_text *text)
{
    if (here.cluster == NOBODY)
        return;
    sim_text_append(text, " on cluster ");
    sim_text_append_number(text, here.cluster, 10);
    sim_text_append(text, ", PE ");
    sim_text_append_number(text, here.pe == NOBODY ? 0 : here.pe, 10);
    if (here.pe == NOBODY)
        sim_text_append(text, " (control code)");
}

static void run_cluster(uint32_t cluster, dev_kernel *kernel, const char *name,
                        const uint64_t *arguments)
{
    here.cluster = cluster;
    mppa_smem_enter(cluster);
    mppa_model_begin();
    mppa_dma_begin();
    mppa_watch_cluster();
    mppa_count(MPPA_LAUNCHES, 1);
    kernel(arguments);
    mppa_dma_end();
    mppa_model_end();
    mppa_trace(MPPA_CONTROL, name, 0, mppa_model_now());
    mppa_smem_leave(cluster);
    here.cluster = NOBODY;
}

static void launch(uint64_t function, const char *name, const xtc_launch *given)
{
    dev_kernel *kernel = (dev_kernel *)(uintptr_t)function;
    uint32_t order[MPPA_MAX_CLUSTERS];
    mppa_watch_launch();
    sim_order(order, mppa->machine.clusters);
    for (uint32_t i = 0; i < mppa->machine.clusters; i++)
        run_cluster(order[i], kernel, name, given->arguments);
    mppa_model_launch_end();
}

int main(void)
{
    static const sim_device_ops ops = {.launch = launch, .where = where};
    sim_device_attach(&ops);
    mppa = sim_device_block();
    mppa_smem_map();
    mppa_watch_open();
    sim_order_init(mppa->machine.shuffled, mppa->machine.seed);
    mppa_trace_open(mppa->trace_file);
    sim_device_serve();
}
