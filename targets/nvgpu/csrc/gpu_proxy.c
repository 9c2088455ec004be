// SPDX-License-Identifier: Apache-2.0
// Threads' writes to shared memory that asynchronous accesses need not see yet, 16 bytes at a time.
#include <string.h>

#include "gpu_access.h"
#include "sim_device.h"

#define CHUNK 16
#define CHUNKS (256 << 10 >> 4) // of the shared memory of any block

static struct {
    uint32_t writer; // thread + 1, 0: nobody
    uint32_t fences; // that the writer had made
    uint32_t phase;
} written[CHUNKS];

static uint32_t used;         // chunks before this may have writers
static uint32_t fenced_phase; // what was written in earlier ones is seen

void gpu_proxy_begin(void)
{
    memset(written, 0, used * sizeof *written);
    used = fenced_phase = 0;
}

static uint32_t chunk_of(const void *shared)
{
    return (uint32_t)(((uintptr_t)shared - gpu->machine.shared_address) / CHUNK);
}

void gpu_proxy_written(const void *shared, uint32_t nbytes)
{
    uint32_t end = chunk_of((const char *)shared + nbytes - 1) + 1, phase = gpu_races_phase();
    for (uint32_t i = chunk_of(shared); i < end; i++) {
        written[i].writer = gpu_running->number + 1;
        written[i].fences = gpu_running->fences;
        written[i].phase = phase;
    }
    if (used < end)
        used = end;
}

void cuda_proxy_fence(void)
{
    gpu_require_thread("fence.proxy.async");
    gpu_count(GPU_PROXY_FENCES, 1);
    gpu_running->fences++;
    fenced_phase = gpu_races_phase();
}

void gpu_proxy_require(const void *shared, uint32_t nbytes, const char *what)
{
    uint32_t end = chunk_of((const char *)shared + nbytes - 1) + 1;
    for (uint32_t i = chunk_of(shared); i < end && i < used; i++) {
        uint32_t writer = written[i].writer;
        if (writer && written[i].phase >= fenced_phase &&
            written[i].fences == gpu_threads[writer - 1].fences)
            sim_fault((uintptr_t)shared,
                      "%s reads what thread %u has written, without a fence.proxy.async after it",
                      what, writer - 1);
    }
}
