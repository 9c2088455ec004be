// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "sim_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <time.h>
#include <unistd.h>
#include <sys/wait.h>

#include "sim_channel.h"

extern char **environ;

int sim_process_start(pid_t *process, const char *executable, int file)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, file, SIM_DESCRIPTOR);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETPGROUP);
    char *words[] = {(char *)executable, NULL};
    int error = posix_spawn(process, executable, &files, &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

bool sim_process_has_ended(pid_t process)
{
    siginfo_t information = {0};
    if (waitid(P_PID, (id_t)process, &information, WEXITED | WNOHANG | WNOWAIT))
        return true; // another part of this process has waited for it
    return information.si_pid != 0;
}

bool sim_process_is_stopped(pid_t process)
{
    siginfo_t information = {0};
    return !waitid(P_PID, (id_t)process, &information, WSTOPPED | WNOHANG | WNOWAIT) &&
           information.si_pid != 0;
}

// Ask the process to end, and wait for up to `grace_s` seconds.
static void ask_to_end(pid_t process, double grace_s)
{
    static const struct timespec pause = {.tv_nsec = 200 * 1000};
    kill(process, SIGTERM);
    for (double waited = 0; waited < grace_s && !sim_process_has_ended(process); waited += 2e-4)
        nanosleep(&pause, NULL);
}

void sim_process_end(pid_t process, double grace_s)
{
    siginfo_t information;
    if (waitid(P_PID, (id_t)process, &information, WEXITED | WNOHANG | WNOWAIT))
        return; // no longer a child: its process id may have been reused
    if (grace_s > 0)
        ask_to_end(process, grace_s);
    kill(process, SIGKILL);
    while (waitpid(process, NULL, 0) < 0 && errno == EINTR)
        continue;
}
