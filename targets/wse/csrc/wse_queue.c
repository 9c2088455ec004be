// SPDX-License-Identifier: Apache-2.0
// Queues of wavelets at the inputs of routers, and between router and core.
#include <stdlib.h>

#include "sim_device.h"
#include "wse_sim.h"

wse_queue *wse_queue_new(uint32_t depth)
{
    wse_queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        sim_give_up("no memory for queues");
    queue->depth = depth < WSE_DEEPEST ? depth : WSE_DEEPEST;
    return queue;
}

void wse_queue_push(wse_queue *queue, wse_wavelet wavelet)
{
    queue->ring[(queue->first + queue->count++) % WSE_DEEPEST] = wavelet;
}

wse_wavelet wse_queue_pop(wse_queue *queue)
{
    wse_wavelet wavelet = queue->ring[queue->first];
    queue->first = (queue->first + 1) % WSE_DEEPEST;
    queue->count--;
    return wavelet;
}

// The queue in which a color's wavelets wait for the core: per color on WSE-2, per queue on
// WSE-3.
int wse_input_number(const wse_pe *pe, uint32_t color)
{
    if (!wse.by_queue)
        return (int)color;
    for (uint32_t queue = 0; queue < wse.input_count; queue++)
        if (pe->input_color[queue] == (int)color)
            return (int)queue;
    return -1;
}

static uint32_t depth_of(const wse_pe *pe, uint32_t number)
{
    if (wse.by_queue)
        return wse.input_depth[number];
    for (uint32_t queue = 0; queue < wse.input_count; queue++)
        if (pe->input_color[queue] == (int)number)
            return wse.input_depth[queue];
    return wse.input_depth[0];
}

wse_queue *wse_input_of(wse_pe *pe, uint32_t color)
{
    int number = wse_input_number(pe, color);
    if (number < 0)
        return NULL;
    if (!pe->in[number])
        pe->in[number] = wse_queue_new(depth_of(pe, (uint32_t)number));
    return pe->in[number];
}

wse_wavelet wse_input_take(wse_pe *pe, uint32_t number)
{
    wse_wavelet wavelet = wse_queue_pop(pe->in[number]);
    wse_router_at(pe, wse.now + 1); // a wavelet may have waited for space
    if (pe->feeds)
        wse_core_at(pe, wse.now + 1);
    return wavelet;
}

wse_queue *wse_output(wse_pe *pe, uint32_t queue)
{
    if (!pe->out[queue])
        pe->out[queue] = wse_queue_new(wse.output_depth[queue]);
    return pe->out[queue];
}
