// SPDX-License-Identifier: Apache-2.0
// Device code with a forbidden action in its constructor.
#include "dev.h"

static __attribute__((constructor)) void calls_too_early(void)
{
    (void)dev_smem();
}

void kernel(const uint64_t *arguments)
{
    (void)arguments;
}
