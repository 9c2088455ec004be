// SPDX-License-Identifier: Apache-2.0
// Start, monitor and end the process of a simulated device.
#ifndef SIM_PROCESS_H
#define SIM_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

// Start it with the shared file and default signal handling, in a separate process group that the
// terminal's signals do not reach. Returns 0 or an error number.
int sim_process_start(pid_t *process, const char *executable, int file);
// Whether it has ended or is no longer a child of this process.
bool sim_process_has_ended(pid_t process);
// Whether a signal has stopped it, so that it cannot enforce the timeout of its kernel.
bool sim_process_is_stopped(pid_t process);
// End it. With grace_s, it first gets a SIGTERM and this many seconds to end its child processes.
void sim_process_end(pid_t process, double grace_s);

#endif
