/* SPDX-License-Identifier: Apache-2.0 */
/* Sections of a program for sampling profilers; without effect here, because the simulator's
   profile covers every line. */
#ifndef DPU_PROFILING_H
#define DPU_PROFILING_H

#include <attributes.h>
#include <stdint.h>

typedef struct {
    uint32_t unused;
} profiling_section_t;

#define PROFILING_INIT(name) profiling_section_t name
#define PROFILING_RESET_ALL() ((void)0)

XTC_INLINE void profiling_start(profiling_section_t *section) { (void)section; }
XTC_INLINE void profiling_stop(profiling_section_t *section) { (void)section; }

#endif
