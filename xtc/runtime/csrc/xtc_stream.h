// SPDX-License-Identifier: Apache-2.0
// Engine internals: queues and the lists of their commands. All functions need the engine's lock.
#ifndef XTC_STREAM_H
#define XTC_STREAM_H

#include "xtc_engine.h"

struct xtc_stream {
    xtc_queue id;       // XTC_NOW: a single command that its caller waits for
    uint64_t given;     // number of commands so far, without marks
    uint64_t appended;  // number of commands so far, including marks
    uint64_t started;   // number of these that have started
    uint64_t pending;   // number of commands that are not done
    xtc_event finished; // all commands up to this event are done
    xtc_event failed;   // the first command that failed or was stopped by a failure; 0: none
    int32_t status;     // of the failure
    char message[XTC_MESSAGE_BYTES];
    bool closed;    // and freed once `holds` is 0
    uint64_t holds; // references: commands in the engine's lists, and threads that use it
    struct xtc_stream *next;
};

void xtc_list_append(xtc_list *list, xtc_command *command);
xtc_command *xtc_list_pop(xtc_list *list);

// Append a command of the queue to the waiting commands.
void xtc_stream_append(xtc_engine *engine, xtc_stream *stream, xtc_command *command);
// The next command to start: the first waiting command or, if that may not start yet, the first
// parallel command without earlier waiting commands of its queue; NULL if there is none.
xtc_command *xtc_stream_next(const xtc_engine *engine);
// Move a command from the waiting to the started commands.
void xtc_stream_start(xtc_engine *engine, xtc_command *command);

// The open queue `id`, or NULL with a message.
xtc_stream *xtc_stream_find(const xtc_engine *engine, xtc_queue id);
// Make the queue fail at `event` for the cause in this thread's message, unless it has failed
// before.
void xtc_stream_fail(xtc_stream *stream, xtc_event event, int32_t status);
// Record the completion of a started command, and release the commands no longer needed.
void xtc_stream_complete(xtc_engine *engine, xtc_command *command, int32_t status);
// Drop the queue's commands that have not started; the queue fails if there are any.
void xtc_stream_drop(xtc_engine *engine, xtc_stream *stream);
// Release a reference.
void xtc_stream_leave(xtc_stream *stream);
// XTC_OK, XTC_PENDING, or the failure that stopped `event`, with its message; 0 is all commands.
int32_t xtc_stream_state(const xtc_engine *engine, const xtc_stream *stream, xtc_event event);
// Whether `event`, or the last command if it is 0, needs the end of a kernel: a kernel of the
// queue, or kernels that a command must wait for before it starts.
bool xtc_stream_needs_kernels(const xtc_engine *engine, const xtc_stream *stream, xtc_event event);

#endif
