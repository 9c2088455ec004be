// SPDX-License-Identifier: Apache-2.0
// Device code whose constructor does what it must not.
#include "dev.h"

static __attribute__((constructor)) void calls_too_early(void)
{
    (void)dev_smem();
}

void kernel(const uint64_t *arguments)
{
    (void)arguments;
}
