// SPDX-License-Identifier: Apache-2.0
// The main program of the wafer simulator, which the driver starts as a process.
#include "sim_device.h"
#include "sim_order.h"
#include "wse_sim.h"

wse_machine wse;
wse_shared_block *wse_shared;
wse_pe *wse_here, *wse_about;

static void where(sim_text *text)
{
    const wse_pe *pe = wse_here ? wse_here : wse_about;
    wse_trace_flush(); // after a fault, nothing more is written
    if (!pe)
        return;
    sim_text_append(text, " on PE (");
    sim_text_append_number(text, pe->x, 10);
    sim_text_append(text, ", ");
    sim_text_append_number(text, pe->y, 10);
    sim_text_append(text, ")");
    if (wse_here && pe->running < WSE_ALL_TASKS && pe->class->tasks[pe->running].name) {
        sim_text_append(text, ", task '");
        sim_text_append(text, pe->class->tasks[pe->running].name);
        sim_text_append(text, "'");
    }
}

static void launch(uint64_t function, const char *name, const xtc_launch *launch)
{
    static const char *const names[] = {"(load)", "memcpy_h2d", "memcpy_d2h", "memcpy_h2d",
                                        "memcpy_d2h", "launch",     "memcpy",     "(dump)"};
    const uint64_t *arguments = launch->arguments;
    (void)name;
    if (!wse.pes) {
        wse_load((wse_program *)(uintptr_t)function);
        wse_trace_rows(wse.height);
    }
    if (!arguments[0])
        return;
    const char *command = names[arguments[0] & 7];
    sim_fault_kernel_begins(command);
    wse_command(command, arguments, launch->count);
    wse_trace_flush();
}

int main(void)
{
    static const sim_device_ops ops = {.launch = launch, .where = where};
    sim_device_attach(&ops);
    wse_shared = sim_device_block();
    sim_order_init(wse_shared->settings.shuffled, wse_shared->settings.seed);
    wse_print_open(wse_shared->settings.log);
    wse_trace_open(wse_shared->settings.trace);
    sim_device_serve();
}
