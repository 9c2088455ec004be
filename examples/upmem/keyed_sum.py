# SPDX-License-Identifier: Apache-2.0
"""Sums of values by key on a DPU that answers queries while it runs, through FIFOs in its WRAM.

The C code below supports any number of tasklets; the last one processes the remainder.
Run: python -m examples.upmem.keyed_sum [TASKLETS]
"""

from __future__ import annotations

import struct
import sys

import numpy as np

from xtc_targets.upmem.dpu_set import DpuSet

ELEMENTS, KEYS = 4096, 64

PROGRAM = """
#include <barrier.h>
#include <defs.h>
#include <mram.h>
#include <stdint.h>
#include <wramfifo.h>

#define ELEMENTS 4096
#define BLOCK 64 /* elements */

__host volatile uint64_t active = 1;
__mram_noinit uint32_t keys[ELEMENTS], values[ELEMENTS];
BARRIER_INIT(all, NR_TASKLETS);
INPUT_FIFO_INIT(questions, 5, 8);
OUTPUT_FIFO_INIT(answers, 6, 16);
uint64_t sums[NR_TASKLETS];

static void add_blocks(uint8_t *question, void *context)
{
    __dma_aligned uint32_t key_block[BLOCK], value_block[BLOCK];
    uint32_t key = *(uint32_t *)question;
    uint64_t sum = 0;
    for (uint32_t at = me() * BLOCK; at < ELEMENTS; at += NR_TASKLETS * BLOCK) {
        mram_read(keys + at, key_block, sizeof key_block);
        mram_read(values + at, value_block, sizeof value_block);
        for (uint32_t i = 0; i < BLOCK; i++)
            if (key_block[i] == key)
                sum += value_block[i];
    }
    sums[me()] = sum;
}

static void add_up(uint8_t *question, uint8_t *answer, void *context)
{
    uint64_t *pair = (uint64_t *)answer;
    pair[0] = *(uint32_t *)question;
    pair[1] = 0;
    for (uint32_t i = 0; i < NR_TASKLETS; i++)
        pair[1] += sums[i];
}

int main(void)
{
    process_inputs_all_tasklets(&questions, &answers, add_blocks, add_up, 0, &all, &active);
    return 0;
}
"""


def keyed_sums(tasklets: int) -> dict[int, int]:
    """The sums computed by the DPU, by key. Raises DpuError."""
    random = np.random.default_rng(1)
    keys, values = (random.integers(0, 1024, ELEMENTS, dtype=np.uint32) for _ in range(2))
    answers: list[bytes] = []
    with DpuSet(1, profile="v1B", c_source=PROGRAM, tasklets=tasklets) as dpu:
        dpu.copy("keys", keys.tobytes())
        dpu.copy("values", values.tobytes())
        dpu.exec(async_mode=True)
        with dpu.fifo("questions") as questions, dpu.fifo("answers") as found:
            for key in range(KEYS):
                questions.push(key)
                if key % 16 == 15:
                    answers += found.pop_all()[0]
            dpu.copy("active", bytes(8), parallel=True)
            dpu.sync()
            answers += found.pop_all()[0]
    sums = dict(struct.unpack("<QQ", answer) for answer in answers)
    for key in range(KEYS):
        if sums[key] != int(values[keys == key].sum()):
            raise SystemExit(f"key {key}: the sum {sums[key]} is wrong")
    return sums


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 16
    print(f"{len(keyed_sums(count))} correct sums by {count} tasklets")
