/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of wramfifo.h. The host may push and then clear the flag between two reads, so the
   flag is read before the FIFO: an input that is empty after the flag was clear stays empty. */
#include <string.h>
#include <wramfifo.h>

static uint8_t *element(uint8_t *data, uint64_t index, uint32_t ptr_size, uint32_t data_size)
{
    return data + ((uint32_t)index & ((1u << ptr_size) - 1)) * data_size;
}

bool is_input_fifo_empty(struct dpu_input_fifo_t *fifo)
{
    return fifo->read_ptr == fifo->write_ptr;
}

uint8_t *input_fifo_peek(struct dpu_input_fifo_t *fifo)
{
    return element(fifo->data, fifo->read_ptr, fifo->ptr_size, fifo->data_size);
}

void input_fifo_pop(struct dpu_input_fifo_t *fifo)
{
    fifo->read_ptr++;
}

static uint32_t count(struct dpu_output_fifo_t *fifo)
{
    return (uint32_t)(fifo->write_ptr - fifo->read_ptr);
}

bool is_output_fifo_full(struct dpu_output_fifo_t *fifo)
{
    return count(fifo) >= 1u << fifo->ptr_size;
}

void output_fifo_push(struct dpu_output_fifo_t *fifo, const uint8_t *data)
{
    memcpy(element(fifo->data, fifo->write_ptr, fifo->ptr_size, fifo->data_size), data,
           fifo->data_size);
    fifo->write_ptr++;
}

/* The result of tasklet 0, for all tasklets. */
enum { WAIT, WORK, END };
static volatile uint32_t decision;

static uint32_t decide(struct dpu_input_fifo_t *input, struct dpu_output_fifo_t *output,
                       volatile uint64_t *active)
{
    bool may_end = !*active;
    if (!is_input_fifo_empty(input))
        return is_output_fifo_full(output) ? WAIT : WORK;
    return may_end ? END : WAIT;
}

void process_inputs_all_tasklets(struct dpu_input_fifo_t *input, struct dpu_output_fifo_t *output,
                                 void (*process)(uint8_t *, void *),
                                 void (*reduce)(uint8_t *, uint8_t *, void *), void *ctx,
                                 barrier_t *barrier, volatile uint64_t *active)
{
    for (;;) {
        if (me() == 0)
            while ((decision = decide(input, output, active)) == WAIT)
                continue;
        barrier_wait(barrier);
        if (decision == END)
            return;
        process(input_fifo_peek(input), ctx);
        barrier_wait(barrier);
        if (me() == 0) {
            reduce(input_fifo_peek(input), output->tmp_data, ctx);
            output_fifo_push(output, output->tmp_data);
            input_fifo_pop(input);
        }
    }
}

/* Takes an element and reserves room for its result; returns whether there was one. */
static uint32_t take(struct dpu_input_fifo_t *input, struct dpu_output_fifo_t *output,
                     uint8_t *copy, volatile uint64_t *active)
{
    bool may_end = !*active;
    if (is_input_fifo_empty(input))
        return may_end ? END : WAIT;
    if (count(output) + output->nb_reserved >= 1u << output->ptr_size)
        return WAIT;
    output->nb_reserved++;
    memcpy(copy, input_fifo_peek(input), input->data_size);
    input_fifo_pop(input);
    return WORK;
}

void process_inputs_each_tasklet(struct dpu_input_fifo_t *input, struct dpu_output_fifo_t *output,
                                 void (*process)(uint8_t *, uint8_t *), mutex_id_t mutex,
                                 volatile uint64_t *active)
{
    uint8_t *copy = input->tmp_data + me() * input->data_size;
    uint8_t *result = output->tmp_data + me() * output->data_size;
    for (;;) {
        mutex_lock(mutex);
        uint32_t found = take(input, output, copy, active);
        mutex_unlock(mutex);
        if (found == END)
            return;
        if (found == WAIT)
            continue;
        process(copy, result);
        mutex_lock(mutex);
        output_fifo_push(output, result);
        output->nb_reserved--;
        mutex_unlock(mutex);
    }
}
