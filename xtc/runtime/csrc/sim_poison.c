// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "sim_channel.h"
#include "sim_poison.h"

void sim_poison(void *bytes, uint64_t nbytes)
{
    static const uint16_t pattern[] = {SIM_POISON, SIM_POISON, SIM_POISON, SIM_POISON};
    char *at = bytes;
    uint64_t word;
    memcpy(&word, pattern, sizeof word);
    if ((uintptr_t)at % 2 && nbytes) { // the second half of a number
        *at++ = (char)(SIM_POISON >> 8);
        nbytes--;
    }
    for (; nbytes >= sizeof word; nbytes -= sizeof word, at += sizeof word)
        memcpy(at, &word, sizeof word);
    memcpy(at, &word, nbytes);
}
