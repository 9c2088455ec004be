// SPDX-License-Identifier: Apache-2.0
// The contract between compiled parallel loops, the loader and the pool of threads.
//
// A module with parallel loops has one `struct xtc_parallel`, through which all of them run; its
// symbol is `xtc.pool`, a name that no compiled function can have. Initially it runs loops on the
// calling thread. The loader stores the pool's function and the number of threads in it, as must a
// program that links the module itself:
//
//   extern struct xtc_parallel loops __asm__("xtc.pool");
//   loops.run = xtc_parallel_run;
//   loops.threads = 4;

#ifndef XTC_PARALLEL_H
#define XTC_PARALLEL_H

#include <stdint.h>

// Runs iterations `first` to `last` (exclusive) of a loop whose iterations are independent.
typedef void xtc_loop(void *context, int64_t first, int64_t last);

struct xtc_parallel {
  void (*run)(xtc_loop *loop, void *context, int64_t count, int64_t threads);
  int64_t threads;
};

// Runs iterations 0 to `count` on the caller's thread and up to `threads - 1` others, and returns
// when all are done. While one loop uses the pool, other loops, nested ones included, run only on
// their caller's thread. Any thread may call it, also in a child process after a fork.
void xtc_parallel_run(xtc_loop *loop, void *context, int64_t count, int64_t threads);

// How long a thread of the pool spins for the next loop, and a caller for the pool's threads,
// before it sleeps. If there are fewer cores than threads, they sleep at once.
void xtc_parallel_spin(int64_t microseconds);

// The part of a loop that one thread computed: its number (0 is the caller), and start and end in
// nanoseconds of CLOCK_MONOTONIC.
struct xtc_parallel_part {
  int64_t thread, begin, end;
};

// Records the next `capacity` parts that are computed; NULL stops recording. Returns the number
// recorded since the previous call. No loop may be running.
int64_t xtc_parallel_record(struct xtc_parallel_part *parts, int64_t capacity);

enum { XTC_PARALLEL_SPIN_US = 1000 }; // the default

// Ends the pool's threads after the running loop; the next loop starts new ones.
void xtc_parallel_stop(void);

#endif
