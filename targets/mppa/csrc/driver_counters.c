// SPDX-License-Identifier: Apache-2.0
#include "driver_counters.h"

#include <stdio.h>
#include <stdlib.h>

#define NAME_BYTES 64

#define EXACT_NAME(name) "mppa." #name,
#define MODELLED_NAME(name) "modelled.mppa." #name,
static const char *const events[] = {MPPA_EXACT_EVENTS(EXACT_NAME)
                                         MPPA_MODELLED_EVENTS(MODELLED_NAME)};

static const char *const singles[] = {
    "mppa.H2D_BYTES",  "mppa.D2H_BYTES",  "mppa.D2D_BYTES",       "mppa.H2D_COPIES",
    "mppa.D2H_COPIES", "mppa.D2D_COPIES", "modelled.mppa.CYCLES",
};
#define SINGLES (sizeof singles / sizeof *singles)

void mppa_count_copy(mppa_host_counts *counts, xtc_kind kind, uint64_t nbytes)
{
    int direction = kind == XTC_COPY_TO ? 0 : kind == XTC_COPY_FROM ? 1 : 2;
    counts->bytes[direction] += nbytes;
    counts->copies[direction]++;
}

mppa_counter_names *mppa_counter_names_of(const mppa_machine *machine)
{
    uint32_t count = MPPA_EVENTS * machine->clusters * machine->pes + SINGLES;
    mppa_counter_names *names =
        malloc(sizeof *names + count * (sizeof *names->names + NAME_BYTES));
    if (!names)
        return NULL;
    char *text = (char *)(names->names + count);
    names->count = 0;
    for (size_t i = 0; i < SINGLES; i++)
        names->names[names->count++] = singles[i];
    for (uint32_t event = 0; event < MPPA_EVENTS; event++)
        for (uint32_t cluster = 0; cluster < machine->clusters; cluster++)
            for (uint32_t pe = 0; pe < machine->pes; pe++, text += NAME_BYTES) {
                snprintf(text, NAME_BYTES, "%s.cluster.%u.pe.%u", events[event], cluster, pe);
                names->names[names->count++] = text;
            }
    return names;
}

void mppa_counter_values(const mppa_block *block, const mppa_host_counts *counts, uint64_t *values)
{
    for (int direction = 0; direction < 3; direction++)
        *values++ = counts->bytes[direction];
    for (int direction = 0; direction < 3; direction++)
        *values++ = counts->copies[direction];
    *values++ = block->cycles;
    for (uint32_t event = 0; event < MPPA_EVENTS; event++)
        for (uint32_t cluster = 0; cluster < block->machine.clusters; cluster++)
            for (uint32_t pe = 0; pe < block->machine.pes; pe++)
                *values++ = block->counters[event][cluster][pe];
}
