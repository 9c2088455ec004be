// SPDX-License-Identifier: Apache-2.0
// The report of a deadlock: each thread of the block and the cause of its wait.
#include <stdio.h>

#include "gpu_sim.h"

#define LINE_BYTES 128

static int append_thread(char *text, size_t nbytes, const gpu_thread *thread)
{
    int length = snprintf(text, nbytes, "thread (%u, %u, %u): ", thread->position[0],
                          thread->position[1], thread->position[2]);
    text += length;
    nbytes -= (size_t)length;
    switch (thread->state) {
    case GPU_AT_BARRIER:
        return length + snprintf(text, nbytes, "waits at barrier %u\n", thread->barrier);
    case GPU_AT_MBARRIER:
        return length + snprintf(text, nbytes, "waits at the mbarrier 0x%llx for parity %u\n",
                                 (unsigned long long)(uintptr_t)thread->mbarrier, thread->parity);
    case GPU_IN_WARPGROUP:
        return length + snprintf(text, nbytes, "waits in cuda_wgmma for its warpgroup\n");
    case GPU_AT_REGISTERS:
        return length + snprintf(text, nbytes, "waits for %u registers\n", thread->wanted_registers);
    case GPU_IN_MEETING:
        return length + snprintf(text, nbytes, "waits in %s for the lanes 0x%08x of its warp\n",
                                 thread->collective->name, thread->mask);
    case GPU_PAUSED:
        return length + snprintf(text, nbytes, "waits for a value in memory\n");
    case GPU_ENDED:
        return length + snprintf(text, nbytes, "has ended\n");
    default:
        return length + snprintf(text, nbytes, "can run\n");
    }
}

const char *gpu_thread_report(void)
{
    static char report[(GPU_MAX_THREADS + 1) * LINE_BYTES];
    int used = snprintf(report, sizeof report, "block (%u, %u, %u) of %u threads\n",
                        gpu_block_position[0], gpu_block_position[1], gpu_block_position[2],
                        gpu_thread_count);
    for (uint32_t i = 0; i < gpu_thread_count; i++)
        used += append_thread(report + used, sizeof report - (size_t)used, &gpu_threads[i]);
    return report;
}
