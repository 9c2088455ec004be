// SPDX-License-Identifier: Apache-2.0
// The trace: modelled time in the Trace Event Format, which browsers and Perfetto display, one
// event per line. Each cluster is a process in the viewer, and each modelled cycle a microsecond.
#include <stdio.h>

#include "mppa_sim.h"
#include "sim_device.h"

static FILE *file;

static void name_line(uint32_t cluster, uint32_t line)
{
    char name[16] = "control";
    if (line == MPPA_DMA)
        snprintf(name, sizeof name, "DMA");
    else if (line < MPPA_MAX_PES)
        snprintf(name, sizeof name, "PE %u", line);
    fprintf(file,
            "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%u,\"tid\":%u,"
            "\"args\":{\"name\":\"%s\"}},\n",
            cluster, line, name);
}

void mppa_trace_open(const char *path)
{
    if (!*path)
        return;
    file = fopen(path, "we");
    if (!file)
        sim_give_up("the trace file cannot be written");
    fputs("[\n", file); // the format allows a missing end
    for (uint32_t cluster = 0; cluster < mppa->machine.clusters; cluster++)
        for (uint32_t line = 0; line <= MPPA_DMA; line++)
            name_line(cluster, line);
    fflush(file);
}

void mppa_trace(uint32_t line, const char *name, double begin, double cycles)
{
    if (!file)
        return;
    fprintf(file, "{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f},\n",
            name, here.cluster, line, (double)mppa->cycles + begin, cycles);
    fflush(file);
}
