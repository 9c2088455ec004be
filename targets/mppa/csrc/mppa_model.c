// SPDX-License-Identifier: Apache-2.0
// Modelled time. Each cluster has two clocks: one of control code, which waits while the PEs run,
// and one of the DMA, which runs transfers one after another in parallel. Costs come from the
// machine's description; nothing here was measured.
#include <math.h>

#include "mppa_sim.h"

static double now;      // of control code
static double dma_free; // when the DMA can start the next transfer
static double busy[MPPA_MAX_PES];
static double longest; // time of the slowest cluster in this launch

static void add(enum mppa_event event, uint32_t pe, double cycles)
{
    mppa->counters[event][here.cluster][pe] += (uint64_t)llround(cycles);
}

void mppa_model_begin(void)
{
    now = mppa->machine.launch_cycles;
    dma_free = 0;
}

double mppa_model_now(void)
{
    return now;
}

void mppa_model_pe(uint32_t pe)
{
    busy[pe] = mppa->machine.pe_cycles;
}

// The clock of the running PE, or of control code.
static void spend(double cycles)
{
    if (here.pe == NOBODY) {
        now += cycles;
        add(MPPA_PE_BUSY, 0, cycles);
    } else {
        busy[here.pe] += cycles;
    }
}

void mppa_model_macs(uint32_t type, uint64_t count)
{
    spend((double)count / mppa->machine.macs_per_cycle[type]);
}

// A PE waits for each line; all PEs together are limited by the memory bandwidth.
void mppa_model_ddr(uint64_t lines)
{
    const mppa_machine *machine = &mppa->machine;
    double share = machine->ddr_bytes_per_cycle / (machine->clusters * machine->pes);
    spend((double)lines * fmax(machine->ddr_line_cycles, machine->line_bytes / share));
}

void mppa_model_join(uint32_t pes)
{
    double slowest = 0;
    double begin = now + mppa->machine.fork_cycles;
    for (uint32_t pe = 0; pe < pes; pe++) {
        slowest = fmax(slowest, busy[pe]);
        add(MPPA_PE_BUSY, pe, busy[pe]);
        mppa_trace(pe, "PE", begin, busy[pe]);
    }
    now = begin + slowest;
}

// Words of the DMA's width, then single bytes for the remainder of each row.
static double dma_cycles(uint64_t row_bytes, uint64_t rows)
{
    uint64_t word = (uint64_t)mppa->machine.dma_word_bytes;
    double engine = (double)(rows * (row_bytes / word + row_bytes % word));
    double share = mppa->machine.ddr_bytes_per_cycle / mppa->machine.clusters;
    return fmax(engine, (double)(rows * row_bytes) / share);
}

double mppa_model_dma(uint64_t row_bytes, uint64_t rows)
{
    double cycles = dma_cycles(row_bytes, rows);
    now += mppa->machine.dma_issue_cycles;
    double begin = fmax(now, dma_free);
    dma_free = begin + cycles;
    add(MPPA_DMA_BUSY, 0, cycles);
    mppa_trace(MPPA_DMA, "transfer", begin, cycles);
    return dma_free + mppa->machine.dma_latency_cycles;
}

void mppa_model_wait(double done)
{
    if (done <= now)
        return;
    add(MPPA_DMA_STALL, 0, done - now);
    mppa_trace(MPPA_CONTROL, "wait", now, done - now);
    now = done;
}

void mppa_model_end(void)
{
    for (uint32_t pe = 0; pe < mppa->machine.pes; pe++)
        add(MPPA_PCC, pe, now);
    longest = fmax(longest, now);
}

void mppa_model_launch_end(void)
{
    mppa->cycles += (uint64_t)llround(longest);
    longest = 0;
}
