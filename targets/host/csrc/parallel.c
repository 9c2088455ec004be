// SPDX-License-Identifier: Apache-2.0
// A pool of threads that spin for some time while they wait for the next loop, then sleep.
//
// A loop is divided into one chunk per thread, of equal length, and each chunk into pieces. A
// thread begins with the chunk of its number, so that a part of an array stays in one core's
// cache from loop to loop. It then steals pieces from the ends of the other chunks. So the caller
// waits only for pieces that are being computed, never for a thread that wakes late.
//
// Putting a thread to sleep and waking it takes longer than many loops. So threads spin for a
// while; after a short time a worker yields its core in each iteration of the spin loop. A waiting
// thread sleeps at once if other programs take its core, or if there are fewer cores than threads.
//
// The system tends to wake a thread on the core of the waker. There it could run only when the
// caller waits, after all work is done. So workers may run on all cores except the caller's.

#define _GNU_SOURCE // sched_getaffinity, sched_getcpu

#include "parallel.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

enum {
  MAX_THREADS = 1024, // with the caller
  PIECES = 4, // of a chunk
  EAGER_NS = 20000, // a spinning thread does not yield its core for this long
  TAKEN_NS = 100000, // between two checks: another program had the core
  CACHE_LINE = 64, // bytes, the unit of coherence between cores
  STACK_BYTES = 8 << 20, // the usual stack size of the caller's thread
};

static struct {
  pthread_mutex_t owner; // held by the caller whose loop is running
  pthread_t workers[MAX_THREADS]; // 1 to `started`; the caller is number 0
  int64_t started; // existing workers; accessed by the owner only
  int avoided; // the core on which workers do not run; -1 for none

  atomic_int_fast64_t spin_ns; // how long a waiting thread spins before it sleeps
  atomic_bool is_crowded; // there are fewer cores than threads
  // Workers that may still join the loop, times WANTED, plus workers inside.
  _Alignas(CACHE_LINE) atomic_uint_fast64_t state;
  atomic_bool stopping;

  _Alignas(CACHE_LINE) pthread_mutex_t lock; // for sleeping and waking
  pthread_cond_t work, done;
  atomic_int_fast64_t sleeping; // number of workers that wait for `work`
  atomic_bool caller_sleeps; // the caller waits for `done`

  // The loop: constant while a worker is inside.
  xtc_loop *loop;
  void *context;
  int64_t count, chunks;
  int64_t number; // number of loops so far

  // The buffer for recorded parts, if recording is on, and their number.
  struct xtc_parallel_part *parts;
  int64_t capacity;
  atomic_int_fast64_t recorded;

  atomic_int_fast64_t begun[MAX_THREADS * PIECES]; // the last loop in which the piece was begun
} pool = {
    .avoided = -1,
    .spin_ns = XTC_PARALLEL_SPIN_US * INT64_C(1000),
    .owner = PTHREAD_MUTEX_INITIALIZER,
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .work = PTHREAD_COND_INITIALIZER,
    .done = PTHREAD_COND_INITIALIZER,
};

#define WANTED (UINT64_C(1) << 32)

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

static bool has_work(void) {
  return atomic_load(&pool.state) >= WANTED || atomic_load(&pool.stopping);
}

static bool is_done(void) { return atomic_load(&pool.state) == 0; }

// Spin for a while, until a condition holds; `offers` makes it yield the core soon.
static void spin_until(bool (*holds)(void), bool offers) {
  int64_t spin = atomic_load(&pool.is_crowded) ? 0 : atomic_load(&pool.spin_ns);
  int64_t start = now(), before = start, time = start;
  while (!holds() && time - start < spin && time - before < TAKEN_NS) {
    if (!offers || time - start < EAGER_NS)
      pause_core();
    else
      sched_yield();
    before = time;
    time = now();
  }
}

// The first iteration of a chunk; lengths differ by one at most.
static int64_t chunk_start(int64_t chunk) {
  int64_t length = pool.count / pool.chunks, longer = pool.count % pool.chunks;
  return chunk * length + (chunk < longer ? chunk : longer);
}

static bool begin(int64_t piece) {
  return atomic_load(&pool.begun[piece]) != pool.number &&
         atomic_exchange(&pool.begun[piece], pool.number) != pool.number;
}

static bool run_piece(int64_t chunk, int64_t piece) {
  int64_t start = chunk_start(chunk), length = chunk_start(chunk + 1) - start;
  int64_t first = start + length * piece / PIECES, last = start + length * (piece + 1) / PIECES;
  bool is_ours = first < last && begin(chunk * PIECES + piece);
  if (is_ours)
    pool.loop(pool.context, first, last);
  return is_ours;
}

// Returns whether there was a piece left to compute.
static bool run_pieces(int64_t thread) {
  bool has_run = false;
  for (int64_t piece = 0; piece < PIECES; ++piece)
    has_run |= run_piece(thread % pool.chunks, piece);
  for (int64_t i = 1; i < pool.chunks; ++i)
    for (int64_t piece = PIECES; piece-- > 0;)
      has_run |= run_piece((thread + i) % pool.chunks, piece);
  return has_run;
}

// A thread's part of the loop. The clock is read twice per part, not per piece, because a loop may
// take only microseconds.
static void run_part(int64_t thread) {
  if (!pool.parts) {
    run_pieces(thread);
    return;
  }
  struct xtc_parallel_part part = {.thread = thread, .begin = now()};
  if (!run_pieces(thread))
    return;
  part.end = now();
  int64_t number = atomic_fetch_add(&pool.recorded, 1);
  if (number < pool.capacity)
    pool.parts[number] = part;
}

// Join the loop as a worker, if it takes more.
static bool enter_loop(void) {
  uint_fast64_t state = atomic_load(&pool.state);
  while (state >= WANTED)
    if (atomic_compare_exchange_weak(&pool.state, &state, state - WANTED + 1))
      return true;
  return false;
}

static void leave_loop(void) {
  if (atomic_fetch_sub(&pool.state, 1) == 1 && atomic_load(&pool.caller_sleeps)) {
    pthread_mutex_lock(&pool.lock);
    pthread_cond_signal(&pool.done);
    pthread_mutex_unlock(&pool.lock);
  }
}

// A woken thread spins again: the loop may be over, but another may follow.
static void sleep_until_woken(void) {
  pthread_mutex_lock(&pool.lock);
  atomic_fetch_add(&pool.sleeping, 1);
  if (!has_work())
    pthread_cond_wait(&pool.work, &pool.lock);
  atomic_fetch_sub(&pool.sleeping, 1);
  pthread_mutex_unlock(&pool.lock);
}

static void *work(void *thread) {
  while (!atomic_load(&pool.stopping)) {
    spin_until(has_work, true);
    if (!has_work())
      sleep_until_woken();
    if (enter_loop()) {
      run_part((intptr_t)thread);
      leave_loop();
    }
  }
  return NULL;
}

// In a child process only the forking thread exists, and locks that others held stay locked.
static void forget_workers(void) {
  pool.owner = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  pool.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  pool.work = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  pool.done = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  pool.started = 0;
  pool.avoided = -1;
  pool.state = 0;
  pool.sleeping = 0;
  pool.stopping = pool.caller_sleeps = false;
}

static void prepare_for_forks(void) { pthread_atfork(NULL, NULL, forget_workers); }

// Signals go to the program's own threads, except those that report a fault of this thread.
static void block_signals(sigset_t *before) {
  static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
  sigset_t blocked;
  sigfillset(&blocked);
  for (size_t i = 0; i < sizeof faults / sizeof *faults; ++i)
    sigdelset(&blocked, faults[i]);
  pthread_sigmask(SIG_SETMASK, &blocked, before);
}

// The cores that this process may use.
static int64_t cores(void) {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return CPU_COUNT(&set);
#endif
  return sysconf(_SC_NPROCESSORS_ONLN);
}

// Start up to `workers` workers; if the system refuses more threads, fewer do all the work.
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
    pool.avoided = -1;
  }
  pthread_attr_destroy(&attributes);
  atomic_store(&pool.is_crowded, pool.started >= cores());
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

// Keep workers off the caller's core, if enough other cores may be used.
static void avoid_callers_core(void) {
#ifdef __linux__
  int core = sched_getcpu();
  cpu_set_t set;
  if (core == pool.avoided || core < 0 || core >= CPU_SETSIZE)
    return;
  if (sched_getaffinity(0, sizeof set, &set) != 0)
    return;
  CPU_CLR(core, &set);
  if (CPU_COUNT(&set) < pool.started)
    return;
  for (int64_t thread = 1; thread <= pool.started; ++thread)
    pthread_setaffinity_np(pool.workers[thread], sizeof set, &set);
  pool.avoided = core;
#endif
}

static void wake(int64_t workers) {
  pthread_mutex_lock(&pool.lock);
  for (; workers > 0; --workers)
    pthread_cond_signal(&pool.work);
  pthread_mutex_unlock(&pool.lock);
}

static void open_loop(xtc_loop *loop, void *context, int64_t count, int64_t chunks) {
  pool.loop = loop;
  pool.context = context;
  pool.count = count;
  pool.chunks = chunks;
  ++pool.number;
  int64_t wanted = chunks - 1 < pool.started ? chunks - 1 : pool.started;
  atomic_store(&pool.state, wanted * WANTED);
  int64_t awake = pool.started - atomic_load(&pool.sleeping);
  if (awake < wanted)
    wake(wanted - awake);
}

// Every piece was begun; wait for the unfinished ones. The caller does not yield its core: another
// program could keep it for milliseconds, long after the last piece.
static void close_loop(void) {
  atomic_fetch_and(&pool.state, WANTED - 1);
  spin_until(is_done, false);
  if (is_done())
    return;
  pthread_mutex_lock(&pool.lock);
  atomic_store(&pool.caller_sleeps, true);
  while (!is_done())
    pthread_cond_wait(&pool.done, &pool.lock);
  atomic_store(&pool.caller_sleeps, false);
  pthread_mutex_unlock(&pool.lock);
}

void xtc_parallel_run(xtc_loop *loop, void *context, int64_t count, int64_t threads) {
  int64_t chunks = threads < count ? threads : count;
  if (chunks > MAX_THREADS)
    chunks = MAX_THREADS;
  if (chunks <= 1 || pthread_mutex_trylock(&pool.owner) != 0) {
    loop(context, 0, count);
    return;
  }
  if (pool.started < chunks - 1)
    start_workers(chunks - 1);
  avoid_callers_core();
  open_loop(loop, context, count, chunks);
  run_part(0);
  close_loop();
  pthread_mutex_unlock(&pool.owner);
}

void xtc_parallel_spin(int64_t microseconds) {
  atomic_store(&pool.spin_ns, microseconds * 1000);
}

int64_t xtc_parallel_record(struct xtc_parallel_part *parts, int64_t capacity) {
  pthread_mutex_lock(&pool.owner);
  int64_t recorded = atomic_exchange(&pool.recorded, 0);
  int64_t written = recorded < pool.capacity ? recorded : pool.capacity;
  pool.parts = parts;
  pool.capacity = parts ? capacity : 0;
  pthread_mutex_unlock(&pool.owner);
  return written;
}

void xtc_parallel_stop(void) {
  pthread_mutex_lock(&pool.owner);
  pthread_mutex_lock(&pool.lock);
  atomic_store(&pool.stopping, true);
  pthread_cond_broadcast(&pool.work);
  pthread_mutex_unlock(&pool.lock);
  for (; pool.started > 0; --pool.started)
    pthread_join(pool.workers[pool.started], NULL);
  pool.stopping = false;
  pthread_mutex_unlock(&pool.owner);
}
