// SPDX-License-Identifier: Apache-2.0
// Kernels whose warpgroups redistribute registers, for the tests of the simulated GPU.
#include "cuda_sim.h"

#define FIRST 96 // registers of a thread, of 256 or 300 threads

// Warpgroup 0 decreases its registers to the first argument, and warpgroup 1 increases them to the
// second; 0 omits the instruction. Threads of warpgroup 1 from the third argument on skip it or, if
// the fourth argument is 1, request 8 registers more.
static void thread(const uint64_t *arguments)
{
    uint32_t number = cuda_thread_id(0), fewer = (uint32_t)arguments[0], more = (uint32_t)arguments[1];
    if (number < 128 && fewer)
        cuda_set_registers(fewer, false);
    if (number < 128 || !more)
        return;
    if (number < 128 + arguments[2])
        cuda_set_registers(more, true);
    else if (arguments[3])
        cuda_set_registers(more + 8, true);
}

#define EXPORTED(name, threads, registers)                                                         \
    void name(const uint64_t *arguments)                                                           \
    {                                                                                              \
        static const cuda_shape shape = {{1, 1, 1}, {threads, 1, 1}, 0, {1, 1, 1}, registers, 0};  \
        cuda_launch(thread, arguments, &shape);                                                    \
    }

EXPORTED(hand_on, 256, FIRST)
EXPORTED(untold, 256, 0)
EXPORTED(odd, 300, FIRST)
