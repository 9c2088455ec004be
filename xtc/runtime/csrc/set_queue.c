// SPDX-License-Identifier: Apache-2.0
// Queues of a set: one on each member, and events that all members reach.
#include <stdlib.h>
#include <string.h>

#include "set.h"

static void close_on(xtc_device *set, const set_numbers *queues, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        set->members[i].driver->queue_close(set->members[i].device, queues->of[i]);
}

int32_t set_queue_open(xtc_device *set, xtc_queue *queue)
{
    int32_t status = set_check(set);
    if (status)
        return status;
    set_queue *opened = calloc(1, sizeof *opened);
    if (!opened)
        return xtc_fail(XTC_USAGE, "out of host memory");
    for (uint32_t i = 0; i < set->count; i++) {
        const set_member *member = &set->members[i];
        status = member->driver->queue_open(member->device, &opened->queues.of[i]);
        if (status) {
            set_failed(member, i, status);
            close_on(set, &opened->queues, i);
            free(opened);
            return status;
        }
    }
    pthread_mutex_lock(&set->lock);
    *queue = opened->number = ++set->last_number;
    opened->next = set->queues;
    set->queues = opened;
    pthread_mutex_unlock(&set->lock);
    return XTC_OK;
}

static void free_queue(set_queue *queue)
{
    while (queue->first) {
        set_event *gone = queue->first;
        queue->first = gone->next;
        free(gone);
    }
    free(queue);
}

int32_t set_queue_close(xtc_device *set, xtc_queue queue)
{
    if (set_check(set))
        return XTC_LOST;
    pthread_mutex_lock(&set->lock);
    set_queue **link = &set->queues;
    while (*link && (*link)->number != queue)
        link = &(*link)->next;
    set_queue *closed = *link;
    if (closed)
        *link = closed->next;
    pthread_mutex_unlock(&set->lock);
    if (!closed)
        return xtc_fail(XTC_LOST, "the command queue is closed");
    close_on(set, &closed->queues, set->count);
    free_queue(closed);
    return XTC_OK;
}

// Needs the lock.
static set_queue *find(const xtc_device *set, xtc_queue number)
{
    set_queue *known = set->queues;
    while (known && known->number != number)
        known = known->next;
    if (!known)
        xtc_fail(XTC_LOST, "the command queue is closed");
    return known;
}

int32_t set_find_queue(xtc_device *set, xtc_queue queue, set_numbers *found, bool *stopped)
{
    int32_t status = set_check(set);
    if (status)
        return status;
    pthread_mutex_lock(&set->lock);
    const set_queue *known = find(set, queue);
    if (known) {
        *found = known->queues;
        *stopped = known->stopped != 0;
    }
    pthread_mutex_unlock(&set->lock);
    return known ? XTC_OK : XTC_LOST;
}

int32_t set_stop(xtc_device *set, xtc_queue queue, int32_t status)
{
    pthread_mutex_lock(&set->lock);
    set_queue *known = set->queues;
    while (known && known->number != queue)
        known = known->next;
    if (status && known && !known->stopped) {
        known->stopped = ++set->last_number;
        known->status = status;
        memcpy(known->message, xtc_message(), sizeof known->message);
    }
    pthread_mutex_unlock(&set->lock);
    return status;
}

// The failure that stopped the queue before `event`, or before now if that is 0.
static int32_t stopped_before(xtc_device *set, xtc_queue queue, xtc_event event)
{
    int32_t status = XTC_OK;
    pthread_mutex_lock(&set->lock);
    const set_queue *known = set->queues;
    while (known && known->number != queue)
        known = known->next;
    if (known && known->stopped && (!event || event > known->stopped))
        status = xtc_fail_with(known->status, known->message);
    pthread_mutex_unlock(&set->lock);
    return status;
}

// XTC_OK, XTC_PENDING, or the first failure of a member, from the members' done().
static int32_t state_of(xtc_device *set, const set_numbers *queues, const set_numbers *events,
                        bool of_everything)
{
    int32_t found = XTC_OK;
    for (uint32_t i = 0; i < set->count; i++) {
        const set_member *member = &set->members[i];
        if (!events->of[i] && !of_everything)
            continue;
        int32_t status = member->driver->done(member->device, queues->of[i], events->of[i]);
        if (status > XTC_PENDING)
            return set_failed(member, i, status);
        if (status == XTC_PENDING)
            found = XTC_PENDING;
    }
    return found;
}

// Forget reached events, from the first on. Needs the lock.
static void settle(xtc_device *set, set_queue *queue)
{
    while (queue->first && (!queue->stopped || queue->first->number < queue->stopped) &&
           state_of(set, &queue->queues, &queue->first->events, false) == XTC_OK) {
        set_event *gone = queue->first;
        queue->finished = gone->number;
        queue->first = gone->next;
        if (!queue->first)
            queue->last = NULL;
        free(gone);
    }
}

int32_t set_note(xtc_device *set, xtc_queue queue, const set_numbers *events, xtc_event *event)
{
    set_event *added = calloc(1, sizeof *added);
    if (!added)
        return xtc_fail(XTC_USAGE, "out of host memory");
    pthread_mutex_lock(&set->lock);
    set_queue *known = find(set, queue);
    if (!known) {
        pthread_mutex_unlock(&set->lock);
        free(added);
        return XTC_LOST;
    }
    settle(set, known);
    added->number = ++set->last_number;
    added->events = *events;
    if (known->last)
        known->last->next = added;
    else
        known->first = added;
    known->last = added;
    if (event)
        *event = added->number;
    pthread_mutex_unlock(&set->lock);
    return XTC_OK;
}

// The members' events of `event` to wait for; 0 is all commands.
static int32_t look_up(xtc_device *set, xtc_queue queue, xtc_event event, set_numbers *queues,
                       set_numbers *events)
{
    bool stopped;
    int32_t status = set_find_queue(set, queue, queues, &stopped);
    *events = (set_numbers){{0}};
    if (status)
        return status;
    pthread_mutex_lock(&set->lock);
    const set_queue *known = find(set, queue);
    const set_event *found = known ? known->first : NULL;
    while (found && found->number != event)
        found = found->next;
    if (found)
        *events = found->events;
    pthread_mutex_unlock(&set->lock);
    return known ? XTC_OK : XTC_LOST;
}

int32_t set_done(xtc_device *set, xtc_queue queue, xtc_event event)
{
    set_numbers queues, events;
    int32_t status = look_up(set, queue, event, &queues, &events);
    if (!status)
        status = state_of(set, &queues, &events, event == 0);
    return status ? status : stopped_before(set, queue, event);
}

int32_t set_wait(xtc_device *set, xtc_queue queue, xtc_event event)
{
    set_numbers queues, events;
    int32_t first = look_up(set, queue, event, &queues, &events);
    char message[XTC_MESSAGE_BYTES];
    if (first)
        return first;
    for (uint32_t i = 0; i < set->count; i++) {
        const set_member *member = &set->members[i];
        if (event && !events.of[i]) // reached, or the member has no event
            continue;
        int32_t status = member->driver->wait(member->device, queues.of[i], events.of[i]);
        if (status && !first) {
            first = set_failed(member, i, status);
            memcpy(message, xtc_message(), sizeof message);
        }
    }
    if (!event)
        set_joined(set, queue);
    return first ? xtc_fail_with(first, message) : stopped_before(set, queue, event);
}

static bool conflict(const set_host_span *a, const set_host_span *b)
{
    return (a->is_written || b->is_written) && a->begin < b->end && b->begin < a->end;
}

bool set_uses_host(xtc_device *set, xtc_queue queue, const void *host, uint64_t nbytes,
                   bool is_written)
{
    set_host_span span = {(uintptr_t)host, (uintptr_t)host + nbytes, is_written};
    pthread_mutex_lock(&set->lock);
    set_queue *known = find(set, queue);
    bool joins = false;
    if (known) {
        joins = known->span_count == SET_HOST_SPANS;
        for (uint32_t i = 0; i < known->span_count; i++)
            joins |= conflict(&known->spans[i], &span);
        if (joins)
            known->span_count = 0;
        known->spans[known->span_count++] = span;
    }
    pthread_mutex_unlock(&set->lock);
    return joins;
}

void set_joined(xtc_device *set, xtc_queue queue)
{
    pthread_mutex_lock(&set->lock);
    for (set_queue *known = set->queues; known; known = known->next)
        if (known->number == queue)
            known->span_count = 0;
    pthread_mutex_unlock(&set->lock);
}

void set_forget_queues(xtc_device *set)
{
    while (set->queues) {
        set_queue *gone = set->queues;
        set->queues = gone->next;
        free_queue(gone);
    }
}
