// SPDX-License-Identifier: Apache-2.0
#include "sim_output.h"

#include <string.h>

// Copy bytes, which wrap around at the end of the buffer.
static void put(sim_output *output, uint64_t at, const void *from, uint64_t nbytes)
{
    uint64_t offset = at % SIM_OUTPUT_ROOM, left = SIM_OUTPUT_ROOM - offset;
    uint64_t here = nbytes < left ? nbytes : left;
    memcpy(output->bytes + offset, from, here);
    memcpy(output->bytes, (const char *)from + here, nbytes - here);
}

static void get(const sim_output *output, uint64_t at, void *to, uint64_t nbytes)
{
    uint64_t offset = at % SIM_OUTPUT_ROOM, left = SIM_OUTPUT_ROOM - offset;
    uint64_t here = nbytes < left ? nbytes : left;
    memcpy(to, output->bytes + offset, here);
    memcpy((char *)to + here, output->bytes, nbytes - here);
}

static sim_output_head head_at(const sim_output *output, uint64_t at)
{
    sim_output_head head;
    get(output, at, &head, sizeof head);
    return head;
}

// A process may end between any two of these steps.
void sim_output_add(sim_output *output, uint64_t order, const char *text, uint32_t nbytes)
{
    sim_output_head head = {.order = order, .nbytes = nbytes};
    uint64_t end = output->end;
    while (end + sizeof head + nbytes - output->first > SIM_OUTPUT_ROOM) {
        output->first += sizeof head + head_at(output, output->first).nbytes;
        output->lost++;
    }
    put(output, end, &head, sizeof head);
    put(output, end + sizeof head, text, nbytes);
    output->end = end + sizeof head + nbytes;
}

bool sim_output_next(const sim_output *output, uint64_t *at, uint64_t end, sim_output_head *head,
                     char text[SIM_OUTPUT_TEXT])
{
    uint64_t left = end - *at;
    if (left < sizeof *head || left > SIM_OUTPUT_ROOM)
        return false;
    *head = head_at(output, *at);
    if (head->nbytes >= SIM_OUTPUT_TEXT || head->nbytes > left - sizeof *head)
        return false;
    get(output, *at + sizeof *head, text, head->nbytes);
    text[head->nbytes] = '\0';
    *at += sizeof *head + head->nbytes;
    return true;
}

// The output whose first text has the lowest order up to `last`, or NULL.
static sim_output *next_of(sim_output *const *others, uint32_t count, uint64_t last)
{
    sim_output *found = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (others[i]->first == others[i]->end)
            continue;
        uint64_t order = head_at(others[i], others[i]->first).order;
        if (order > last || (found && order >= head_at(found, found->first).order))
            continue;
        found = others[i];
    }
    return found;
}

void sim_output_merge(sim_output *output, sim_output *const *others, uint32_t count, uint64_t last)
{
    static char text[SIM_OUTPUT_TEXT];
    sim_output_head head;
    sim_output *from;
    for (uint32_t i = 0; i < count; i++)
        output->lost += others[i]->lost;
    while ((from = next_of(others, count, last))) {
        uint64_t at = from->first;
        if (sim_output_next(from, &at, from->end, &head, text))
            sim_output_add(output, head.order, text, head.nbytes);
        else
            at = from->end;
        from->first = at;
    }
}
