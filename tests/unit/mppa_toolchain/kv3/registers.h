// SPDX-License-Identifier: Apache-2.0
// A stand-in for the vendor's header: the part that `csrc/dev_kvx.c` uses, on the test machine.
#include <stdint.h>

uint32_t stand_in_cluster;

#define KVX_SFR_PCR 0
#define KVX_SFR_GET_FIELD(value, field) (value)
#define __builtin_kvx_get(reg) stand_in_cluster
#define __builtin_kvx_fence() __atomic_thread_fence(__ATOMIC_SEQ_CST)
