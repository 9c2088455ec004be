// SPDX-License-Identifier: Apache-2.0
// Kernels whose accesses are reported to the simulator, some of them wrong.
#include "dev.h"

static int32_t read(const int32_t *base, const int32_t *place)
{
    dev_access(base, place, sizeof *place, 0);
    return *place;
}

static void write(const int32_t *base, int32_t *place, int32_t value)
{
    dev_access(base, place, sizeof *place, 1);
    *place = value;
}

enum { PAST_SMEM, BEFORE_SMEM, PAST_DDR, NEIGHBOR, SAME_BYTE, UNORDERED, CONTROL_LATE, DMA_TARGET,
       DMA_SOURCE, RIGHT };

typedef struct {
    uint64_t kind;
    int32_t *ddr;
} job;

static void run(uint32_t pe, void *argument)
{
    const job *given = argument;
    int32_t *smem = dev_smem(); // two buffers of 64 words
    switch (given->kind) {
    case PAST_SMEM:
        write(smem, &smem[pe == 3 ? 64 : pe], 1);
        break;
    case BEFORE_SMEM:
        read(smem + 64, &smem[pe == 3 ? 63 : 64 + pe]);
        break;
    case PAST_DDR:
        read(given->ddr, &given->ddr[pe == 3 ? 16 : pe]);
        break;
    case NEIGHBOR:
        write(given->ddr, &given->ddr[pe == 3 ? 32 : pe], 1);
        break;
    case SAME_BYTE:
        write(smem, &smem[pe == 5 ? 3 : pe], 1);
        break;
    case UNORDERED:
        write(smem, &smem[pe], 1);
        read(smem, &smem[pe ? pe - 1 : 0]);
        break;
    default:
        write(smem, &smem[pe], 1);
        write(given->ddr, &given->ddr[pe], read(smem, &smem[pe]));
    }
}

static void read_neighbor(uint32_t pe, void *argument)
{
    (void)argument;
    int32_t *smem = dev_smem();
    read(smem, &smem[(pe + 1) % 16]);
}

static void transfer(const job *given)
{
    int32_t *smem = dev_smem();
    dev_direction direction = given->kind == DMA_TARGET ? DEV_GET : DEV_PUT;
    uint32_t started = dev_dma_2d(direction, smem, 16, given->ddr, 16, 16, 4);
    if (given->kind == DMA_TARGET)
        read(smem, &smem[9]);
    else
        write(smem, &smem[9], 1);
    dev_dma_wait(started);
}

// On cluster 2: `kind` on an array in DDR.
void wrong(const uint64_t *arguments)
{
    job given = {arguments[1], (int32_t *)arguments[0]};
    if (dev_cluster_id() != 2)
        return;
    dev_buffer(0, 256);
    dev_buffer(256, 256);
    if (given.kind == DMA_TARGET || given.kind == DMA_SOURCE) {
        transfer(&given);
        return;
    }
    dev_pe_launch(run, &given, 16);
    if (given.kind == RIGHT)
        dev_pe_launch(read_neighbor, NULL, 16);
}

// Each cluster writes the first word; with `same`, by the DMA and with the same value.
void clusters(const uint64_t *arguments)
{
    int32_t *smem = dev_smem(), *ddr = (int32_t *)arguments[0];
    if (arguments[1]) {
        write(smem, &smem[0], 7);
        dev_dma_wait(dev_dma_2d(DEV_PUT, smem, 4, ddr, 4, 4, 1));
    } else {
        write(ddr, &ddr[0], 7);
    }
}
