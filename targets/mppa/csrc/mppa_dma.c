// SPDX-License-Identifier: Apache-2.0
// The clusters' DMA engines. In deferred mode, a transfer happens when it is awaited, and its
// destination holds poison until then, so that code with a missing wait computes wrong results.
#include <inttypes.h>
#include <string.h>

#include "dev.h"
#include "mppa_sim.h"
#include "sim_device.h"
#include "sim_poison.h"

#define SLOTS 128 // a power of two above the machine's limit

typedef struct {
    uint32_t number; // the result of dev_dma_2d; 0 if the slot is free
    dev_direction direction;
    char *destination;
    const char *source;
    size_t destination_stride, source_stride, row_bytes, rows;
    double done; // time of completion, in modelled cycles
} transfer;

static transfer transfers[SLOTS];
static uint32_t in_flight, last_number;

void mppa_dma_begin(void)
{
    memset(transfers, 0, sizeof transfers);
    in_flight = 0;
}

void mppa_dma_end(void)
{
    if (in_flight)
        sim_fault(0, "the kernel ended with %u DMA transfers that it did not wait for", in_flight);
}

static void check_aligned(const char *what, uint64_t value)
{
    uint32_t alignment = mppa->machine.dma_alignment;
    if (value % alignment)
        sim_fault(0, "DMA %s %#" PRIx64 " is not a multiple of %u bytes", what, value, alignment);
}

static void check_shape(size_t smem_stride, size_t ddr_stride, size_t row_bytes, size_t rows)
{
    if (row_bytes == 0 || rows == 0)
        sim_fault(0, "DMA of %zu rows of %zu bytes: nothing to copy", rows, row_bytes);
    if (row_bytes > mppa->machine.smem_bytes || rows > mppa->machine.smem_bytes)
        sim_fault(0, "DMA of %zu rows of %zu bytes does not fit in SMEM", rows, row_bytes);
    if (rows > 1 && (smem_stride < row_bytes || ddr_stride < row_bytes))
        sim_fault(0, "DMA strides %zu and %zu are less than the row's %zu bytes", smem_stride,
                  ddr_stride, row_bytes);
    check_aligned("row size", row_bytes);
    if (rows > 1) {
        check_aligned("SMEM stride", smem_stride);
        check_aligned("DDR stride", ddr_stride);
    }
}

static void check_smem(uint64_t address, size_t stride, size_t row_bytes, size_t rows)
{
    uint64_t begin = mppa_smem(here.cluster), end = begin + mppa->machine.smem_bytes;
    check_aligned("SMEM address", address);
    if (address < begin || address >= end)
        sim_fault(address, "DMA address outside this cluster's SMEM");
    if (rows > 1 && rows - 1 > (end - address) / stride)
        sim_fault(end, "DMA of %zu rows passes the end of SMEM", rows);
    if (address + (rows - 1) * stride + row_bytes > end)
        sim_fault(end, "DMA of %zu rows passes the end of SMEM", rows);
}

static void check_ddr(uint64_t address, size_t stride, size_t row_bytes, size_t rows)
{
    check_aligned("DDR address", address);
    for (size_t row = 0; row < rows; row++) {
        uint64_t outside;
        if (!sim_device_is_allocated(address + row * stride, row_bytes, &outside))
            sim_fault(outside, "DMA outside an allocation in DDR, in row %zu of %zu", row, rows);
    }
}

static void copy(const transfer *moved)
{
    for (size_t row = 0; row < moved->rows; row++)
        memcpy(moved->destination + row * moved->destination_stride,
               moved->source + row * moved->source_stride, moved->row_bytes);
}

static void poison_destination(const transfer *moved)
{
    for (size_t row = 0; row < moved->rows; row++)
        sim_poison(moved->destination + row * moved->destination_stride, moved->row_bytes);
}

// Whether a range of bytes overlaps a row of the transfer on one side.
static bool meets(const char *begin, size_t stride, const transfer *moved, uint64_t address,
                  uint64_t nbytes)
{
    uint64_t first = (uintptr_t)begin, last = first + (moved->rows - 1) * stride + moved->row_bytes;
    if (address >= last || address + nbytes <= first)
        return false;
    uint64_t offset = address < first ? 0 : address - first;
    uint64_t row = moved->rows > 1 ? offset / stride : 0, column = offset - row * stride;
    return column < moved->row_bytes || column + nbytes > stride;
}

void mppa_dma_require_free(uint64_t address, uint64_t nbytes, bool writes)
{
    for (uint32_t slot = 0, left = in_flight; left && slot < SLOTS; slot++) {
        const transfer *moved = &transfers[slot];
        if (!moved->number)
            continue;
        left--;
        if (meets(moved->destination, moved->destination_stride, moved, address, nbytes))
            sim_fault(address, "%s of %" PRIu64 " bytes that a DMA transfer in flight writes",
                      writes ? "write" : "read", nbytes);
        if (writes && meets(moved->source, moved->source_stride, moved, address, nbytes))
            sim_fault(address, "write of %" PRIu64 " bytes that a DMA transfer in flight reads",
                      nbytes);
    }
}

static void watch(const transfer *moved)
{
    for (size_t row = 0; row < moved->rows && mppa->machine.watched; row++)
        mppa_watch_transfer(moved->destination + row * moved->destination_stride,
                            moved->source + row * moved->source_stride, moved->row_bytes);
}

static transfer *free_slot(void)
{
    if (in_flight == mppa->machine.dma_in_flight)
        sim_fault(0, "more than %u DMA transfers in flight", in_flight);
    do
        last_number++;
    while (last_number == 0 || transfers[last_number % SLOTS].number);
    in_flight++;
    transfer *slot = &transfers[last_number % SLOTS];
    slot->number = last_number;
    return slot;
}

static void count(dev_direction direction, uint64_t nbytes)
{
    mppa_count(direction == DEV_GET ? MPPA_DMA_GET_OPS : MPPA_DMA_PUT_OPS, 1);
    mppa_count(direction == DEV_GET ? MPPA_DMA_GET_BYTES : MPPA_DMA_PUT_BYTES, nbytes);
}

uint32_t dev_dma_2d(dev_direction direction, void *smem, size_t smem_stride, void *ddr,
                    size_t ddr_stride, size_t row_bytes, size_t rows)
{
    mppa_require_control("dev_dma_2d");
    if (direction != DEV_GET && direction != DEV_PUT)
        sim_fault(0, "DMA in the unknown direction %u", (uint32_t)direction);
    check_shape(smem_stride, ddr_stride, row_bytes, rows);
    check_smem((uintptr_t)smem, smem_stride, row_bytes, rows);
    check_ddr((uintptr_t)ddr, ddr_stride, row_bytes, rows);
    transfer *moved = free_slot();
    moved->direction = direction;
    moved->destination = direction == DEV_GET ? smem : ddr;
    moved->source = direction == DEV_GET ? ddr : smem;
    moved->destination_stride = direction == DEV_GET ? smem_stride : ddr_stride;
    moved->source_stride = direction == DEV_GET ? ddr_stride : smem_stride;
    moved->row_bytes = row_bytes;
    moved->rows = rows;
    moved->done = mppa_model_dma(row_bytes, rows);
    count(direction, row_bytes * rows);
    watch(moved);
    if (mppa->machine.deferred)
        poison_destination(moved);
    else
        copy(moved);
    return moved->number;
}

void dev_dma_wait(uint32_t number)
{
    mppa_require_control("dev_dma_wait");
    transfer *moved = &transfers[number % SLOTS];
    if (number == 0 || moved->number != number)
        sim_fault(0, "dev_dma_wait for %u, which is no transfer in flight", number);
    if (mppa->machine.deferred)
        copy(moved);
    mppa_model_wait(moved->done);
    moved->number = 0;
    in_flight--;
}
