// SPDX-License-Identifier: Apache-2.0
// Internals of the host's library: sets of DPUs, their programs, jobs and modelled time.
//
// Each allocation has a simulator, a queue of jobs and a thread. A job records the modelled time at
// which the host submitted it. Its completion time depends only on that and on earlier jobs, never
// on the speed of this computer. Therefore a launched program is simulated only up to the time of
// the next job that can observe it: a parallel transfer, or a job that waits for its end.
#ifndef LIB_H
#define LIB_H

#include <pthread.h>

#include "dpu.h"
#include "sim_host.h"
#include "upmem_block.h"
#include "upmem_elf.h"

struct dpu_program_t {
    char *name; // as requested
    void *bytes;
    upmem_elf elf;
    uint64_t handle; // handle in the simulator
    uint32_t tasklets;
    struct dpu_program_t *next;
};

typedef struct {
    uint32_t ranks; // ranks that have not ended
    uint32_t dpus;
    dpu_counts counts; // the maximum of cycles, the sum of everything else
    double begun, ended; // modelled, over all ranks
} lib_launch;

struct dpu_t {
    struct dpu_rank_t *rank;
    uint32_t number; // in its allocation
    struct dpu_program_t *program;
    void *prepared;
};

struct dpu_rank_t {
    struct lib_machine *machine;
    uint32_t number, dpus; // number in its allocation; its number of DPUs
    struct dpu_t *dpu;
    double free;   // completion of the last exclusive job
    double beside; // completion of the last parallel job
    double begun;  // start of the running program
    bool running, is_async;
    lib_launch *launch; // the launch, if a program runs
};

enum lib_kind {
    LIB_LAUNCH,
    LIB_SYNC,
    LIB_COPY_TO_WRAM,
    LIB_COPY_FROM_WRAM,
    LIB_COPY_TO_MRAM,
    LIB_COPY_FROM_MRAM,
    LIB_CALLBACK,
    LIB_FIFO_PUSH,
    LIB_FIFO_FLUSH,
    LIB_LOAD,
    LIB_KINDS,
};

typedef struct {
    struct dpu_t *dpu;
    uint8_t *buffer;
} lib_target;

typedef struct lib_job lib_job;

struct lib_job {
    enum lib_kind kind;
    bool parallel, is_async;
    bool is_settling; // the host does not wait for it in modelled time
    uint64_t number; // in order of submission
    double given, done; // modelled seconds
    dpu_error_t (*run)(lib_job *job);
    struct lib_machine *machine;
    lib_target *targets;
    uint32_t count;
    uint32_t address; // of the copy
    size_t length;
    struct dpu_set_t set; // of a callback
    dpu_error_t (*callback)(struct dpu_set_t, uint32_t, void *);
    void (*release)(void *); // releases `data`, once, whatever happens to the job
    void *data;
    uint32_t flags;
    uint8_t *owned; // freed with the job
    lib_job *next;
};

typedef struct lib_machine {
    sim_host sim;
    upmem_block *block;
    bool profile_is_given;
    uint32_t count; // of DPUs
    struct dpu_t *dpus;
    uint32_t rank_count;
    struct dpu_rank_t *ranks;
    struct dpu_rank_t **rank_list;
    struct dpu_program_t *programs;

    pthread_mutex_t lock;
    pthread_cond_t changed, work;
    pthread_t thread;
    bool has_thread, busy, stopping;
    pthread_t runner;       // the thread of the job, if `busy`
    lib_job *current;       // the running job
    lib_job *first, *last;  // waiting jobs, in order
    uint64_t given, finished;
    uint32_t callbacks;     // non-blocking callbacks in flight
    dpu_error_t latched;    // the error of an asynchronous job
    bool is_dropping;       // drops jobs after a failure, later ones included
    double callback_time;   // modelled time inside a callback
    uint32_t id;
    uint64_t cycles, instructions; // of all launches
    double seconds;    // modelled seconds in which any rank was busy, up to `busy_until`
    double busy_until;
    bool is_quiet;                 // the caller reports faults itself
    char fault[UPMEM_TEXT + 64];   // the last fault and its location
} lib_machine;

// lib_set.c
lib_machine *lib_machine_of(struct dpu_set_t set); // NULL for an invalid set
uint32_t lib_dpu_count(struct dpu_set_t set);
uint32_t lib_allocated_dpus(void); // number of allocated DPUs in this process
struct dpu_t *lib_dpu_at(struct dpu_set_t set, uint32_t index);

// lib_machine.c: the simulator's process. Failures are DPU_ERR_DRIVER, with a message.
lib_machine *lib_machine_open(uint32_t dpus, const char *profile, dpu_error_t *status);
void lib_machine_close(lib_machine *machine);
uint8_t *lib_memory(const struct dpu_t *dpu, uint32_t address); // in WRAM or MRAM
dpu_error_t lib_request(lib_machine *machine, enum upmem_operation operation, uint64_t argument);
void lib_select_none(lib_machine *machine);
const dpu_profile *lib_profile(const char *name, size_t length); // NULL if there is none
bool lib_is_v1b(const lib_machine *machine);

// lib_time.c
double *lib_clock(lib_machine *machine); // the clock of the caller: the host, or a callback
double lib_host_time(void);
// Waits until all DPUs of the job's ranks have ended, which gives the job exclusive ranks. Returns
// the error of the programs.
dpu_error_t lib_take_ranks(lib_job *job);
// Records a busy period of a rank.
void lib_note_busy(lib_machine *machine, double begin, double end);
// Records the duration of a job, from the time at which its ranks were free.
void lib_spend(lib_job *job, double seconds);
// Simulates running programs up to the end of a parallel job of this duration.
dpu_error_t lib_pass_beside(lib_job *job, double seconds);
// Simulates running programs up to a time.
dpu_error_t lib_advance(lib_machine *machine, struct dpu_rank_t *rank, double time);
bool lib_rank_is_in(const lib_job *job, const struct dpu_rank_t *rank);

// lib_queue.c
lib_job *lib_new_job(lib_machine *machine, enum lib_kind kind, uint32_t targets);
// Runs a job after the earlier ones: now, or later if it is asynchronous. Takes ownership of the
// job.
dpu_error_t lib_give(lib_job *job);
dpu_error_t lib_wait_all(lib_machine *machine);
void lib_queue_open(lib_machine *machine);
void lib_queue_close(lib_machine *machine);
const char *lib_kind_name(enum lib_kind kind);
void lib_describe_jobs(const lib_machine *machine); // to stderr

// lib_program.c
dpu_error_t lib_find_symbol(struct dpu_set_t set, const char *name, struct dpu_symbol_t *symbol);
void lib_free_programs(lib_machine *machine);
void lib_close_program(struct dpu_program_t *program);

// lib_transfer.c
dpu_error_t lib_check_access(struct dpu_symbol_t symbol, uint32_t offset, size_t length);
bool lib_is_mram(uint32_t address);
dpu_error_t lib_run_copy(lib_job *job);

// lib_cost.c: modelled seconds.
double lib_transfer_seconds(bool to_device, bool broadcast, bool mram, uint32_t dpus,
                            uint64_t nbytes);
double lib_parallel_seconds(uint64_t nbytes);

// lib_report.c
void lib_report_launch(lib_machine *machine, struct dpu_rank_t *rank);
void lib_report_transfer(const lib_job *job, bool to_device, uint64_t nbytes, double seconds);
void lib_report_event(const lib_machine *machine, uint32_t rank, const char *name, double begin,
                      double end);
void lib_report_lines(lib_machine *machine, const struct dpu_program_t *program);
const char *lib_setting(const char *name); // an environment variable; NULL if it is not set

#endif
