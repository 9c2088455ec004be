// SPDX-License-Identifier: Apache-2.0
// The trace: tasks and wavelets over modelled time in the Trace Event Format, which browsers and
// Perfetto display. A process in the viewer is a row of PEs, or the links of a row; a microsecond
// is a modelled cycle. A wavelet appears in the cycle in which it takes a link or ramp.
#define _GNU_SOURCE
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
    setvbuf(file, NULL, _IOFBF, 1 << 20);
    fputs("[\n", file); // the format allows a missing end
}

static void name_it(const char *what, const char *kind, uint32_t row, uint32_t process)
{
    fprintf(file,
            "{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%u,\"args\":{\"name\":\"%s %u\"}},\n", what,
            process, kind, row);
}

#define LINKS 0x10000u // the links of a row, as a process

void wse_trace_rows(uint32_t height)
{
    if (!file)
        return;
    for (uint32_t row = 0; row < height; row++) {
        name_it("process_name", "row", row, row);
        name_it("process_name", "links of row", row, LINKS + row);
    }
}

void wse_trace_wavelet(const wse_pe *pe, uint32_t to, const wse_wavelet *wavelet)
{
    if (!file)
        return;
    fprintf(file,
            "{\"name\":\"color %u%s\",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":%u,\"tid\":%u,"
            "\"ts\":%llu,\"dur\":1,\"args\":{\"data\":\"0x%08x\",\"arrives\":%llu}},\n",
            wavelet->color, wavelet->control ? " control" : "", wse_direction_names[to],
            LINKS + pe->y, WSE_DIRECTIONS * pe->x + to, (unsigned long long)wse.now,
            wavelet->data, (unsigned long long)wavelet->ready);
}

void wse_trace_flush(void)
{
    if (file)
        fflush_unlocked(file); // a signal may have come in the middle of a line
}

void wse_trace_task(const wse_pe *pe, const char *name, uint64_t begin, uint64_t end)
{
    if (!file)
        return;
    fprintf(file,
            "{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":%llu,\"dur\":%llu},\n",
            name, pe->y, pe->x, (unsigned long long)begin,
            (unsigned long long)(end > begin ? end - begin : 0));
}
