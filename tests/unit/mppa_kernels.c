// SPDX-License-Identifier: Apache-2.0
// Device code for the tests of the MPPA's runtime. Every kernel's first argument is an array in DDR.
#include <stdlib.h>

#include "dev.h"

#define SIZE 64 // of the square matrix B; A and C have 16 rows for each cluster
#define ROW (SIZE * sizeof(float))

int not_a_function = 1;

void empty(const uint64_t *arguments)
{
    (void)arguments;
}

typedef struct {
    const float *a, *b;
    float *c;
} tiles;

static void multiply_row(uint32_t pe, void *argument)
{
    const tiles *tile = argument;
    const float *a = tile->a + pe * SIZE;
    float *c = tile->c + pe * SIZE;
    for (int j = 0; j < SIZE; j++)
        c[j] = 0;
    for (int k = 0; k < SIZE; k++)
        for (int j = 0; j < SIZE; j++)
            c[j] += a[k] * tile->b[k * SIZE + j];
    dev_count_macs(DEV_F32, SIZE * SIZE);
}

// C = A B, a row for each PE.
void matmul(const uint64_t *arguments)
{
    float *smem = dev_smem();
    tiles tile = {smem, smem + 0x4000, smem + 0x8000};
    uint64_t rows = dev_cluster_id() * 16 * ROW;
    uint32_t a = dev_dma_2d(DEV_GET, smem, ROW, (void *)(arguments[0] + rows), ROW, ROW, 16);
    uint32_t b = dev_dma_2d(DEV_GET, smem + 0x4000, ROW, (void *)arguments[1], ROW, ROW, SIZE);
    dev_dma_wait(a);
    dev_dma_wait(b);
    dev_pe_launch(multiply_row, &tile, 16);
    dev_dma_wait(dev_dma_2d(DEV_PUT, tile.c, ROW, (void *)(arguments[2] + rows), ROW, ROW, 16));
}

// out[cluster * 16 + pe] = cluster * 100 + pe.
static void write_place(uint32_t pe, void *argument)
{
    ((int32_t *)argument)[dev_cluster_id() * 16 + pe] = (int32_t)(dev_cluster_id() * 100 + pe);
}

void places(const uint64_t *arguments)
{
    dev_pe_launch(write_place, (void *)arguments[0], (uint32_t)arguments[1]);
}

// On cluster 0: out[0] = out[0] * factor + 1.
void step(const uint64_t *arguments)
{
    int64_t *out = (int64_t *)arguments[0];
    if (dev_cluster_id() == 0)
        *out = *out * (int64_t)arguments[1] + 1;
}

// Ends when the first word is no longer 0.
void wait_for_word(const uint64_t *arguments)
{
    const volatile uint32_t *word = (const volatile uint32_t *)arguments[0];
    while (*word == 0)
        ;
}

// A copy of `rows` rows of `row_bytes` from in, of stride `stride`, to a dense out.
void gather(const uint64_t *arguments)
{
    size_t row_bytes = arguments[2], rows = arguments[3], stride = arguments[4];
    void *smem = dev_smem();
    if (dev_cluster_id() != 0)
        return;
    void *in = (void *)arguments[1], *out = (void *)arguments[0];
    dev_dma_wait(dev_dma_2d(DEV_GET, smem, row_bytes, in, stride, row_bytes, rows));
    dev_dma_wait(dev_dma_2d(DEV_PUT, smem, row_bytes, out, row_bytes, row_bytes, rows));
}

// Reads the destination of a transfer before the wait for it.
void reads_too_early(const uint64_t *arguments)
{
    float *smem = dev_smem();
    if (dev_cluster_id() != 0)
        return;
    uint32_t get = dev_dma_2d(DEV_GET, smem, 4, (void *)arguments[1], 4, 4, 1);
    smem[1] = smem[0];
    dev_dma_wait(get);
    dev_dma_wait(dev_dma_2d(DEV_PUT, smem + 1, 4, (void *)arguments[0], 4, 4, 1));
}

// Overwrites the source of a transfer in flight.
void writes_too_early(const uint64_t *arguments)
{
    float *smem = dev_smem();
    if (dev_cluster_id() != 0)
        return;
    smem[0] = 1;
    uint32_t put = dev_dma_2d(DEV_PUT, smem, 4, (void *)arguments[0], 4, 4, 1);
    smem[0] = 2;
    dev_dma_wait(put);
}

// Each PE adds 1 to the number of its neighbor, without synchronization.
static void add_to_neighbor(uint32_t pe, void *argument)
{
    int32_t *values = argument;
    values[pe] = pe == 0 ? 1 : values[pe - 1] + 1;
}

void races(const uint64_t *arguments)
{
    if (dev_cluster_id() == 0)
        dev_pe_launch(add_to_neighbor, (void *)arguments[0], 16);
}

static void append_pe(uint32_t pe, void *argument)
{
    int32_t *order = argument;
    order[++order[0]] = (int32_t)pe;
}

// order[0] counts, then the PEs of cluster 0 in the order in which they ran.
void pe_order(const uint64_t *arguments)
{
    if (dev_cluster_id() == 0)
        dev_pe_launch(append_pe, (void *)arguments[0], 16);
}

// The same for clusters.
void cluster_order(const uint64_t *arguments)
{
    append_pe(dev_cluster_id(), (void *)arguments[0]);
}

// out[0] = the first number in SMEM, then stores another one there.
void smem_at_start(const uint64_t *arguments)
{
    volatile float *smem = dev_smem();
    ((float *)arguments[0])[dev_cluster_id()] = smem[0];
    smem[0] = 1;
}

// Two transfers and two forks, in sequence or overlapped; arguments: bytes, macs, overlap.
static void work(uint32_t pe, void *argument)
{
    (void)pe;
    dev_count_macs(DEV_F32, *(uint64_t *)argument);
}

void pipeline(const uint64_t *arguments)
{
    size_t nbytes = arguments[1];
    uint64_t macs = arguments[2];
    char *smem = dev_smem();
    void *ddr = (void *)arguments[0];
    uint32_t one = dev_dma_2d(DEV_GET, smem, nbytes, ddr, nbytes, nbytes, 1), two = 0;
    if (arguments[3])
        two = dev_dma_2d(DEV_GET, smem + nbytes, nbytes, ddr, nbytes, nbytes, 1);
    dev_dma_wait(one);
    dev_pe_launch(work, &macs, 16);
    if (!arguments[3])
        two = dev_dma_2d(DEV_GET, smem + nbytes, nbytes, ddr, nbytes, nbytes, 1);
    dev_dma_wait(two);
    dev_pe_launch(work, &macs, 16);
}

void counts(const uint64_t *arguments)
{
    (void)arguments;
    dev_fence();
    dev_count_macs(DEV_F16, 3);
    dev_count_macs(DEV_I8, 5);
    dev_count_macs(DEV_OTHER, 7);
}

// Mistakes, one for each number, on cluster 2 and, if a PE can make the mistake, on PE 5.
static volatile int zero;
static volatile uint64_t nowhere = 0x10;

static void fault_on_pe(uint32_t pe, void *argument)
{
    int64_t kind = *(int64_t *)argument;
    if (pe != 5)
        return;
    if (kind == 0)
        *(volatile int *)nowhere = 1;
    if (kind == 1)
        zero = 7 / zero;
    if (kind == 2)
        __builtin_trap();
    if (kind == 3)
        abort();
    if (kind == 4)
        exit(0);
    if (kind == 5)
        dev_pe_launch(fault_on_pe, argument, 1);
    if (kind == 6)
        dev_dma_wait(1);
    if (kind == 7) // another cluster's SMEM
        *((volatile char *)dev_smem() - 0x1000000) = 1;
    if (kind == 8) // after this cluster's SMEM
        *((volatile char *)dev_smem() + (4 << 20)) = 1;
}

static int overflow(volatile char *above)
{
    volatile char frame[4096];
    frame[0] = above[0];
    return zero ? 0 : overflow(frame) + frame[0];
}

void faults(const uint64_t *arguments)
{
    int64_t kind = (int64_t)arguments[1];
    if (dev_cluster_id() != 2)
        return;
    dev_pe_launch(fault_on_pe, &kind, 16);
    char *smem = dev_smem(), *ddr = (char *)arguments[0];
    if (kind == 20)
        overflow(smem);
    if (kind == 21)
        dev_pe_launch(fault_on_pe, &kind, 17);
    if (kind == 22)
        dev_pe_launch(NULL, &kind, 1);
    if (kind == 23)
        dev_count_macs((dev_type)4, 1);
    if (kind == 24)
        dev_dma_wait(12345);
    if (kind == 25)
        (void)dev_dma_2d(DEV_GET, smem, 4, ddr, 4, 4, 1); // without a wait
    if (kind == 26)
        for (int i = 0; i < 1000; i++)
            (void)dev_dma_2d(DEV_GET, smem, 4, ddr, 4, 4, 1);
    if (kind == 27)
        dev_dma_wait(dev_dma_2d((dev_direction)2, smem, 4, ddr, 4, 4, 1));
}

// One transfer; arguments 1 to 6 are its offset in SMEM, stride there, DDR address, stride there,
// row size, rows; argument 7 is the direction.
void transfer(const uint64_t *arguments)
{
    char *smem = (char *)dev_smem() + arguments[1];
    if (dev_cluster_id() == 2)
        dev_dma_wait(dev_dma_2d((dev_direction)arguments[7], smem, arguments[2],
                                (void *)arguments[3], arguments[4], arguments[5], arguments[6]));
}

static void spin(uint32_t pe, void *argument)
{
    (void)argument;
    for (volatile int i = 0; pe == 3; i++)
        ;
}

void endless(const uint64_t *arguments)
{
    (void)arguments;
    dev_pe_launch(spin, NULL, 16);
}
