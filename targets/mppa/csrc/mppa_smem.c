// SPDX-License-Identifier: Apache-2.0
// The clusters' SMEM: private mappings of one poisoned file, so that every kernel starts with
// poison without writing megabytes.
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "mppa_sim.h"
#include "sim_device.h"
#include "sim_poison.h"

static int poisoned_file(uint64_t nbytes)
{
    static char part[64 << 10];
    int file = memfd_create("poison", MFD_CLOEXEC);
    sim_poison(part, sizeof part);
    for (uint64_t written = 0; file >= 0 && written < nbytes;) {
        uint64_t rest = nbytes - written;
        ssize_t more = write(file, part, rest < sizeof part ? rest : sizeof part);
        if (more <= 0)
            sim_give_up("no memory for the SMEM");
        written += (uint64_t)more;
    }
    if (file < 0)
        sim_give_up("no memory for the SMEM");
    return file;
}

void mppa_smem_map(void)
{
    uint64_t nbytes = mppa->machine.smem_bytes;
    int file = poisoned_file(nbytes);
    for (uint32_t cluster = 0; cluster < mppa->machine.clusters; cluster++) {
        void *address = (void *)(uintptr_t)mppa_smem(cluster);
        if (mmap(address, nbytes, PROT_NONE, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
                 file, 0) != address)
            sim_give_up("the SMEM cannot be mapped at its address");
    }
    close(file);
}

void mppa_smem_enter(uint32_t cluster)
{
    void *address = (void *)(uintptr_t)mppa_smem(cluster);
    madvise(address, mppa->machine.smem_bytes, MADV_DONTNEED); // discards earlier writes
    mprotect(address, mppa->machine.smem_bytes, PROT_READ | PROT_WRITE);
}

void mppa_smem_leave(uint32_t cluster)
{
    mprotect((void *)(uintptr_t)mppa_smem(cluster), mppa->machine.smem_bytes, PROT_NONE);
}
