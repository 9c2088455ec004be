// SPDX-License-Identifier: Apache-2.0
// Inside the engine: queues and the lists of their commands. All functions need the engine's lock.
#ifndef XTC_STREAM_H
#define XTC_STREAM_H

#include "xtc_engine.h"

struct xtc_stream {
    xtc_queue id;       // XTC_NOW: one command that its caller waits for
    uint64_t given;     // commands so far, without marks
    uint64_t appended;  // commands so far
    uint64_t started;   // of these
    uint64_t pending;   // commands that are not done
    xtc_event finished; // every command up to this one is done
    xtc_event failed;   // the first command that failed, or that a failure stopped; 0: none
    int32_t status;     // of the failure
    char message[XTC_MESSAGE_BYTES];
    bool closed;    // and freed when nobody holds it
    uint64_t holds; // commands in the engine's lists, and threads that look at it
    struct xtc_stream *next;
};

void xtc_list_append(xtc_list *list, xtc_command *command);
xtc_command *xtc_list_pop(xtc_list *list);

// Put a command of the queue at the end of those that wait.
void xtc_stream_append(xtc_engine *engine, xtc_stream *stream, xtc_command *command);
// The command that is to start next: the first that waits or, where that may not start yet, the
// first parallel one that has no other of its queue before it; NULL if there is none.
xtc_command *xtc_stream_next(const xtc_engine *engine);
// Move a command from those that wait to those started.
void xtc_stream_start(xtc_engine *engine, xtc_command *command);

// The open queue `id`, or NULL with a message.
xtc_stream *xtc_stream_find(const xtc_engine *engine, xtc_queue id);
// The queue fails at `event` for the reason in this thread's message, unless it failed before.
void xtc_stream_fail(xtc_stream *stream, xtc_event event, int32_t status);
// Note the end of a started command, and release those that nobody needs any more.
void xtc_stream_complete(xtc_engine *engine, xtc_command *command, int32_t status);
// Drop the queue's commands that have not started; the queue fails where there are any.
void xtc_stream_drop(xtc_engine *engine, xtc_stream *stream);
// Give up a hold.
void xtc_stream_leave(xtc_stream *stream);
// XTC_OK, XTC_PENDING, or the failure that stopped `event` with its message; 0 is everything given.
int32_t xtc_stream_state(const xtc_engine *engine, const xtc_stream *stream, xtc_event event);
// Whether `event`, or everything given where it is 0, comes only after the end of a kernel: one of
// the queue's, or those that a command must wait for before it starts.
bool xtc_stream_needs_kernels(const xtc_engine *engine, const xtc_stream *stream, xtc_event event);

#endif
