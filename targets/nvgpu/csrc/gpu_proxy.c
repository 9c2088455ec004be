// SPDX-License-Identifier: Apache-2.0
// Writes of threads to shared memory that are not visible to asynchronous accesses yet, by chunks of 16 bytes.
#include <string.h>

#include "gpu_access.h"
#include "sim_device.h"

#define CHUNKS (256 << 10 >> 4) // of the largest shared memory

gpu_written gpu_proxy_chunks[CHUNKS];
uint32_t gpu_proxy_used;
static uint32_t fenced_phase; // writes of earlier phases are visible

void gpu_proxy_begin(void)
{
    memset(gpu_proxy_chunks, 0, gpu_proxy_used * sizeof *gpu_proxy_chunks);
    gpu_proxy_used = fenced_phase = 0;
}

void cuda_proxy_fence(void)
{
    gpu_require_thread("fence.proxy.async");
    gpu_count(GPU_PROXY_FENCES, 1);
    gpu_running->fences++;
    fenced_phase = gpu_phase;
}

void gpu_proxy_require(const void *shared, uint32_t nbytes, const char *what)
{
    uint32_t end = gpu_proxy_chunk((const char *)shared + nbytes - 1) + 1;
    for (uint32_t i = gpu_proxy_chunk(shared); i < end && i < gpu_proxy_used; i++) {
        const gpu_written *chunk = &gpu_proxy_chunks[i];
        uint32_t writer = chunk->writer;
        if (writer && chunk->phase >= fenced_phase && chunk->fences == gpu_threads[writer - 1].fences)
            sim_fault((uintptr_t)shared,
                      "%s reads a write of thread %u without a fence.proxy.async between them",
                      what, writer - 1);
    }
}
