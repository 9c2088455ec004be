/* SPDX-License-Identifier: Apache-2.0 */
/* The run-time support of generated kernels. This text is a part of every generated file, so that
 * any compiler of DPU programs can compile it alone. */
#include <barrier.h>
#include <defs.h>
#include <mram.h>
#include <mutex.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The host writes these before a launch: the number of the kernel, and the offsets of its buffers
 * after the program's data in MRAM. */
__host uint32_t xtc_call[2 + XTC_MAX_BUFFERS];
__host uint64_t xtc_dpu_number; /* number of this DPU in the launch */

__dma_aligned uint8_t xtc_wram[NR_TASKLETS][XTC_LOCAL_BYTES];
BARRIER_INIT(xtc_tasklets, NR_TASKLETS);
MUTEX_INIT(xtc_words);

#define XTC_BURST 2048
#ifndef INFINITY
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#endif
#define signbit(x) __builtin_signbit(x)
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)

static inline ptrdiff_t xtc_dpu(void)
{
    return (ptrdiff_t)xtc_dpu_number;
}

static inline ptrdiff_t xtc_tasklet(void)
{
    return (ptrdiff_t)me();
}

static inline char *xtc_local(void)
{
    return (char *)xtc_wram[me()];
}

static inline void xtc_barrier(void)
{
    barrier_wait(&xtc_tasklets);
}

/* The start address that buffer `number` would have if all of it were on this DPU, which has only
 * part number `xtc_dpu_number` of `each` bytes. */
static inline void *xtc_buffer(uint32_t number, uint32_t each)
{
    uint32_t first = (uint32_t)DPU_MRAM_HEAP_POINTER + xtc_call[2 + number];
    return (void *)(uintptr_t)(first - (uint32_t)xtc_dpu_number * each);
}

static void xtc_get_bytes(uint8_t *local, uint32_t mram, uint32_t n)
{
    __dma_aligned uint8_t words[64];
    while (n) {
        uint32_t first = mram & 7, now = n < 56 ? n : 56;
        mram_read((__mram_ptr void const *)(uintptr_t)(mram - first), words,
                  (first + now + 7) & ~7u);
        memcpy(local, words + first, now);
        local += now, mram += now, n -= now;
    }
}

/* Words of MRAM whose parts several tasklets write. */
static void xtc_put_bytes(const uint8_t *local, uint32_t mram, uint32_t n)
{
    __dma_aligned uint8_t word[8];
    while (n) {
        uint32_t first = mram & 7, space = 8 - first, now = n < space ? n : space;
        __mram_ptr void *at = (__mram_ptr void *)(uintptr_t)(mram - first);
        mutex_lock(xtc_words);
        mram_read(at, word, 8);
        memcpy(word + first, local, now);
        mram_write(word, at, 8);
        mutex_unlock(xtc_words);
        local += now, mram += now, n -= now;
    }
}

static void xtc_get(ptrdiff_t local, ptrdiff_t from, ptrdiff_t bytes)
{
    uint8_t *to = (uint8_t *)local;
    uint32_t mram = (uint32_t)from, n = (uint32_t)bytes;
    if (mram < 0x08000000u) { /* constants are in WRAM */
        memcpy(to, (const void *)from, n);
        return;
    }
    if ((mram | (uint32_t)local) & 7) {
        xtc_get_bytes(to, mram, n);
        return;
    }
    for (; n >= 8; ) {
        uint32_t now = n < XTC_BURST ? n & ~7u : XTC_BURST;
        mram_read((__mram_ptr void const *)(uintptr_t)mram, to, now);
        to += now, mram += now, n -= now;
    }
    if (n)
        xtc_get_bytes(to, mram, n);
}

static void xtc_put(ptrdiff_t local, ptrdiff_t target, ptrdiff_t bytes)
{
    const uint8_t *from = (const uint8_t *)local;
    uint32_t mram = (uint32_t)target, n = (uint32_t)bytes;
    if ((mram | (uint32_t)local) & 7) {
        xtc_put_bytes(from, mram, n);
        return;
    }
    for (; n >= 8; ) {
        uint32_t now = n < XTC_BURST ? n & ~7u : XTC_BURST;
        mram_write(from, (__mram_ptr void *)(uintptr_t)mram, now);
        from += now, mram += now, n -= now;
    }
    if (n)
        xtc_put_bytes(from, mram, n);
}
