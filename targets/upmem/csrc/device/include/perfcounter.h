/* SPDX-License-Identifier: Apache-2.0 */
/* Counting cycles or instructions; one counter for all tasklets. */
#ifndef DPU_PERFCOUNTER_H
#define DPU_PERFCOUNTER_H

#include <attributes.h>
#include <stdbool.h>
#include <stdint.h>
#include <xtc_services.h>

typedef uint64_t perfcounter_t;
typedef enum _perfcounter_config_t {
    COUNT_SAME = 0,
    COUNT_CYCLES = 1,
    COUNT_INSTRUCTIONS = 2,
    COUNT_NOTHING = 3
} perfcounter_config_t;

#ifdef XTC_DPU_V1A
#define CLOCKS_PER_SEC 350000000
#else
#define CLOCKS_PER_SEC 400000000
#endif

/* In steps of 16, as on the machine. */
XTC_INLINE perfcounter_t perfcounter_get(void)
{
    return (perfcounter_t)XTC_SERVICE(XTC_PERF_GET, 0, 0, 0) << 4;
}

XTC_INLINE perfcounter_t perfcounter_config(perfcounter_config_t config, bool reset_value)
{
    return (perfcounter_t)XTC_SERVICE(XTC_PERF_CONFIG, config, reset_value, 0) << 4;
}

#endif
