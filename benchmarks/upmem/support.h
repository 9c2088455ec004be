/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the host programs: command line numbers, inputs, transfers, the verdict. */
#ifndef SUPPORT_H
#define SUPPORT_H

#include <dpu.h>
#include <dpu_log.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline uint32_t argument(int argc, char **argv, int index, uint32_t otherwise)
{
    return argc > index ? (uint32_t)strtoul(argv[index], NULL, 10) : otherwise;
}

/* A private generator, so that inputs are the same with every C library. */
static uint64_t support_state = 1;

static inline uint32_t next_random(void)
{
    support_state = support_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(support_state >> 33);
}

static inline uint32_t round_up(uint32_t value, uint32_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

static inline void *allocate(size_t nbytes)
{
    void *memory = calloc(1, nbytes);
    if (!memory)
        exit(2);
    return memory;
}

static inline struct dpu_set_t prepare(uint32_t dpus, const char *program)
{
    struct dpu_set_t set;
    DPU_ASSERT(dpu_alloc(dpus, NULL, &set));
    DPU_ASSERT(dpu_load(set, program, NULL));
    return set;
}

/* Part i of `each` bytes goes to DPU i, or comes from it. */
static inline void move_parts(struct dpu_set_t set, dpu_xfer_t direction, const char *symbol,
                              uint32_t offset, void *parts, size_t each)
{
    struct dpu_set_t dpu;
    uint32_t i;
    DPU_FOREACH (set, dpu, i) {
        DPU_ASSERT(dpu_prepare_xfer(dpu, (uint8_t *)parts + i * each));
    }
    DPU_ASSERT(dpu_push_xfer(set, direction, symbol, offset, each, DPU_XFER_DEFAULT));
}

static inline int verdict(const char *name, uint64_t wrong)
{
    if (wrong)
        printf("%s: %llu results are wrong\n", name, (unsigned long long)wrong);
    else
        printf("%s: all results are right\n", name);
    return wrong != 0;
}

#endif
