// SPDX-License-Identifier: Apache-2.0
// Engine internals: threads that run commands. All functions need the engine's lock.
#ifndef XTC_WORK_H
#define XTC_WORK_H

#include "xtc_stream.h"

// Whether the caller is a callback, that is, the running command.
bool xtc_work_is_mine(const xtc_engine *engine);
// Run a command; the only function to call without the lock.
int32_t xtc_work_run(xtc_device *device, const xtc_command *command);
// Do one step of work for a waiting caller: start a command, finish a kernel if the caller waits
// for kernels, or sleep until the state changes.
void xtc_work_step(xtc_device *device, xtc_engine *engine, bool waits_for_kernels);
// Work until `event` of the queue is done, or all commands if it is 0; returns its status.
int32_t xtc_work_until(xtc_device *device, xtc_engine *engine, xtc_stream *stream, xtc_event event);
// Wake waiting threads, and the threads that work while no thread waits.
void xtc_work_notify(xtc_engine *engine);
// Start the threads that work while no thread waits.
int32_t xtc_work_start_threads(xtc_device *device, xtc_engine *engine);

#endif
