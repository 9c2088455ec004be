// SPDX-License-Identifier: Apache-2.0
// Inside the engine: how commands get into their sequence, and how queues end.
#ifndef XTC_QUEUE_H
#define XTC_QUEUE_H

#include "xtc_stream.h"

// Put a command, which the engine then owns, in the sequence; on XTC_NOW also wait for it.
int32_t xtc_give(xtc_device *device, xtc_queue queue, xtc_command *command, xtc_event *event);
// Drop what the queue has not started and wait for the rest. Needs the engine's lock.
void xtc_queue_close(xtc_device *device, xtc_engine *engine, xtc_stream *stream);

#endif
