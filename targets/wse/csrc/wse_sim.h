// SPDX-License-Identifier: Apache-2.0
// The state of the simulator. One PE's code runs at a time; time is counted in modelled cycles.
#ifndef WSE_SIM_H
#define WSE_SIM_H

#include "sim_fiber.h"
#include "wse_block.h"
#include "wse_code.h"

enum { WSE_EAST, WSE_WEST, WSE_NORTH, WSE_SOUTH, WSE_RAMP, WSE_DIRECTIONS };

#define WSE_COLORS 24
#define WSE_QUEUES 8
#define WSE_TASKS 64
// Control tasks of separate tables follow the function that the host called.
#define WSE_CONTROLS (WSE_TASKS + 1)
#define WSE_ALL_TASKS (WSE_CONTROLS + WSE_TASKS)
#define WSE_TEARDOWN_TASK 29
#define WSE_GENERATORS 4 // of random numbers (assumed)
#define WSE_NEVER UINT64_MAX
#define WSE_NONE 0xffffffffu
#define WSE_DEEPEST 16 // capacity of a queue in wavelets

typedef struct {
    uint32_t data;
    uint8_t color, control, advances; // advances: the switch at the entry to the fabric
    uint64_t ready; // the first cycle in which it can move
} wse_wavelet;

typedef struct {
    uint32_t first, count, depth;
    wse_wavelet ring[WSE_DEEPEST];
} wse_queue;

typedef struct {
    uint32_t kind; // 0: none, 1: counter, 2: range, 3: sparse counter
    uint32_t numbers[6];
    uint32_t counter;
} wse_filter;

// The state of a color at one router.
typedef struct {
    uint8_t count, current, ring, pop, teardown, is_set;
    uint8_t swap;       // bits: wavelets along x, along y
    uint8_t is_dynamic; // set by the program while it runs
    uint8_t rx[4], tx[4];
    uint8_t inputs; // bits: positions that replace the rx of the previous one
    wse_filter filter;
    uint64_t moved; // the cycle in which it last moved a wavelet
    uint8_t arrived_from;
    uint64_t arrived; // the cycle in which the last wavelet arrived
} wse_route;

typedef struct {
    uint32_t id, kind, entry; // kinds: local, data, control
    const char *name;
} wse_task;

typedef struct {
    uint32_t base, nbytes, element;
    uint32_t on_push, on_pop; // task ids or WSE_NONE
} wse_fifo_shape;

typedef struct {
    uint32_t address, indirect, present, entry;
} wse_symbol;

typedef struct {
    const char *name;
    uint32_t memory_end, host_in, host_out;
    uint32_t segments;
    const uint32_t *initial; // segments: address, bytes, data
    uint32_t value_count;    // number of values that differ per PE
    const uint32_t *values;  // address, bytes
    wse_task tasks[WSE_ALL_TASKS];
    uint64_t bound, blocked, unblocked, activated, data_tasks; // bits by task id
    uint64_t controls; // bits of bound control tasks, if these have separate tables
    bool own_tables;
    uint32_t table[WSE_QUEUES];    // start of each input queue's table of control tasks
    uint32_t rotation[WSE_QUEUES]; // starts of its data task before that of the other, or WSE_NONE
    uint32_t blocked_threads, unblocked_threads;              // bits by microthread
    int8_t input_color[WSE_QUEUES], output_color[WSE_QUEUES]; // -1: none
    uint8_t input_set, output_set;                            // bits: initialized
    wse_route *routes; // WSE_COLORS
    uint32_t fifo_count;
    wse_fifo_shape *fifos;
    uint32_t teardown[WSE_COLORS], empty[2 * WSE_QUEUES]; // entries or WSE_NONE
    wse_symbol *symbols;
    uint32_t text_count;
    const char **texts;
} wse_class;

enum wse_stream_kind {
    WSE_S_NONE, WSE_S_MEMORY, WSE_S_SCALAR, WSE_S_IN, WSE_S_OUT, WSE_S_FIFO
};

// One operand of an operation in progress.
typedef struct {
    uint8_t kind, rank, size, control, indexed, advances, last;
    uint8_t transforms, pairs, zeroes; // zeroes: the source that is cleared, 1 or 2
    uint8_t waiting; // for pairs: whether `half` holds a half
    uint16_t half;
    uint8_t queue, color; // of a router or a core
    uint16_t address, index;
    uint16_t extents[4], at[4];
    int16_t strides[4];
    uint32_t scalar, length, fifo;
    int32_t dsr; // the register in which the address is saved, or -1
} wse_stream;

typedef struct {
    bool busy, is_async, is_cut; // cut: ended early by a full or empty FIFO
    uint8_t ut;
    uint32_t operation, sources, done, length, line;
    uint64_t start;
    wse_stream to, from[3], cleared; // cleared: memory to set to 0 at the end
    wse_options options;
} wse_operation_state;

typedef struct {
    uint32_t read, used;                 // bytes
    uint32_t wanted_data, wanted_room;   // bytes that an operation waits for, or 0
    uint32_t read_length, write_length;  // of operations, elements; 0: no limit
} wse_fifo;

typedef struct {
    wse_dsd dsd;
    wse_options options;
    bool loaded;
} wse_dsr;

// Wavelets between the host and one PE.
typedef struct wse_stream_buffer {
    uint32_t color, count, capacity, first;
    uint32_t *data;
    struct wse_stream_buffer *next;
} wse_stream_buffer;

enum wse_core_state { WSE_IDLE, WSE_SLEEPING, WSE_WAITING };

typedef struct wse_pe {
    wse_head head; // the part that code accesses; the first member
    uint32_t number, x, y;
    const wse_class *class;
    uint8_t state;
    uint32_t running; // task id; WSE_TASKS for a function that the host called; or WSE_NONE
    uint32_t rotated[WSE_QUEUES]; // starts of data tasks since the other task's
    wse_entry *entry;
    uint64_t words[8];
    sim_fiber fiber;
    uint64_t active, blocked, quiet; // quiet: inputs whose wavelets start no tasks
    uint64_t core_at, router_at; // bits of the next cycles in which each is processed
    wse_queue *in[WSE_COLORS], *out[WSE_QUEUES];
    wse_queue *port[4][WSE_COLORS];
    uint32_t pending[WSE_DIRECTIONS]; // bits of colors, or of queues for the ramp
    uint64_t link_used[WSE_DIRECTIONS];
    wse_route *route; // WSE_COLORS
    uint32_t teardowns; // colors whose handler must run
    uint32_t flushed;   // queues whose handler must run once they are empty: output, then input
    uint32_t blocked_threads;
    wse_operation_state main, threads[WSE_QUEUES + 1];
    wse_dsr *dsrs; // 48
    wse_fifo *fifos;
    wse_stream_buffer *feeds, *sinks;
    bool called, unblocked; // by the host
    const uint64_t *call_words;
    uint32_t call_entry;
    uint32_t turn;
    int8_t input_color[WSE_QUEUES], output_color[WSE_QUEUES];
    uint64_t tsc_origin, tsc_stopped;
    bool tsc_runs;
    uint64_t drained; // time at which the results of all operations are complete
    char *line;       // the line being printed
    uint32_t random[WSE_GENERATORS], generator; // states, and the active one; 0: not used yet
    uint64_t urgent; // tasks with high priority
    uint32_t next_task; // the next one in round-robin order
} wse_pe;

typedef struct {
    uint32_t arch, width, height, hop, ramp, link_buffer, by_queue, microthreads;
    uint32_t input_depth[WSE_QUEUES], output_depth[WSE_QUEUES], input_count, output_count;
    uint32_t offset_x, offset_y;
    uint32_t symbol_count;
    const char **symbols;
    wse_class *classes;
    uint32_t class_count;
    wse_entry *const *entries;
    wse_pe *pes;
    uint64_t now;
} wse_machine;

extern wse_machine wse;
extern wse_shared_block *wse_shared;
extern wse_pe *wse_here; // the PE whose code runs, or NULL
extern wse_pe *wse_about; // the PE that a fault refers to

// wse_image.c
void wse_load(wse_program *program);

// wse_memory.c: windows and stacks of all PEs.
void wse_memory_map(uint32_t count);
uint8_t *wse_memory_window(uint32_t number);
char *wse_memory_stack(uint32_t number, uint64_t *nbytes);

// wse_time.c: the event queue.
void wse_core_at(wse_pe *pe, uint64_t time);
void wse_router_at(wse_pe *pe, uint64_t time);
void wse_run(void); // runs until no event is left

// wse_router.c
void wse_router_step(wse_pe *pe);
void wse_router_changed(wse_pe *pe); // the routes or switches of a PE changed
wse_pe *wse_neighbor(const wse_pe *pe, uint32_t direction);
// The color at this router of a wavelet that arrives from a direction or from the core.
uint32_t wse_swapped_color(const wse_pe *pe, uint32_t color, uint32_t from);

// wse_queue.c
wse_queue *wse_queue_new(uint32_t depth);
static inline bool wse_queue_is_full(const wse_queue *queue)
{
    return queue->count >= queue->depth;
}
static inline wse_wavelet *wse_queue_front(wse_queue *queue)
{
    return &queue->ring[queue->first];
}
void wse_queue_push(wse_queue *queue, wse_wavelet wavelet);
wse_wavelet wse_queue_pop(wse_queue *queue);
// The input queue of a color, or NULL if none is bound to it.
wse_queue *wse_input_of(wse_pe *pe, uint32_t color);
int wse_input_number(const wse_pe *pe, uint32_t color);
// Records that the front wavelet of an input was consumed.
wse_wavelet wse_input_take(wse_pe *pe, uint32_t number);
wse_queue *wse_output(wse_pe *pe, uint32_t queue);

// wse_core.c
void wse_core_step(wse_pe *pe);
void wse_sync(wse_pe *pe); // lets the fabric catch up with the running code
void wse_wait(wse_pe *pe); // suspends the code until its operation is done
// The operation that reads an input, or NULL.
const wse_operation_state *wse_reader(const wse_pe *pe, uint32_t input);
void wse_task_activate(wse_pe *pe, uint32_t id);
void wse_task_unblock(wse_pe *pe, uint32_t id);

// wse_operation.c
uint64_t wse_cycles_of(const wse_operation_state *operation);
void wse_operation_advance(wse_pe *pe, wse_operation_state *operation);

// wse_element.c: one element's bits.
typedef uint32_t wse_function(uint32_t first, uint32_t second, uint32_t third);
extern wse_function *const wse_functions[WSE_OPERATIONS];
uint32_t wse_size_to(uint32_t operation), wse_size_from(uint32_t operation, uint32_t source);

// wse_stream.c
void wse_stream_make(wse_pe *pe, wse_stream *stream, const wse_operand *operand, uint32_t size,
                     wse_options *options);
bool wse_stream_can_read(wse_pe *pe, const wse_stream *stream);
uint32_t wse_stream_read(wse_pe *pe, wse_stream *stream);
bool wse_stream_can_write(wse_pe *pe, const wse_stream *stream);
// Records that an operation found a FIFO empty or full; returns false if it is neither.
bool wse_fifo_stops(wse_pe *pe, const wse_stream *stream, bool reads);
void wse_stream_write(wse_pe *pe, wse_stream *stream, uint32_t bits);
void wse_stream_end(wse_pe *pe, const wse_stream *stream);
static inline bool wse_stream_is_fabric(const wse_stream *stream)
{
    return stream->kind >= WSE_S_IN;
}

// wse_command.c
void wse_command(const char *name, const uint64_t *arguments, uint32_t count);
void wse_host_feed(wse_pe *pe);
void wse_host_sink(wse_pe *pe, wse_wavelet wavelet);

// wse_register.c: the switch of a color as a word of the machine, and its initial routes.
uint16_t wse_switch_word(const wse_route *route);
void wse_switch_set(wse_route *route, uint16_t word);
void wse_routes_set(wse_route *route, uint32_t rx, uint32_t tx);

// wse_report.c
_Noreturn void wse_report_stall(const char *command);
extern const char *const wse_direction_names[WSE_DIRECTIONS];

// wse_trace.c
void wse_trace_open(const char *path);
void wse_trace_rows(uint32_t height);
void wse_trace_task(const wse_pe *pe, const char *name, uint64_t begin, uint64_t end);
void wse_trace_wavelet(const wse_pe *pe, uint32_t to, const wse_wavelet *wavelet);
void wse_trace_flush(void);
// wse_library.c: lines that programs print.
void wse_print_open(const char *path);

#endif
