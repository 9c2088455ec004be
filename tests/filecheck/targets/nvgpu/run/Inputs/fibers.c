// SPDX-License-Identifier: Apache-2.0
// Fibers that leave and go on by turns keep their variables, in registers too, and reuse stacks.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpu_fiber.h"

#define FIBERS 5
#define TURNS 7

static gpu_fiber fibers[FIBERS];
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
    // More values than there are registers that a call does not keep.
    int own = running;
    double a = own, b = own * 2, c = own * 3, d = own * 5, e = own * 7, f = own * 11, g = own * 13;
    int64_t i = own, j = own + 1, k = own + 2, l = own + 3, m = own + 4, n = own + 5;
    for (int turn = 0; turn < TURNS; turn++) {
        gpu_fiber_leave(&fibers[own]);
        a += 1, b += a, c += b, d += c, e += d, f += e, g += f;
        i += 1, j += i, k += j, l += k, m += l, n += m;
    }
    sums[own] = g;
    products[own] = n;
    ended++;
    gpu_fiber_end(&fibers[own]);
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

int main(void)
{
    for (int round = 0; round < 3; round++) {
        for (ended = 0; ended < FIBERS;)
            for (running = 0; running < FIBERS; running++)
                if (fibers[running].stack || ended == 0)
                    gpu_fiber_enter(&fibers[running], run);
        for (int own = 0; own < FIBERS; own++)
            expect(own);
        printf("round %d: %d fibers ended\n", round, ended);
    }
    return 0;
}
