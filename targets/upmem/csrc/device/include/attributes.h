/* SPDX-License-Identifier: Apache-2.0 */
/* Placement of data, and other attributes. */
#ifndef DPU_ATTRIBUTES_H
#define DPU_ATTRIBUTES_H

/* Instructions of these functions belong to the line that calls them. */
#define XTC_INLINE static inline __attribute__((always_inline, nodebug, unused))

#define __weak __attribute__((weak))
#define __section(s) __attribute__((section(s)))
#define __aligned(a) __attribute__((aligned(a)))
#define __used __attribute__((used))
#define __keep __attribute__((used, retain))
#define __noinline __attribute__((noinline))
#define __dma_aligned __attribute__((aligned(8)))

#define __atomic_bit __attribute__((section(".atomic")))
#define __host __attribute__((aligned(8), used, retain, section(".dpu_host")))
#define __mram_ptr __attribute__((address_space(255)))
#define __mram __mram_ptr __attribute__((section(".mram"), aligned(8), used))
#define __mram_keep __mram_ptr __attribute__((section(".mram.keep"), aligned(8), used, retain))
#define __mram_noinit __mram_ptr __attribute__((section(".mram.noinit"), aligned(8), used))
#define __mram_noinit_keep                                                                         \
    __mram_ptr __attribute__((section(".mram.noinit.keep"), aligned(8), used, retain))

#endif
