/* SPDX-License-Identifier: Apache-2.0 */
/* FIFOs in WRAM between the host and a running program.
 *
 * Both indices count elements and never wrap; each has one writer. An element is stored before its
 * * index is advanced. */
#ifndef DPU_WRAMFIFO_H
#define DPU_WRAMFIFO_H

#include <attributes.h>
#include <barrier.h>
#include <defs.h>
#include <mutex.h>
#include <stdbool.h>
#include <stdint.h>

struct dpu_input_fifo_t {
    volatile uint64_t read_ptr;
    volatile uint64_t write_ptr;
    uint8_t *data;
    uint8_t *tmp_data; /* one element per tasklet */
    uint32_t ptr_size; /* log2 of the capacity */
    uint32_t data_size; /* of an element, in bytes */
};

/* One member more than an input: the host recognizes the direction of a FIFO by its size. */
struct dpu_output_fifo_t {
    volatile uint64_t read_ptr;
    volatile uint64_t write_ptr;
    uint8_t *data;
    uint8_t *tmp_data;
    uint32_t ptr_size;
    uint32_t data_size;
    volatile uint32_t nb_reserved; /* elements that tasklets are computing */
};

#define XTC_FIFO(kind, name, ptr_size, data_size)                                                  \
    _Static_assert((ptr_size) >= 1 && (ptr_size) <= 10, #name ": 2^1 to 2^10 elements");           \
    _Static_assert((data_size) > 0 && (data_size) % 8 == 0,                                        \
                   #name ": the size of an element is a multiple of 8 bytes");                     \
    __dma_aligned uint8_t __##name##_data[(1 << (ptr_size)) * (data_size)];                        \
    __dma_aligned uint8_t __##name##_tmp_data[NR_TASKLETS * (data_size)];                          \
    __host struct kind name = {0, 0, __##name##_data, __##name##_tmp_data, (ptr_size), (data_size)};

#define INPUT_FIFO_INIT(name, ptr_size, data_size)                                                 \
    XTC_FIFO(dpu_input_fifo_t, name, ptr_size, data_size)
#define OUTPUT_FIFO_INIT(name, ptr_size, data_size)                                                \
    XTC_FIFO(dpu_output_fifo_t, name, ptr_size, data_size)

bool is_input_fifo_empty(struct dpu_input_fifo_t *fifo);
/* The oldest element, which stays in the FIFO until it is popped. */
uint8_t *input_fifo_peek(struct dpu_input_fifo_t *fifo);
void input_fifo_pop(struct dpu_input_fifo_t *fifo);
bool is_output_fifo_full(struct dpu_output_fifo_t *fifo);
void output_fifo_push(struct dpu_output_fifo_t *fifo, const uint8_t *element);

/* Until the host has cleared `*active` and the input is empty, processes each input element: all
   tasklets call `process`, then tasklet 0 calls `reduce`, whose result goes to the output. All
   tasklets of `barrier` must call it, including tasklet 0. */
void process_inputs_all_tasklets(struct dpu_input_fifo_t *input, struct dpu_output_fifo_t *output,
                                 void (*process)(uint8_t *input, void *ctx),
                                 void (*reduce)(uint8_t *input, uint8_t *output, void *ctx),
                                 void *ctx, barrier_t *barrier, volatile uint64_t *active);

/* The same, but one tasklet processes each element. Results come in any order. */
void process_inputs_each_tasklet(struct dpu_input_fifo_t *input, struct dpu_output_fifo_t *output,
                                 void (*process)(uint8_t *input, uint8_t *output),
                                 mutex_id_t mutex, volatile uint64_t *active);

#endif
