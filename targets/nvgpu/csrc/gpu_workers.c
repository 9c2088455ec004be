// SPDX-License-Identifier: Apache-2.0
// Workers: processes, forked for one launch, that each take the next block until none is left. They share the
// device's memory. The first one continues the block that runs at the time of the fork. Blocks are taken in
// order of their numbers, so that the first block that fails is reported, as if one process ran them all.
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gpu_sim.h"
#include "sim_device.h"

#define NO_BLOCK UINT64_MAX

typedef struct {
    _Atomic uint64_t block; // the last one that it began
    uint64_t counters[GPU_EVENT_COUNT];
    sim_failure failure;
    sim_output output;
} worker;

typedef struct {
    _Atomic uint64_t next; // the first block that no worker has taken
    worker workers[];
} team;

static team *common; // memory that all processes share
static worker *self;
static volatile pid_t processes[GPU_MAX_WORKERS]; // 0: it has ended
static bool dismissed[GPU_MAX_WORKERS]; // its block comes after one that failed
static uint32_t started, running;
static volatile sig_atomic_t warnings; // the number of times that the timeout was signaled

static uint64_t blocks, taken; // of the launch
static bool alone;             // whether one process runs it and there are blocks for others
static uint64_t alone_until;
static jmp_buf all_done;

static uint64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool next_block(uint64_t *block)
{
    *block = self ? atomic_fetch_add(&common->next, 1) : taken++;
    alone = !self && taken < blocks;
    if (*block >= blocks)
        return false;
    if (self)
        self->block = *block;
    return true;
}

static void begin_work(worker *own, pid_t parent, const sigset_t *signals)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    self = own;
    gpu_counters = own->counters;
    sim_fault_in_worker(&own->failure);
    sigprocmask(SIG_SETMASK, signals, NULL);
}

static _Noreturn void run_others(void)
{
    gpu_abandon_block();
    gpu_run_clusters(next_block);
    _exit(0);
}

static volatile sig_atomic_t asked; // by the host, to end

static void signal_all(int number)
{
    for (uint32_t i = 0; i < started; i++)
        if (processes[i])
            kill(processes[i], number);
}

// A worker that receives the alarm reports its position and ends; one that does not is killed.
static void time_is_over(void)
{
    signal_all(warnings++ ? SIGKILL : SIGALRM);
    alarm(1);
}

// The host ends this process, which ends its workers but keeps their output.
static void end_is_asked(int number)
{
    (void)number;
    asked = 1;
    signal_all(SIGKILL);
}

static void heed(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaction(SIGTERM, &action, NULL);
}

// Returns whether this process continues the block: the first worker, or the parent if none was started.
static bool start(uint32_t count)
{
    sigset_t ends, before;
    pid_t parent = getpid();
    sigemptyset(&ends);
    sigaddset(&ends, SIGALRM);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, &before);
    started = running = 0;
    warnings = 0;
    while (started < count) {
        pid_t process = fork();
        if (!process) {
            begin_work(&common->workers[started], parent, &before);
            if (started)
                run_others();
            return true;
        }
        if (process < 0)
            break; // fewer workers give the same result
        dismissed[started] = false;
        processes[started++] = process;
        running++;
    }
    if (started) {
        sim_fault_supervise(time_is_over);
        heed(end_is_asked);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return !started;
}

static uint32_t number_of(pid_t process)
{
    uint32_t i = 0;
    while (i < started && processes[i] != process)
        i++;
    return i;
}

// Stop all blocks after this one.
static void dismiss_after(uint64_t block)
{
    common->next = blocks;
    for (uint32_t i = 0; i < started; i++) {
        uint64_t at = common->workers[i].block;
        if (!processes[i] || at == NO_BLOCK || at <= block)
            continue;
        dismissed[i] = true;
        kill(processes[i], SIGKILL);
    }
}

static void describe_end(worker *ended, const siginfo_t *how)
{
    char text[SIM_TEXT];
    if (warnings) {
        sim_fault_describe(&ended->failure, XTC_TIMEOUT, NULL);
        return;
    }
    snprintf(text, sizeof text, "process %d, which ran some of its blocks, was killed by signal %d",
             (int)how->si_pid, how->si_status);
    sim_fault_describe(&ended->failure, XTC_LOST, text);
}

static void note_end(uint32_t number, const siginfo_t *how)
{
    worker *ended = &common->workers[number];
    if (dismissed[number] || asked)
        return;
    if (!ended->failure.status && (how->si_code != CLD_EXITED || how->si_status))
        describe_end(ended, how);
    if (ended->failure.status)
        dismiss_after(ended->block);
}

// Wait until all workers have ended. A process id is forgotten before the system may reuse it.
static void wait_for_all(void)
{
    while (running) {
        siginfo_t how = {0};
        if (waitid(P_ALL, 0, &how, WEXITED | WNOWAIT)) {
            if (errno == EINTR)
                continue;
            sim_give_up("cannot wait for the processes that run blocks");
        }
        uint32_t number = number_of(how.si_pid);
        if (number < started) {
            processes[number] = 0;
            running--;
        }
        waitpid(how.si_pid, NULL, 0);
        if (number < started)
            note_end(number, &how);
    }
    sim_fault_supervise(NULL);
}

// The worker whose failed block comes first, NULL if none failed. The reports of the others are removed.
static const worker *first_failed(void)
{
    const worker *first = NULL;
    for (uint32_t i = 0; i < started; i++) {
        const worker *failed = &common->workers[i];
        if (!dismissed[i] && failed->failure.status && (!first || failed->block < first->block))
            first = failed;
    }
    for (uint32_t i = 0; i < started; i++)
        if (&common->workers[i] != first && common->workers[i].failure.report[0])
            unlink(common->workers[i].failure.report);
    return first;
}

static void add_counters(void)
{
    for (uint32_t i = 0; i < started; i++)
        for (int event = 0; event < GPU_EVENT_COUNT; event++)
            gpu_counters[event] += common->workers[i].counters[event];
}

// Add the output of blocks up to the one that failed.
static void add_output(const worker *failed)
{
    sim_output *outputs[GPU_MAX_WORKERS];
    for (uint32_t i = 0; i < started; i++)
        outputs[i] = &common->workers[i].output;
    sim_output_merge(sim_device_output(), outputs, started, failed ? failed->block : NO_BLOCK);
}

sim_output *gpu_output(void)
{
    return self ? &self->output : sim_device_output();
}

static size_t open_team(uint32_t count)
{
    size_t nbytes = sizeof *common + count * sizeof *common->workers;
    common = mmap(NULL, nbytes, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (common == MAP_FAILED)
        sim_give_up("no memory for the processes that run blocks");
    common->next = taken;
    common->workers[0].block = taken - 1;
    for (uint32_t i = 1; i < count; i++)
        common->workers[i].block = NO_BLOCK;
    return nbytes;
}

static void supervise(void)
{
    wait_for_all();
    add_counters();
    const worker *failed = first_failed();
    add_output(failed);
    heed(SIG_DFL);
    if (asked)
        _exit(1);
    if (failed)
        sim_fault_as(&failed->failure);
}

void gpu_workers_join(void)
{
    if (!alone || nanoseconds() < alone_until)
        return;
    alone = false;
    uint64_t left = blocks - taken + 1; // including the one that runs
    uint32_t cores = gpu->machine.cores, count = left < cores ? (uint32_t)left : cores;
    size_t nbytes = open_team(count);
    bool goes_on = start(count);
    if (self)
        return;
    if (!goes_on)
        supervise();
    munmap(common, nbytes);
    if (goes_on) {
        alone_until = UINT64_MAX;
        return;
    }
    gpu_abandon_block();
    longjmp(all_done, 1);
}

void gpu_workers_run(uint64_t count)
{
    blocks = count;
    taken = 0;
    alone_until = nanoseconds() + gpu->machine.alone_ns;
    if (!setjmp(all_done))
        gpu_run_clusters(next_block);
    if (self)
        _exit(0);
    alone = false;
}
