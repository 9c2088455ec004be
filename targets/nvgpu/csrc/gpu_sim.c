// SPDX-License-Identifier: Apache-2.0
// The main program of the simulator of a GPU, which the driver starts.
#include "gpu_sim.h"

#include "sim_device.h"
#include "sim_order.h"

gpu_block *gpu;
uint64_t *gpu_counters;

static void append_position(sim_text *text, const char *what, const uint32_t *position)
{
    sim_text_append(text, what);
    for (int dimension = 0; dimension < 3; dimension++) {
        sim_text_append(text, dimension ? ", " : " (");
        sim_text_append_number(text, position[dimension], 10);
    }
    sim_text_append(text, ")");
}

static void where(sim_text *text)
{
    if (!gpu_running)
        return;
    append_position(text, " in block", gpu_block_position);
    append_position(text, ", thread", gpu_running->position);
    if (gpu_running->line) {
        sim_text_append(text, ", line #");
        sim_text_append_number(text, gpu_running->line, 10);
    }
}

static void launch(uint64_t function, const char *name, const xtc_launch *given)
{
    cuda_kernel *kernel = (cuda_kernel *)(uintptr_t)function;
    (void)name;
    gpu_given_grid = given->grid;
    gpu_given_cluster = given->cluster;
    kernel(given->arguments);
}

int main(void)
{
    static const sim_device_ops ops = {.launch = launch, .where = where};
    sim_device_attach(&ops);
    gpu = sim_device_block();
    gpu_counters = gpu->counters;
    gpu_shared_map();
    gpu_races_open();
    gpu_banks_open();
    sim_order_init(gpu->machine.shuffled, gpu->machine.seed);
    sim_device_serve();
}
