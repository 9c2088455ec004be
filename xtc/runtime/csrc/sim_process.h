// SPDX-License-Identifier: Apache-2.0
// The process of a simulated device, as its host starts, watches and ends it.
#ifndef SIM_PROCESS_H
#define SIM_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

// Start it with the shared file, in a separate process group, so that the terminal's signals do not
// reach it, and with default signals. Returns 0 or an error number.
int sim_process_start(pid_t *process, const char *executable, int file);
// Whether it has ended, or is not a child of this process any more.
bool sim_process_has_ended(pid_t process);
// Whether a signal has stopped it, so that its own time limit does not end a kernel.
bool sim_process_is_stopped(pid_t process);
// End it. With grace_s, it first gets a SIGTERM and this time to end its child processes.
void sim_process_end(pid_t process, double grace_s);

#endif
