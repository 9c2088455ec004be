// SPDX-License-Identifier: Apache-2.0
// The report of a run as JSON: launches, transfers, source lines, and a timeline. It is written
// when the process ends, to the file that the environment names.
#define _GNU_SOURCE
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib.h"
#include "timing.h"

typedef struct {
    char *text;
    size_t used, capacity;
} list;

static list launches, transfers, events, lines;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

const char *lib_setting(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static bool is_wanted(void)
{
    return lib_setting("XTC_UPMEM_REPORT") != NULL;
}

static void add(list *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(list *to, const char *format, ...)
{
    char *text;
    va_list arguments;
    va_start(arguments, format);
    int nbytes = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (nbytes < 0)
        return;
    pthread_mutex_lock(&lock);
    size_t needed = to->used + (size_t)nbytes + sizeof ",\n  ";
    if (needed > to->capacity) {
        char *larger = realloc(to->text, needed * 2);
        if (larger) {
            to->text = larger;
            to->capacity = needed * 2;
        }
    }
    if (needed <= to->capacity)
        to->used += (size_t)sprintf(to->text + to->used, "%s\n  %s", to->used ? "," : "", text);
    pthread_mutex_unlock(&lock);
    free(text);
}

// The text of a JSON string; to be freed by the caller.
static char *quoted(const char *text)
{
    char *out = malloc(6 * strlen(text) + 3), *at = out;
    if (!out)
        return NULL;
    *at++ = '"';
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            at += sprintf(at, "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            at += sprintf(at, "\\u%04x", (unsigned char)*text);
        else
            *at++ = *text;
    }
    strcpy(at, "\"");
    return out;
}

// Adds the counts of the rank's DPUs in the launch.
static void count(lib_launch *launch, const struct dpu_rank_t *rank)
{
    dpu_counts *all = &launch->counts;
    for (uint32_t i = 0; i < rank->dpus; i++) {
        const upmem_dpu *state = &rank->machine->block->dpu[rank->dpu[i].number];
        if (!state->launched)
            continue;
        launch->dpus++;
        if (state->counts.cycles > all->cycles)
            all->cycles = state->counts.cycles;
        all->instructions += state->counts.instructions;
        all->dma_reads += state->counts.dma_reads;
        all->dma_writes += state->counts.dma_writes;
        all->dma_read_bytes += state->counts.dma_read_bytes;
        all->dma_write_bytes += state->counts.dma_write_bytes;
        all->dma_cycles += state->counts.dma_cycles;
        all->misaligned += state->counts.misaligned;
        all->empty += state->counts.empty;
    }
}

static const struct dpu_program_t *program_of(const struct dpu_rank_t *rank)
{
    for (uint32_t i = 0; i < rank->dpus; i++)
        if (rank->machine->block->dpu[rank->dpu[i].number].launched)
            return rank->dpu[i].program;
    return NULL;
}

// Warns once per kind about transfers that the machine executes differently than written.
static void warn(const dpu_counts *counts)
{
    static bool misaligned, empty;
    if (counts->misaligned && !misaligned)
        fprintf(stderr, "xtc upmem: warning: %llu DMA transfers at addresses that are not "
                "multiples of 8, whose low bits the machine ignores\n",
                (unsigned long long)counts->misaligned);
    if (counts->empty && !empty)
        fprintf(stderr, "xtc upmem: warning: %llu DMA transfers of 0 bytes, for which the machine "
                "moves 2048\n", (unsigned long long)counts->empty);
    misaligned = misaligned || counts->misaligned;
    empty = empty || counts->empty;
}

static void report(const lib_machine *machine, const lib_launch *launch,
                   const struct dpu_program_t *program)
{
    const dpu_counts *all = &launch->counts;
    double seconds = cost_LAUNCH + (double)all->cycles / machine->block->profile.frequency;
    char *name = quoted(program->name);
    add(&launches,
        "{\"program\": %s, \"set\": %u, \"dpus\": %u, \"tasklets\": %u, "
        "\"instructions\": %llu, \"modelled_cycles\": %llu, \"modelled_seconds\": %.9g, "
        "\"dma_reads\": %llu, \"dma_read_bytes\": %llu, \"dma_writes\": %llu, "
        "\"dma_write_bytes\": %llu, \"modelled_dma_cycles\": %llu, "
        "\"modelled_begin\": %.9g, \"modelled_end\": %.9g}",
        name ? name : "\"\"", machine->id, launch->dpus, program->tasklets,
        (unsigned long long)all->instructions, (unsigned long long)all->cycles, seconds,
        (unsigned long long)all->dma_reads, (unsigned long long)all->dma_read_bytes,
        (unsigned long long)all->dma_writes, (unsigned long long)all->dma_write_bytes,
        (unsigned long long)all->dma_cycles, launch->begun, launch->ended);
    free(name);
}

void lib_report_launch(lib_machine *machine, struct dpu_rank_t *rank)
{
    lib_launch *launch = rank->launch;
    const struct dpu_program_t *program = program_of(rank);
    rank->launch = NULL;
    if (!launch)
        return;
    launch->begun = launch->dpus ? fmin(launch->begun, rank->begun) : rank->begun;
    launch->ended = fmax(launch->ended, rank->free);
    count(launch, rank);
    if (program)
        lib_report_event(machine, rank->number, program->name, rank->begun, rank->free);
    if (--launch->ranks)
        return;
    warn(&launch->counts);
    machine->cycles += launch->counts.cycles;
    machine->instructions += launch->counts.instructions;
    if (is_wanted() && program)
        report(machine, launch, program);
    free(launch);
}

void lib_report_transfer(const lib_job *job, bool to_device, uint64_t nbytes, double seconds)
{
    if (is_wanted())
        add(&transfers,
            "{\"to_device\": %s, \"bytes\": %llu, \"dpus\": %u, \"parallel\": %s, "
            "\"modelled_seconds\": %.9g}",
            to_device ? "true" : "false", (unsigned long long)nbytes, job->count,
            job->parallel ? "true" : "false", seconds);
}

void lib_report_event(const lib_machine *machine, uint32_t rank, const char *name, double begin,
                      double end)
{
    if (!is_wanted())
        return;
    char *text = quoted(name);
    add(&events, "{\"set\": %u, \"rank\": %u, \"name\": %s, \"begin\": %.9g, \"end\": %.9g}",
        machine->id, rank, text ? text : "\"\"", begin, end);
    free(text);
}

void lib_report_lines(lib_machine *machine, const struct dpu_program_t *program)
{
    upmem_section text;
    if (!is_wanted() || !machine->block->profiles || !program->handle ||
        !upmem_elf_find_section(&program->elf, ".text", &text) ||
        lib_request(machine, UPMEM_PROFILE, program->handle) != DPU_OK)
        return;
    const upmem_count *counts = upmem_scratch(machine->block);
    char *name = quoted(program->name);
    for (uint32_t i = 0; name && i < text.nbytes / 4; i++) {
        char *file = counts[i].issued ? quoted(counts[i].file) : NULL;
        if (file)
            add(&lines, "{\"program\": %s, \"instruction\": %u, \"file\": %s, \"line\": %u, "
                "\"issued\": %llu, \"modelled_stall_cycles\": %llu}", name, i, file,
                counts[i].line, (unsigned long long)counts[i].issued,
                (unsigned long long)counts[i].stalled);
        free(file);
    }
    free(name);
}

void lib_totals(struct dpu_set_t set, uint64_t *cycles, uint64_t *instructions,
                uint64_t *nanoseconds);

void lib_totals(struct dpu_set_t set, uint64_t *cycles, uint64_t *instructions,
                uint64_t *nanoseconds)
{
    const lib_machine *machine = lib_machine_of(set);
    *cycles = machine->cycles;
    *instructions = machine->instructions;
    *nanoseconds = (uint64_t)(machine->seconds * 1e9);
}

void lib_end(struct dpu_set_t set);

// For interrupts: ends the simulator if a job is in flight, which then fails.
void lib_end(struct dpu_set_t set)
{
    lib_machine *machine = lib_machine_of(set);
    pthread_mutex_lock(&machine->lock);
    if (machine->busy)
        sim_host_stop(&machine->sim);
    pthread_mutex_unlock(&machine->lock);
}

static void write_list(FILE *file, const char *name, const list *from, const char *after)
{
    fprintf(file, "\"%s\": [%s]%s\n", name, from->used ? from->text : "", after);
}

__attribute__((destructor)) static void write_report(void)
{
    const char *path = lib_setting("XTC_UPMEM_REPORT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    fprintf(file, "{");
    write_list(file, "launches", &launches, ",");
    write_list(file, "transfers", &transfers, ",");
    write_list(file, "events", &events, ",");
    write_list(file, "lines", &lines, "}");
    fclose(file);
}
