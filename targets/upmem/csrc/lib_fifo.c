// SPDX-License-Identifier: Apache-2.0
// The host's ends of FIFOs in WRAM, with the layout of device/include/wramfifo.h: both indices, the
// address of the elements, the logarithm of the capacity, the size of an element.
#include <stdlib.h>
#include <string.h>

#include "lib.h"

#define INPUT_BYTES 32 // size of an input's structure, which distinguishes the direction
#define OUTPUT_BYTES 40
#define INDEX_BYTES 16

typedef struct {
    uint64_t read, write;
    uint32_t data, scratch, log2_capacity, element;
} wram_fifo;

typedef struct {
    uint8_t *buffer;
    uint64_t first; // number of the first element that the host has or knows of
    uint32_t size;
} end_of_dpu;

struct dpu_fifo_links_t {
    lib_machine *machine;
    uint32_t log2_capacity, element, data;
    uint32_t max_retries, retry_us;
    end_of_dpu dpu[]; // by the DPU's number
};

static wram_fifo fifo_of(const struct dpu_t *dpu, uint32_t address)
{
    wram_fifo fifo;
    memcpy(&fifo, lib_memory(dpu, address), sizeof fifo);
    return fifo;
}

static bool is_sound(const wram_fifo *fifo)
{
    return fifo->log2_capacity >= 1 && fifo->log2_capacity <= 10 && fifo->element &&
           fifo->element % 8 == 0 &&
           (uint64_t)fifo->data + ((uint64_t)fifo->element << fifo->log2_capacity) <= DPU_WRAM_ROOM;
}

static dpu_error_t link_fifo(struct dpu_set_t set, struct dpu_fifo_link_t *link, const char *name,
                             enum dpu_fifo_direction_t direction)
{
    lib_machine *machine = lib_machine_of(set);
    link->direction = direction;
    link->links = NULL;
    dpu_error_t status = lib_find_symbol(set, name, &link->fifo_symbol);
    if (status != DPU_OK)
        return status;
    uint32_t expected = direction == DPU_INPUT_FIFO ? INPUT_BYTES : OUTPUT_BYTES;
    if (link->fifo_symbol.size != expected || !lib_is_v1b(machine))
        return DPU_ERR_INVALID_WRAM_FIFO;
    wram_fifo fifo = fifo_of(lib_dpu_at(set, 0), link->fifo_symbol.address);
    if (!is_sound(&fifo))
        return DPU_ERR_INVALID_WRAM_FIFO;
    link->links = calloc(1, sizeof *link->links + machine->count * sizeof(end_of_dpu));
    if (!link->links)
        return DPU_ERR_SYSTEM;
    *link->links = (struct dpu_fifo_links_t){machine, fifo.log2_capacity, fifo.element, fifo.data,
                                             1000, 10};
    return DPU_OK;
}

dpu_error_t dpu_link_input_fifo(struct dpu_set_t dpu_set, struct dpu_fifo_link_t *link,
                                char *fifo_name)
{
    return link_fifo(dpu_set, link, fifo_name, DPU_INPUT_FIFO);
}

dpu_error_t dpu_link_output_fifo(struct dpu_set_t dpu_set, struct dpu_fifo_link_t *link,
                                 char *fifo_name)
{
    return link_fifo(dpu_set, link, fifo_name, DPU_OUTPUT_FIFO);
}

dpu_error_t dpu_fifo_link_free(struct dpu_fifo_link_t *fifo_link)
{
    free(fifo_link->links);
    fifo_link->links = NULL;
    return DPU_OK;
}

dpu_error_t dpu_fifo_prepare_xfer(struct dpu_set_t dpu_set, struct dpu_fifo_link_t *fifo_link,
                                  void *buffer)
{
    dpu_error_t status = DPU_OK;
    if (!fifo_link->links || lib_machine_of(dpu_set) != fifo_link->links->machine)
        return DPU_ERR_INVALID_DPU_SET;
    for (uint32_t i = 0; i < lib_dpu_count(dpu_set); i++) {
        end_of_dpu *end = &fifo_link->links->dpu[lib_dpu_at(dpu_set, i)->number];
        if (end->buffer && buffer)
            status = DPU_ERR_TRANSFER_ALREADY_SET;
        end->buffer = buffer;
    }
    return status;
}

static bool is_full(const lib_job *job, const struct dpu_fifo_links_t *links)
{
    for (uint32_t i = 0; i < job->count; i++) {
        wram_fifo fifo = fifo_of(job->targets[i].dpu, job->address);
        if (fifo.write - fifo.read >= 1ull << links->log2_capacity)
            return true;
    }
    return false;
}

static uint8_t *element_of(const struct dpu_t *dpu, const struct dpu_fifo_links_t *links,
                           uint64_t index)
{
    uint32_t slot = (uint32_t)index & ((1u << links->log2_capacity) - 1);
    return lib_memory(dpu, links->data + slot * links->element);
}

static void push_element(const lib_target *target, struct dpu_fifo_links_t *links, uint32_t address)
{
    wram_fifo fifo = fifo_of(target->dpu, address);
    memcpy(element_of(target->dpu, links, fifo.write), target->buffer, links->element);
    fifo.write++;
    memcpy(lib_memory(target->dpu, address) + offsetof(wram_fifo, write), &fifo.write,
           sizeof fifo.write);
    links->dpu[target->dpu->number].first = fifo.read;
    links->dpu[target->dpu->number].size = (uint32_t)(fifo.write - fifo.read);
}

static dpu_error_t run_push(lib_job *job)
{
    struct dpu_fifo_links_t *links = job->data;
    dpu_error_t status = lib_pass_beside(job, lib_parallel_seconds(INDEX_BYTES));
    for (uint32_t tries = 0; status == DPU_OK && is_full(job, links); tries++) {
        if (tries == links->max_retries)
            return DPU_ERR_WRAM_FIFO_FULL;
        status = lib_pass_beside(job, links->retry_us * 1e-6);
    }
    double seconds = lib_parallel_seconds(links->element + sizeof(uint64_t));
    if (status == DPU_OK)
        status = lib_pass_beside(job, seconds);
    for (uint32_t i = 0; status == DPU_OK && i < job->count; i++)
        push_element(&job->targets[i], links, job->address);
    if (status == DPU_OK)
        lib_report_transfer(job, true, (uint64_t)links->element * job->count, seconds);
    return status;
}

static uint32_t most_elements(const lib_job *job, struct dpu_fifo_links_t *links)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < job->count; i++) {
        wram_fifo fifo = fifo_of(job->targets[i].dpu, job->address);
        end_of_dpu *end = &links->dpu[job->targets[i].dpu->number];
        end->first = fifo.read;
        end->size = (uint32_t)(fifo.write - fifo.read);
        most = end->size > most ? end->size : most;
    }
    return most;
}

static uint64_t take_elements(const lib_target *target, struct dpu_fifo_links_t *links,
                              uint32_t address)
{
    const end_of_dpu *end = &links->dpu[target->dpu->number];
    uint64_t next = end->first + end->size;
    for (uint64_t i = end->first; i < next; i++) {
        uint32_t slot = (uint32_t)i & ((1u << links->log2_capacity) - 1);
        memcpy(target->buffer + slot * links->element, element_of(target->dpu, links, i),
               links->element);
    }
    memcpy(lib_memory(target->dpu, address) + offsetof(wram_fifo, read), &next, sizeof next);
    return (uint64_t)end->size * links->element;
}

static dpu_error_t run_flush(lib_job *job)
{
    struct dpu_fifo_links_t *links = job->data;
    dpu_error_t status = lib_pass_beside(job, lib_parallel_seconds(INDEX_BYTES));
    if (status != DPU_OK)
        return status;
    uint64_t nbytes = (uint64_t)most_elements(job, links) * links->element;
    double seconds = lib_parallel_seconds(nbytes + sizeof(uint64_t));
    status = lib_pass_beside(job, seconds);
    nbytes = 0;
    for (uint32_t i = 0; status == DPU_OK && i < job->count; i++)
        nbytes += take_elements(&job->targets[i], links, job->address);
    if (status == DPU_OK)
        lib_report_transfer(job, false, nbytes, seconds);
    return status;
}

dpu_error_t dpu_fifo_push_xfer(struct dpu_set_t dpu_set, struct dpu_fifo_link_t *fifo_link,
                               dpu_xfer_flags_t flags)
{
    struct dpu_fifo_links_t *links = fifo_link->links;
    bool is_input = fifo_link->direction == DPU_INPUT_FIFO;
    if (!links || lib_machine_of(dpu_set) != links->machine)
        return DPU_ERR_INVALID_DPU_SET;
    lib_job *job = lib_new_job(links->machine, is_input ? LIB_FIFO_PUSH : LIB_FIFO_FLUSH,
                               lib_dpu_count(dpu_set));
    if (!job)
        return DPU_ERR_SYSTEM;
    job->count = 0;
    for (uint32_t i = 0; i < lib_dpu_count(dpu_set); i++) {
        struct dpu_t *dpu = lib_dpu_at(dpu_set, i);
        end_of_dpu *end = &links->dpu[dpu->number];
        if (end->buffer)
            job->targets[job->count++] = (lib_target){dpu, end->buffer};
        if (!(flags & DPU_XFER_NO_RESET))
            end->buffer = NULL;
    }
    job->run = is_input ? run_push : run_flush;
    job->parallel = true;
    job->is_async = flags & DPU_XFER_ASYNC;
    job->address = fifo_link->fifo_symbol.address;
    job->data = links;
    return lib_give(job);
}

void dpu_fifo_set_max_push_retries(struct dpu_fifo_link_t *fifo_link, struct dpu_set_t dpu_set,
                                   uint32_t max_retries)
{
    (void)dpu_set;
    fifo_link->links->max_retries = max_retries;
}

void dpu_fifo_set_push_max_retries(struct dpu_fifo_link_t *fifo_link, struct dpu_set_t dpu_set,
                                   uint32_t max_retries)
{
    dpu_fifo_set_max_push_retries(fifo_link, dpu_set, max_retries);
}

void dpu_fifo_set_time_for_push_retries(struct dpu_fifo_link_t *fifo_link,
                                        struct dpu_set_t dpu_set, uint32_t time_us)
{
    (void)dpu_set;
    fifo_link->links->retry_us = time_us;
}

static const end_of_dpu *end_of(const struct dpu_fifo_link_t *link, struct dpu_set_t dpu)
{
    return &link->links->dpu[lib_dpu_at(dpu, 0)->number];
}

uint16_t get_fifo_size(struct dpu_fifo_link_t *fifo_link, struct dpu_set_t dpu)
{
    return (uint16_t)end_of(fifo_link, dpu)->size;
}

uint16_t get_fifo_elem_index(struct dpu_fifo_link_t *fifo_link, struct dpu_set_t dpu, uint16_t i)
{
    uint32_t mask = (1u << fifo_link->links->log2_capacity) - 1;
    return (uint16_t)((end_of(fifo_link, dpu)->first + i) & mask);
}

uint8_t *get_fifo_elem(struct dpu_fifo_link_t *fifo_link, struct dpu_set_t dpu, uint8_t *fifo_data,
                       uint16_t i)
{
    return fifo_data + get_fifo_elem_index(fifo_link, dpu, i) * fifo_link->links->element;
}
