// SPDX-License-Identifier: Apache-2.0
// Transfers between MRAM and WRAM: one engine, which runs one transfer after another.
#include <math.h>
#include <string.h>

#include "iss.h"
#include "timing.h"

enum { MOST_BYTES = 2048 };

// The instruction encodes the number of words minus one in eight bits, so that 0 words become 256.
static uint32_t moved_bytes(dpu *dpu, uint32_t nbytes)
{
    if (nbytes || dpu->rules->strict)
        return nbytes;
    dpu->counts.empty++;
    return MOST_BYTES;
}

static bool is_allowed(dpu *dpu, uint32_t *mram, uint32_t *wram, uint32_t nbytes)
{
    if (nbytes < 8 || nbytes > MOST_BYTES || nbytes % 8) {
        dpu_raise(dpu, DPU_DMA_SIZE, nbytes);
        return false;
    }
    if ((*mram | *wram) & 7) {
        dpu->counts.misaligned++;
        if (dpu->rules->strict) {
            dpu_raise(dpu, DPU_DMA_ALIGNMENT, *mram & 7 ? *mram : *wram);
            return false;
        }
        *mram &= ~7u;
        *wram &= ~7u;
    }
    // The machine uses only the low bits of an MRAM address.
    uint32_t offset = *mram >= DPU_MRAM_BASE ? *mram - DPU_MRAM_BASE : *mram;
    if (offset > DPU_MRAM_BYTES - nbytes || *wram > dpu->profile->wram_bytes - nbytes) {
        dpu_raise(dpu, DPU_DMA_FAULT, offset > DPU_MRAM_BYTES - nbytes ? *mram : *wram);
        return false;
    }
    *mram = offset;
    return true;
}

// The tasklet waits for the latency and the bytes; the engine is busy for most of that time.
static void wait_for_engine(dpu *dpu, double latency, uint32_t nbytes)
{
    double busy = cost_DMA_BYTE * nbytes;
    double begin = fmax((double)dpu->now, (double)dpu->dma_free + dpu->dma_rest);
    double free = begin + cost_DMA_BUSY + busy;
    dpu->dma_free = (uint64_t)free;
    dpu->dma_rest = free - (double)dpu->dma_free;
    dpu->counts.dma_cycles += (uint64_t)busy;
    dpu_sleep(dpu, dpu->here, (uint64_t)(begin + latency + busy));
}

void dpu_dma(dpu *dpu, bool is_write, uint32_t mram, uint32_t wram, uint32_t nbytes)
{
    nbytes = moved_bytes(dpu, nbytes);
    if (!is_allowed(dpu, &mram, &wram, nbytes))
        return;
    dpu->changes++;
    if (is_write) {
        memcpy(dpu->mram + mram, dpu->wram + wram, nbytes);
        dpu->counts.dma_writes++;
        dpu->counts.dma_write_bytes += nbytes;
    } else {
        memcpy(dpu->wram + wram, dpu->mram + mram, nbytes);
        dpu->counts.dma_reads++;
        dpu->counts.dma_read_bytes += nbytes;
    }
    wait_for_engine(dpu, is_write ? cost_DMA_WRITE : cost_DMA_READ, nbytes);
}

static bool is_mram(uint32_t address, uint32_t nbytes)
{
    return address - DPU_MRAM_BASE <= DPU_MRAM_BYTES - nbytes;
}

// Variables in MRAM are used like others: the compiler inserts transfers of 8 bytes.
uint32_t dpu_far_load(dpu *dpu, uint32_t address, uint32_t nbytes)
{
    uint32_t value = 0;
    if (address >= DPU_ATOMIC_BASE && address - DPU_ATOMIC_BASE < DPU_MAX_ATOMICS)
        return dpu->atomics[address - DPU_ATOMIC_BASE];
    if (!is_mram(address, nbytes) || address % nbytes) {
        dpu_raise(dpu, address % nbytes ? DPU_UNALIGNED : DPU_MEMORY_FAULT, address);
        return 0;
    }
    memcpy(&value, dpu->mram + (address - DPU_MRAM_BASE), nbytes);
    dpu->counts.dma_reads++;
    dpu->counts.dma_read_bytes += 8;
    wait_for_engine(dpu, cost_DMA_READ, 8);
    return value;
}

void dpu_far_store(dpu *dpu, uint32_t address, uint32_t nbytes, uint32_t value)
{
    if (!is_mram(address, nbytes) || address % nbytes) {
        dpu_raise(dpu, address % nbytes ? DPU_UNALIGNED : DPU_MEMORY_FAULT, address);
        return;
    }
    memcpy(dpu->mram + (address - DPU_MRAM_BASE), &value, nbytes);
    dpu->changes++;
    dpu->counts.dma_writes++;
    dpu->counts.dma_write_bytes += 8;
    // The surrounding word is read first.
    wait_for_engine(dpu, cost_DMA_READ + cost_DMA_WRITE, nbytes < 8 ? 16 : 8);
}
