// SPDX-License-Identifier: Apache-2.0
// Faults of kernels: the cause is written to the shared memory, then the process ends.
#define _GNU_SOURCE
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "sim_device.h"
#include "sim_futex.h"

static sim_channel *channel;
static sim_failure *failure; // where this process stores the cause
static const sim_device_ops *device;
static const char *volatile kernel; // the running kernel, or NULL
static void (*volatile supervisor)(void);
static atomic_flag is_failing = ATOMIC_FLAG_INIT;

static const struct {
    int number;
    const char *meaning;
} deadly[] = {
    {SIGSEGV, "access to unmapped memory (SIGSEGV)"},
    {SIGBUS, "bus error (SIGBUS)"},
    {SIGFPE, "arithmetic exception such as a division by zero (SIGFPE)"},
    {SIGILL, "illegal instruction (SIGILL)"},
    {SIGTRAP, "trap instruction (SIGTRAP)"},
    {SIGABRT, "call of abort (SIGABRT)"},
};

static char timeout_text[64];

// "kernel 'k' on cluster 2, PE 5: what at 0x10".
static void describe(sim_text *text, const uint64_t *address, const char *what)
{
    if (kernel) {
        sim_text_append(text, "kernel '");
        sim_text_append(text, kernel);
        sim_text_append(text, "'");
        device->where(text);
        sim_text_append(text, ": ");
    }
    sim_text_append(text, what);
    if (address) {
        sim_text_append(text, " at ");
        sim_text_append_number(text, *address, 16);
    }
}

static void publish(void)
{
    channel->state = SIM_FAILED;
    sim_futex_wake(&channel->state);
    sim_futex_wake(&channel->finished);
}

// Safe in a signal handler.
static _Noreturn void fail(int32_t status, const uint64_t *address, const char *what)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    while (atomic_flag_test_and_set(&is_failing))
        pause(); // another thread ends the process
    sim_text text = sim_text_in(failure->text, sizeof failure->text);
    describe(&text, address, what);
    failure->status = status;
    if (failure == &channel->failure)
        publish();
    _exit(1);
}

static void on_deadly(int number, siginfo_t *information, void *context)
{
    (void)context;
    const char *meaning = "a fatal signal";
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        if (deadly[i].number == number)
            meaning = deadly[i].meaning;
    uint64_t address = (uintptr_t)information->si_addr;
    bool has_address = number != SIGABRT && number != SIGTRAP;
    fail(kernel ? XTC_FAULT : XTC_LOST, has_address ? &address : NULL, meaning);
}

static void on_alarm(int number)
{
    (void)number;
    if (supervisor)
        supervisor();
    else
        fail(XTC_TIMEOUT, NULL, timeout_text);
}

static void on_exit_called(void)
{
    if (kernel)
        fail(XTC_FAULT, NULL, "it ended the process");
}

static void install(int number, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

void sim_fault_install(sim_channel *shared, const sim_device_ops *ops)
{
    static char stack[64 << 10]; // of handlers, as the kernel's stack may be exhausted
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
    channel = shared;
    failure = &shared->failure;
    device = ops;
    snprintf(timeout_text, sizeof timeout_text, "it ran for more than %g s", shared->timeout_s);
    sigaltstack(&alternative, NULL);
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        install(deadly[i].number, on_deadly);
    struct sigaction alarm_action = {.sa_handler = on_alarm, .sa_flags = SA_ONSTACK};
    sigaction(SIGALRM, &alarm_action, NULL);
    atexit(on_exit_called);
}

static void set_alarm(double seconds)
{
    struct itimerval limit = {0};
    limit.it_value.tv_sec = (time_t)seconds;
    limit.it_value.tv_usec = (suseconds_t)((seconds - (double)limit.it_value.tv_sec) * 1e6);
    setitimer(ITIMER_REAL, &limit, NULL);
}

void sim_fault_kernel_begins(const char *name)
{
    kernel = name;
    set_alarm(channel->timeout_s);
}

void sim_fault_kernel_ends(void)
{
    set_alarm(0);
    kernel = NULL;
}

void sim_fault(uint64_t address, const char *rule, ...)
{
    char text[SIM_TEXT];
    va_list arguments;
    va_start(arguments, rule);
    vsnprintf(text, sizeof text, rule, arguments);
    va_end(arguments);
    fail(XTC_FAULT, address ? &address : NULL, text);
}

void sim_fault_with_report(const char *report, const char *rule, ...)
{
    char text[SIM_TEXT];
    va_list arguments;
    va_start(arguments, rule);
    vsnprintf(text, sizeof text, rule, arguments);
    va_end(arguments);
    xtc_report_write(report, failure->report);
    fail(XTC_FAULT, NULL, text);
}

void sim_fault_in_worker(sim_failure *own)
{
    failure = own;
    supervisor = NULL;
}

void sim_fault_supervise(void (*time_is_over)(void))
{
    supervisor = time_is_over;
}

void sim_fault_describe(sim_failure *told, int32_t status, const char *what)
{
    sim_text text = sim_text_in(told->text, sizeof told->text);
    describe(&text, NULL, what ? what : timeout_text);
    told->status = status;
}

void sim_fault_as(const sim_failure *told)
{
    *failure = *told;
    publish();
    _exit(1);
}

void sim_give_up(const char *reason)
{
    fail(XTC_LOST, NULL, reason);
}
