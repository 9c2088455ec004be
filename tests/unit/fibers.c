// SPDX-License-Identifier: Apache-2.0
// Fibers that yield and resume in rotation keep their variables, also in registers, and reuse
// stacks. The arguments are "pool", "own" for stacks that this program provides, "many" for 16,384
// fibers at once, "replaced" for consecutive fibers, "overflow" for one that exhausts its stack,
// and "endless" for more stacks than memory can hold.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <string.h>
#include <sys/resource.h>

#include "sim_fiber.h"

#define FIBERS 5
#define TURNS 7

#define MANY 16384
#define STACK_BYTES (16 << 10)

static sim_fiber fibers[MANY];
static sim_stack_pool pool = {.stack_bytes = STACK_BYTES};
static char own_stacks[FIBERS][STACK_BYTES] __attribute__((aligned(16)));
static int running, ended;
static double sums[FIBERS];
static int64_t products[FIBERS];

_Noreturn void sim_give_up(const char *reason)
{
    fprintf(stderr, "%s\n", reason);
    exit(1);
}

static void run(void)
{
    // More values than caller-saved registers.
    int own = running;
    double a = own, b = own * 2, c = own * 3, d = own * 5, e = own * 7, f = own * 11, g = own * 13;
    int64_t i = own, j = own + 1, k = own + 2, l = own + 3, m = own + 4, n = own + 5;
    for (int turn = 0; turn < TURNS; turn++) {
        sim_fiber_leave(&fibers[own]);
        a += 1, b += a, c += b, d += c, e += d, f += e, g += f;
        i += 1, j += i, k += j, l += k, m += l, n += m;
    }
    sums[own] = g;
    products[own] = n;
    ended++;
    sim_fiber_end(&fibers[own], &pool);
}

static void expect(int own)
{
    double s[7] = {own, own * 2, own * 3, own * 5, own * 7, own * 11, own * 13};
    int64_t p[6] = {own, own + 1, own + 2, own + 3, own + 4, own + 5};
    for (int turn = 0; turn < TURNS; turn++) {
        s[0] += 1, p[0] += 1;
        for (int i = 1; i < 7; i++)
            s[i] += s[i - 1];
        for (int i = 1; i < 6; i++)
            p[i] += p[i - 1];
    }
    if (sums[own] != s[6] || products[own] != p[5])
        printf("fiber %d: %g and %lld\n", own, sums[own], (long long)products[own]);
}

static int rounds(int own)
{
    for (int round = 0; round < 3; round++) {
        for (int i = 0; own && i < FIBERS; i++)
            sim_fiber_begin(&fibers[i], own_stacks[i], STACK_BYTES, run);
        for (ended = 0; ended < FIBERS;)
            for (running = 0; running < FIBERS; running++)
                if (fibers[running].pointer || ended == 0)
                    sim_fiber_enter(&fibers[running], &pool, run);
        for (int i = 0; i < FIBERS; i++)
            expect(i);
        printf("round %d: %d fibers ended\n", round, ended);
    }
    return 0;
}

static void count(void)
{
    int own = running;
    for (int turn = 0; turn < 3; turn++)
        sim_fiber_leave(&fibers[own]);
    ended++;
    sim_fiber_end(&fibers[own], &pool);
}

static int many(void)
{
    for (int turn = 0; turn < 4; turn++)
        for (running = 0; running < MANY; running++)
            sim_fiber_enter(&fibers[running], &pool, count);
    printf("%d fibers ended\n", ended);
    return 0;
}

// Fibers 0 and 1 use one stack in succession; then fiber 2, which has begun earlier, continues.
static void follow(void)
{
    for (;;) {
        int own = running;
        if (own == 2)
            sim_fiber_leave(&fibers[own]);
        printf("fiber %d\n", own);
        if (own == 2)
            sim_fiber_end(&fibers[own], &pool);
        running = own + 1;
        sim_fiber_replace(&fibers[own], &fibers[own + 1], &pool);
    }
}

static int replaced(void)
{
    running = 2;
    sim_fiber_enter(&fibers[2], &pool, follow);
    running = 0;
    sim_fiber_enter(&fibers[0], &pool, follow);
    printf("%u stacks\n", pool.made);
    return fibers[0].pointer || fibers[1].pointer || fibers[2].pointer;
}

static void overflow(void)
{
    volatile char frame[1024];
    memset((char *)frame, 1, sizeof frame);
    if (frame[sizeof frame - 1])
        overflow();
    frame[0] = 0; // so that it is not a tail call
}

static void wait_for_ever(void)
{
    for (;;)
        sim_fiber_leave(&fibers[running]);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "pool";
    if (strcmp(what, "many") == 0)
        return many();
    if (strcmp(what, "replaced") == 0)
        return replaced();
    if (strcmp(what, "overflow") == 0)
        sim_fiber_enter(&fibers[0], &pool, overflow);
    if (strcmp(what, "endless") == 0) {
        struct rlimit limit = {64 << 20, 64 << 20};
        setrlimit(RLIMIT_AS, &limit);
        for (running = 0; running < MANY; running++)
            sim_fiber_enter(&fibers[running], &pool, wait_for_ever);
    }
    return rounds(strcmp(what, "own") == 0);
}
