// SPDX-License-Identifier: Apache-2.0
// A pool of threads that sleep between loops.
//
// A loop is cut into as many chunks of equal length as there are threads. A thread begins with the
// chunk that has its number, so that a part of an array stays in one core's cache from loop to
// loop, and goes on with those that nobody has begun: the caller waits for chunks that are being
// computed, never for a thread that wakes late.

#define _POSIX_C_SOURCE 200809L // clock_gettime, signal masks

#include "parallel.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

enum {
  MAX_CHUNKS = 1024,
  // How long a thread stays awake for what it waits for. The caller, who could do nothing else,
  // about as long as it takes to put a thread to sleep and to wake it; an idle worker much less.
  CALLER_SPIN_NS = 20000,
  WORKER_SPIN_NS = 5000,
  STACK_BYTES = 8 << 20, // as much as the caller's thread usually has
};

static struct {
  pthread_mutex_t owner; // held by the caller whose loop has the pool
  pthread_t workers[MAX_CHUNKS]; // 1 to `started`; the caller is number 0
  int64_t started; // workers that exist; the owner's

  pthread_mutex_t lock; // of what follows up to `stopping`
  pthread_cond_t work, done;
  atomic_int_fast64_t wanted; // workers that the loop still takes
  atomic_int_fast64_t active; // workers inside the loop
  bool stopping;

  // The loop: constant while a worker is active.
  xtc_loop *loop;
  void *context;
  int64_t count, chunks;
  int64_t number; // of loops so far

  atomic_int_fast64_t begun[MAX_CHUNKS]; // the last loop in which somebody began the chunk
} pool = {
    .owner = PTHREAD_MUTEX_INITIALIZER,
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .work = PTHREAD_COND_INITIALIZER,
    .done = PTHREAD_COND_INITIALIZER,
};

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void pause_core(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");
#endif
}

// Wait a moment for a number to become zero, or to become another than zero.
static void spin_until(atomic_int_fast64_t *number, bool zero, int64_t ns) {
  for (int64_t end = now() + ns; (atomic_load(number) == 0) != zero && now() < end;)
    pause_core();
}

// The first iteration of a chunk; lengths differ by one at most.
static int64_t chunk_start(int64_t chunk) {
  int64_t length = pool.count / pool.chunks, longer = pool.count % pool.chunks;
  return chunk * length + (chunk < longer ? chunk : longer);
}

static bool begin(int64_t chunk) {
  return atomic_load(&pool.begun[chunk]) != pool.number &&
         atomic_exchange(&pool.begun[chunk], pool.number) != pool.number;
}

static void run_chunks(int64_t thread) {
  for (int64_t i = 0; i < pool.chunks; ++i) {
    int64_t chunk = (thread + i) % pool.chunks;
    if (begin(chunk))
      pool.loop(pool.context, chunk_start(chunk), chunk_start(chunk + 1));
  }
}

// Sleep until a loop takes this worker; false when it is to end.
static bool enter_loop(void) {
  spin_until(&pool.wanted, false, WORKER_SPIN_NS);
  pthread_mutex_lock(&pool.lock);
  while (pool.wanted == 0 && !pool.stopping)
    pthread_cond_wait(&pool.work, &pool.lock);
  bool enters = !pool.stopping;
  if (enters) {
    --pool.wanted;
    ++pool.active;
  }
  pthread_mutex_unlock(&pool.lock);
  return enters;
}

static void leave_loop(void) {
  pthread_mutex_lock(&pool.lock);
  if (--pool.active == 0)
    pthread_cond_signal(&pool.done);
  pthread_mutex_unlock(&pool.lock);
}

static void *work(void *thread) {
  while (enter_loop()) {
    run_chunks((intptr_t)thread);
    leave_loop();
  }
  return NULL;
}

// In a child process only the thread that forked is left, and what others held stays locked.
static void forget_workers(void) {
  pool.owner = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  pool.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  pool.work = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  pool.done = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  pool.started = pool.wanted = pool.active = 0;
  pool.stopping = false;
}

static void prepare_for_forks(void) { pthread_atfork(NULL, NULL, forget_workers); }

// Signals are for the program's own threads, but for those that report a fault of this one.
static void block_signals(sigset_t *before) {
  static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
  sigset_t blocked;
  sigfillset(&blocked);
  for (size_t i = 0; i < sizeof faults / sizeof *faults; ++i)
    sigdelset(&blocked, faults[i]);
  pthread_sigmask(SIG_SETMASK, &blocked, before);
}

// Have up to `workers` workers: fewer where the system gives no more threads, which then do all.
static void start_workers(int64_t workers) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, prepare_for_forks);
  sigset_t before;
  pthread_attr_t attributes;
  block_signals(&before);
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  for (intptr_t thread = pool.started + 1; thread <= workers; ++thread) {
    if (pthread_create(&pool.workers[thread], &attributes, work, (void *)thread) != 0)
      break;
    pool.started = thread;
  }
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void open_loop(xtc_loop *loop, void *context, int64_t count, int64_t chunks) {
  pool.loop = loop;
  pool.context = context;
  pool.count = count;
  pool.chunks = chunks;
  ++pool.number;
  int64_t wanted = chunks - 1 < pool.started ? chunks - 1 : pool.started;
  pthread_mutex_lock(&pool.lock);
  pool.wanted = wanted;
  pthread_mutex_unlock(&pool.lock);
  for (int64_t i = 0; i < wanted; ++i)
    pthread_cond_signal(&pool.work);
}

// Every chunk was begun; wait for those that are not done yet.
static void close_loop(void) {
  pthread_mutex_lock(&pool.lock);
  pool.wanted = 0;
  pthread_mutex_unlock(&pool.lock);
  spin_until(&pool.active, true, CALLER_SPIN_NS);
  pthread_mutex_lock(&pool.lock);
  while (pool.active > 0)
    pthread_cond_wait(&pool.done, &pool.lock);
  pthread_mutex_unlock(&pool.lock);
}

void xtc_parallel_run(xtc_loop *loop, void *context, int64_t count, int64_t threads) {
  int64_t chunks = threads < count ? threads : count;
  if (chunks > MAX_CHUNKS)
    chunks = MAX_CHUNKS;
  if (chunks <= 1 || pthread_mutex_trylock(&pool.owner) != 0) {
    loop(context, 0, count);
    return;
  }
  if (pool.started < chunks - 1)
    start_workers(chunks - 1);
  open_loop(loop, context, count, chunks);
  run_chunks(0);
  close_loop();
  pthread_mutex_unlock(&pool.owner);
}

void xtc_parallel_stop(void) {
  pthread_mutex_lock(&pool.owner);
  pthread_mutex_lock(&pool.lock);
  pool.stopping = true;
  pthread_cond_broadcast(&pool.work);
  pthread_mutex_unlock(&pool.lock);
  for (; pool.started > 0; --pool.started)
    pthread_join(pool.workers[pool.started], NULL);
  pool.stopping = false;
  pthread_mutex_unlock(&pool.owner);
}
