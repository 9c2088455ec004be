// SPDX-License-Identifier: Apache-2.0
// Inside the engine: threads that carry out commands. All functions need the engine's lock.
#ifndef XTC_WORK_H
#define XTC_WORK_H

#include "xtc_stream.h"

// Whether the caller is a callback, which is a command that runs at this moment.
bool xtc_work_is_mine(const xtc_engine *engine);
// What a command does; the one function to call without the lock.
int32_t xtc_work_run(xtc_device *device, const xtc_command *command);
// Work on what comes first, for a caller that waits: start a command, or finish a kernel where the
// caller waits for kernels, or sleep until something changed.
void xtc_work_step(xtc_device *device, xtc_engine *engine, bool waits_for_kernels);
// Work until `event` of the queue is done, everything given where it is 0; returns its status.
int32_t xtc_work_until(xtc_device *device, xtc_engine *engine, xtc_stream *stream, xtc_event event);
// Wake waiting threads, and the threads that work when none waits.
void xtc_work_notify(xtc_engine *engine);
// Start the threads that work when no thread waits.
int32_t xtc_work_start_threads(xtc_device *device, xtc_engine *engine);

#endif
