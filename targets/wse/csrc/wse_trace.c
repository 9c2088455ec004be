// SPDX-License-Identifier: Apache-2.0
// The trace: tasks over modelled time in the Trace Event Format, which browsers and Perfetto show.
// A process of the viewer is a row of PEs, and a microsecond is a modelled cycle.
#include <stdio.h>

#include "sim_device.h"
#include "wse_sim.h"

static FILE *file;

void wse_trace_open(const char *path)
{
    if (!*path)
        return;
    file = fopen(path, "we");
    if (!file)
        sim_give_up("the trace file cannot be written");
    fputs("[\n", file); // the format allows that the end is missing
}

void wse_trace_task(const wse_pe *pe, const char *name, uint64_t begin, uint64_t end)
{
    if (!file)
        return;
    fprintf(file,
            "{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":%llu,\"dur\":%llu},\n",
            name, pe->y, pe->x, (unsigned long long)begin,
            (unsigned long long)(end > begin ? end - begin : 0));
    fflush(file);
}
