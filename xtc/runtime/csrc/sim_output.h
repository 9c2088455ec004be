// SPDX-License-Identifier: Apache-2.0
// The output of a launch: a circular buffer of texts, which keeps the last ones, like the buffer of
// CUDA's device printf (1 MiB; CUDA C++ Programming Guide, "Formatted Output"). It is in memory
// that processes share: one process adds texts, and another reads them when that is done or has
// ended in any way. Zeroed memory is an empty output.
#ifndef SIM_OUTPUT_H
#define SIM_OUTPUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SIM_OUTPUT_BYTES (1u << 20)
#define SIM_OUTPUT_TEXT (64u << 10) // the longest text, with its terminator
#define SIM_OUTPUT_ROOM (SIM_OUTPUT_BYTES - 64)

typedef struct {
    _Atomic uint64_t first, end; // numbers of bytes dropped and of bytes added
    _Atomic uint64_t lost;       // number of texts dropped
    _Alignas(64) char bytes[SIM_OUTPUT_ROOM];
} sim_output;

typedef struct {
    uint64_t order; // such as the number of the block that prints
    uint32_t nbytes;
} sim_output_head;

// Add a text shorter than SIM_OUTPUT_TEXT bytes.
void sim_output_add(sim_output *output, uint64_t order, const char *text, uint32_t nbytes);
// Read the text at `*at`, initially `first`, and advance; false at `end` or if the output is
// corrupt.
bool sim_output_next(const sim_output *output, uint64_t *at, uint64_t end, sim_output_head *head,
                     char text[SIM_OUTPUT_TEXT]);
// Move the texts of several outputs with ascending orders, merged by their orders up to `last`.
void sim_output_merge(sim_output *output, sim_output *const *others, uint32_t count, uint64_t last);

#endif
