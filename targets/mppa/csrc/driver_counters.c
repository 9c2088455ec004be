// SPDX-License-Identifier: Apache-2.0
#include "driver_counters.h"

#include <stdio.h>
#include <stdlib.h>

#define NAME_BYTES 64

#define EXACT_NAME(name) "mppa." #name,
#define MODELLED_NAME(name) "modelled.mppa." #name,
static const char *const events[] = {MPPA_EXACT_EVENTS(EXACT_NAME)
                                         MPPA_MODELLED_EVENTS(MODELLED_NAME)};

static const char *const singles[] = {XTC_COPY_NAMES("mppa."), "modelled.mppa.CYCLES"};
#define SINGLES (sizeof singles / sizeof *singles)

sim_counter_names *mppa_counter_names_of(const void *given)
{
    const mppa_machine *machine = &((const mppa_block *)given)->machine;
    uint32_t count = MPPA_EVENTS * machine->clusters * machine->pes + SINGLES;
    sim_counter_names *names = malloc(sizeof *names + count * (sizeof *names->names + NAME_BYTES));
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

void mppa_counter_values(const void *given, const xtc_copies *copies, uint64_t *values)
{
    const mppa_block *block = given;
    values = xtc_copies_values(copies, values);
    *values++ = block->cycles;
    for (uint32_t event = 0; event < MPPA_EVENTS; event++)
        for (uint32_t cluster = 0; cluster < block->machine.clusters; cluster++)
            for (uint32_t pe = 0; pe < block->machine.pes; pe++)
                *values++ = block->counters[event][cluster][pe];
}
