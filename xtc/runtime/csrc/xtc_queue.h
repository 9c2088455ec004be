// SPDX-License-Identifier: Apache-2.0
// Engine internals: adding commands to the sequence, and closing queues.
#ifndef XTC_QUEUE_H
#define XTC_QUEUE_H

#include "xtc_stream.h"

// Append a command, which the engine then owns, to the sequence; with XTC_NOW, also wait for it.
int32_t xtc_give(xtc_device *device, xtc_queue queue, xtc_command *command, xtc_event *event);
// Drop the queue's commands that have not started and wait for the others. Needs the engine's lock.
void xtc_queue_close(xtc_device *device, xtc_engine *engine, xtc_stream *stream);

#endif
