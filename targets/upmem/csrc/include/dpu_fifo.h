/* SPDX-License-Identifier: Apache-2.0 */
/* The host's ends of FIFOs in WRAM; only chips of version v1B have them. */
#ifndef DPU_FIFO_H
#define DPU_FIFO_H

#include <dpu_error.h>
#include <dpu_types.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum dpu_fifo_direction_t { DPU_INPUT_FIFO, DPU_OUTPUT_FIFO };

struct dpu_fifo_links_t; /* the library's state for each DPU */

struct dpu_fifo_link_t {
    enum dpu_fifo_direction_t direction;
    struct dpu_symbol_t fifo_symbol;
    struct dpu_fifo_links_t *links;
};

dpu_error_t dpu_link_input_fifo(struct dpu_set_t dpu_set, struct dpu_fifo_link_t *link,
                                char *fifo_name);
dpu_error_t dpu_link_output_fifo(struct dpu_set_t dpu_set, struct dpu_fifo_link_t *link,
                                 char *fifo_name);
dpu_error_t dpu_fifo_link_free(struct dpu_fifo_link_t *fifo_link);

/* The source of a DPU's element, or the destination of all its elements. */
dpu_error_t dpu_fifo_prepare_xfer(struct dpu_set_t dpu_set, struct dpu_fifo_link_t *fifo_link,
                                  void *buffer);
/* Pushes one element into an input, or pops everything from an output, while a program runs. */
dpu_error_t dpu_fifo_push_xfer(struct dpu_set_t dpu_set, struct dpu_fifo_link_t *fifo_link,
                               dpu_xfer_flags_t flags);

/* A push into a full FIFO is retried 1000 times, every 10 microseconds. */
void dpu_fifo_set_max_push_retries(struct dpu_fifo_link_t *fifo_link, struct dpu_set_t dpu_set,
                                   uint32_t max_retries);
void dpu_fifo_set_push_max_retries(struct dpu_fifo_link_t *fifo_link, struct dpu_set_t dpu_set,
                                   uint32_t max_retries);
void dpu_fifo_set_time_for_push_retries(struct dpu_fifo_link_t *fifo_link,
                                        struct dpu_set_t dpu_set, uint32_t time_us);

/* The number of elements that the last transfer popped from a DPU's output, or that are in its
   input; and the address of one of them in the prepared buffer. */
uint16_t get_fifo_size(struct dpu_fifo_link_t *fifo_link, struct dpu_set_t dpu);
uint16_t get_fifo_elem_index(struct dpu_fifo_link_t *fifo_link, struct dpu_set_t dpu, uint16_t i);
uint8_t *get_fifo_elem(struct dpu_fifo_link_t *fifo_link, struct dpu_set_t dpu, uint8_t *fifo_data,
                       uint16_t i);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
