// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies to shared memory, performed as late as the rules allow.
#include <stdlib.h>
#include <string.h>

#include "gpu_access.h"
#include "sim_device.h"
#include "sim_poison.h"

struct gpu_copy {
    void *to;
    const void *from;
    uint32_t nbytes, source_bytes, group;
};

void gpu_copies_begin(gpu_thread *thread)
{
    thread->copy_count = 0;
    thread->copy_group = 0;
}

static inline void poison(void *to, uint32_t nbytes)
{
    static const uint16_t pattern[] = {SIM_POISON, SIM_POISON, SIM_POISON, SIM_POISON,
                                       SIM_POISON, SIM_POISON, SIM_POISON, SIM_POISON};
    if (nbytes == sizeof pattern) // the most common size
        memcpy(to, pattern, sizeof pattern);
    else
        sim_poison(to, nbytes);
}

static inline void remember(gpu_thread *thread, gpu_copy copy)
{
    if (thread->copy_count == thread->copy_room) {
        thread->copy_room = thread->copy_room ? 2 * thread->copy_room : 4;
        thread->copies = realloc(thread->copies, thread->copy_room * sizeof copy);
        if (!thread->copies)
            sim_give_up("no memory for the copies in flight");
    }
    thread->copies[thread->copy_count++] = copy;
}

void cuda_copy_async(void *to, const void *from, uint32_t nbytes, uint32_t source_bytes)
{
    static const char what[] = "asynchronous copy";
    gpu_require_thread(what);
    if (nbytes < 4 || source_bytes > nbytes)
        sim_fault(0, "%s of %u bytes, %u of which are copied", what, nbytes, source_bytes);
    gpu_check_alignment(to, nbytes, what);
    gpu_check_alignment(from, nbytes, what);
    gpu_check_shared(to, nbytes, what);
    if (source_bytes)
        gpu_check_global(from, source_bytes, what);
    __builtin_prefetch(from); // read when the thread waits
    poison(to, nbytes);
    remember(gpu_running, (gpu_copy){to, from, nbytes, source_bytes, gpu_running->copy_group});
    gpu_access_banks(to, nbytes, GPU_ASYNC_COPY_CONFLICTS, __builtin_return_address(0));
    if (source_bytes)
        gpu_access_sectors(from, nbytes, GPU_GLOBAL_READ_SECTORS, __builtin_return_address(0));
    gpu_count(GPU_ASYNC_COPIES, 1);
    gpu_count(GPU_ASYNC_COPY_BYTES, source_bytes);
    gpu_count(GPU_GLOBAL_READ_BYTES, source_bytes);
    gpu_count(GPU_SHARED_WRITE_BYTES, nbytes);
}

void cuda_copy_async_commit(void)
{
    gpu_require_thread("cuda_copy_async_commit");
    gpu_running->copy_group++;
}

static inline void move(const gpu_copy *copy)
{
    if (copy->source_bytes == 16) { // the most common size
        memcpy(copy->to, copy->from, 16);
        return;
    }
    memcpy(copy->to, copy->from, copy->source_bytes);
    memset((char *)copy->to + copy->source_bytes, 0, copy->nbytes - copy->source_bytes);
}

// Perform the copies of groups before `group`.
static void finish(gpu_thread *thread, uint64_t group)
{
    const gpu_copy *copy = thread->copies, *end = copy + thread->copy_count;
    for (; copy < end && copy->group < group; copy++) {
        gpu_touch(copy->from, copy->source_bytes, false);
        gpu_touch(copy->to, copy->nbytes, true);
        gpu_proxy_written(copy->to);
        move(copy);
    }
    thread->copy_count = (uint32_t)(end - copy);
    if (thread->copy_count)
        memmove(thread->copies, copy, thread->copy_count * sizeof *copy);
}

void cuda_copy_async_wait(uint32_t groups)
{
    gpu_require_thread("cuda_copy_async_wait");
    if (groups < gpu_running->copy_group)
        finish(gpu_running, gpu_running->copy_group - groups);
}

void cuda_copy_async_wait_all(void)
{
    gpu_require_thread("cuda_copy_async_wait_all");
    finish(gpu_running, UINT64_MAX);
}
