// SPDX-License-Identifier: Apache-2.0
// The contract between compiled parallel loops, the loader and the pool of threads.
//
// A module with parallel loops has one `struct xtc_parallel`, by which all of them run; its symbol
// is `xtc.pool`, a name that no compiled function can have. As built it runs them on the
// calling thread. The loader writes the pool's function and the number of threads into it, and so
// does a program that links the module itself:
//
//   extern struct xtc_parallel loops __asm__("xtc.pool");
//   loops.run = xtc_parallel_run;
//   loops.threads = 4;

#ifndef XTC_PARALLEL_H
#define XTC_PARALLEL_H

#include <stdint.h>

// Iterations `first` to `last`, the latter excluded, of a loop whose iterations are independent.
typedef void xtc_loop(void *context, int64_t first, int64_t last);

struct xtc_parallel {
  void (*run)(xtc_loop *loop, void *context, int64_t count, int64_t threads);
  int64_t threads;
};

// Run iterations 0 to `count` on the caller's thread and up to `threads - 1` more; every iteration
// is done when it returns. While one loop has the pool, other loops, nested ones included, run on
// their caller's thread alone. Any thread may call it, and a child process after a fork.
void xtc_parallel_run(xtc_loop *loop, void *context, int64_t count, int64_t threads);

// How long a thread of the pool stays awake for the next loop, and a caller for the pool's threads,
// before it sleeps; where there are fewer cores than threads they sleep at once.
void xtc_parallel_spin(int64_t microseconds);

// What one thread computed of a loop: who, 0 being the caller, and when, in nanoseconds of
// CLOCK_MONOTONIC.
struct xtc_parallel_part {
  int64_t thread, begin, end;
};

// Write down the next `capacity` parts that are computed; NULL ends that. Returns how many were
// written since the call before. For when no loop runs.
int64_t xtc_parallel_record(struct xtc_parallel_part *parts, int64_t capacity);

enum { XTC_PARALLEL_SPIN_US = 1000 }; // where nothing else was said

// End the pool's threads, after the loop that runs; the next loop starts new ones.
void xtc_parallel_stop(void);

#endif
