// SPDX-License-Identifier: Apache-2.0
// Shared memory, and the announcements of accesses.
#define _GNU_SOURCE
#include <sys/mman.h>

#include "gpu_access.h"
#include "sim_device.h"
#include "sim_poison.h"

#define PAGE (64ull << 10) // at least the system's page size

char *gpu_shared;

void gpu_shared_map(void)
{
    void *address = (void *)(uintptr_t)gpu->machine.shared_address;
    uint64_t nbytes = (gpu->machine.shared_bytes + PAGE - 1) / PAGE * PAGE;
    gpu_shared = mmap(address, nbytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (gpu_shared != address)
        sim_give_up("the shared memory cannot be mapped at its address");
}

void gpu_shared_begin(void)
{
    sim_poison(gpu_shared, gpu_shape.shared_bytes);
}

char *gpu_shared_memory(void)
{
    return gpu_shared;
}

void *cuda_shared(void)
{
    gpu_require_thread("cuda_shared");
    return gpu_shared;
}

static inline bool is_shared(const void *address)
{
    return (uintptr_t)address - (uintptr_t)gpu_shared < gpu->machine.shared_bytes;
}

void gpu_stop_misaligned(const void *address, uint32_t nbytes, const char *what)
{
    if (nbytes > 16 || __builtin_popcount(nbytes) != 1)
        sim_fault((uintptr_t)address, "%s of %u bytes, which is not 1, 2, 4, 8 or 16", what, nbytes);
    sim_fault((uintptr_t)address, "misaligned %s of %u bytes", what, nbytes);
}

void gpu_stop_outside_shared(const void *address, uint32_t nbytes, const char *what)
{
    if (!is_shared(address))
        sim_fault((uintptr_t)address, "%s of %u bytes outside shared memory", what, nbytes);
    sim_fault((uintptr_t)address, "%s of %u bytes outside the block's %u bytes of shared memory", what,
              nbytes, gpu_shape.shared_bytes);
}

void gpu_check_allocated(const void *address, uint32_t nbytes, const char *what)
{
    uint64_t outside;
    if (!sim_device_is_allocated((uintptr_t)address, nbytes, &outside))
        sim_fault((uintptr_t)address, "%s of %u bytes outside an allocation in global memory", what,
                  nbytes);
}

static inline void check(const void *address, uint32_t nbytes, bool in_shared, const char *what)
{
    gpu_require_thread(what);
    gpu_check_alignment(address, nbytes, what);
    if (in_shared)
        gpu_check_shared(address, nbytes, what);
    else
        gpu_check_global(address, nbytes, what);
}

void cuda_read(const void *address, uint32_t nbytes)
{
    bool in_shared = is_shared(address);
    check(address, nbytes, in_shared, "read");
    gpu_touch(address, nbytes, false);
    if (in_shared)
        gpu_access_banks(address, nbytes, GPU_SHARED_READ_CONFLICTS, __builtin_return_address(0));
    else
        gpu_access_sectors(address, nbytes, GPU_GLOBAL_READ_SECTORS, __builtin_return_address(0));
    gpu_count(in_shared ? GPU_SHARED_READS : GPU_GLOBAL_READS, 1);
    gpu_count(in_shared ? GPU_SHARED_READ_BYTES : GPU_GLOBAL_READ_BYTES, nbytes);
}

void cuda_write(const void *address, uint32_t nbytes)
{
    bool in_shared = is_shared(address);
    check(address, nbytes, in_shared, "write");
    gpu_touch(address, nbytes, true);
    if (in_shared) {
        gpu_access_banks(address, nbytes, GPU_SHARED_WRITE_CONFLICTS, __builtin_return_address(0));
        gpu_proxy_written(address);
    } else {
        gpu_access_sectors(address, nbytes, GPU_GLOBAL_WRITE_SECTORS, __builtin_return_address(0));
    }
    gpu_count(in_shared ? GPU_SHARED_WRITES : GPU_GLOBAL_WRITES, 1);
    gpu_count(in_shared ? GPU_SHARED_WRITE_BYTES : GPU_GLOBAL_WRITE_BYTES, nbytes);
}

#define LOOKS 32 // the atomic accesses that find the same value before other threads run

// A thread that polls memory in a loop finds the same value again and again.
static void let_others_run(const void *address)
{
    gpu_thread *thread = gpu_running;
    uint32_t value = *(const uint32_t *)address;
    bool same = thread->looked_at == address && thread->looked_value == value;
    thread->looked_at = address;
    thread->looked_value = value;
    thread->looks = same ? thread->looks + 1 : 0;
    if (thread->looks < LOOKS)
        return;
    thread->looks = 0;
    gpu_wait(GPU_PAUSED);
}

void cuda_atomic(const void *address, uint32_t nbytes)
{
    check(address, nbytes, is_shared(address), "atomic access");
    if (!is_shared(address))
        gpu_require_order("atomic access to global memory");
    let_others_run(address);
    gpu_touch_atomic(address, nbytes);
    gpu_count(GPU_ATOMICS, 1);
}
