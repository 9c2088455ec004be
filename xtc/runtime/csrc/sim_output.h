// SPDX-License-Identifier: Apache-2.0
// What a launch prints: texts in the order in which they come, of which the last ones are kept, as in
// the buffer of CUDA's device printf (1 MiB; CUDA C++ Programming Guide, "Formatted Output"). It is in
// memory that processes share: one of them adds texts, and another one reads them when that one is
// done, or has ended in whatever way. Memory of zeros is an output of nothing.
#ifndef SIM_OUTPUT_H
#define SIM_OUTPUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SIM_OUTPUT_BYTES (1u << 20)
#define SIM_OUTPUT_TEXT (64u << 10) // the longest text, with its end
#define SIM_OUTPUT_ROOM (SIM_OUTPUT_BYTES - 64)

typedef struct {
    _Atomic uint64_t first, end; // bytes that were dropped, and that were ever added
    _Atomic uint64_t lost;       // texts that were dropped
    _Alignas(64) char bytes[SIM_OUTPUT_ROOM];
} sim_output;

typedef struct {
    uint64_t order; // such as the number of the block that printed
    uint32_t nbytes;
} sim_output_head;

// Add a text of fewer bytes than SIM_OUTPUT_TEXT.
void sim_output_add(sim_output *output, uint64_t order, const char *text, uint32_t nbytes);
// Read the text at `*at`, which is `first` for the first one, and advance; false at `end`, and if
// the output is corrupt.
bool sim_output_next(const sim_output *output, uint64_t *at, uint64_t end, sim_output_head *head,
                     char text[SIM_OUTPUT_TEXT]);
// Add the texts of several outputs, each of which has ascending orders, by their orders up to `last`.
// Takes them from there.
void sim_output_merge(sim_output *output, sim_output *const *others, uint32_t count, uint64_t last);

#endif
