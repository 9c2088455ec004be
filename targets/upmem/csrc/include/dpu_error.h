/* SPDX-License-Identifier: Apache-2.0 */
/* The status codes of calls. */
#ifndef DPU_ERROR_H
#define DPU_ERROR_H

#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* In the order of the SDK's documentation, version 2025.1; the last is specific to this library. */
#define XTC_DPU_ERRORS(X)                                                                          \
    X(OK, "success")                                                                               \
    X(ERR_INTERNAL, "internal error")                                                              \
    X(ERR_SYSTEM, "system error")                                                                  \
    X(ERR_DRIVER, "driver error: the simulator's process is gone")                                 \
    X(ERR_ALLOCATION, "DPUs cannot be allocated")                                                  \
    X(ERR_INVALID_DPU_SET, "invalid operation for this set of DPUs")                               \
    X(ERR_INVALID_THREAD_ID, "invalid tasklet")                                                    \
    X(ERR_INVALID_NOTIFY_ID, "invalid notify bit")                                                 \
    X(ERR_INVALID_WRAM_ACCESS, "invalid WRAM access: size or alignment")                           \
    X(ERR_INVALID_IRAM_ACCESS, "invalid IRAM access: size or alignment")                           \
    X(ERR_INVALID_MRAM_ACCESS, "invalid MRAM access: size or alignment")                           \
    X(ERR_INVALID_SYMBOL_ACCESS, "access outside of the symbol")                                   \
    X(ERR_MRAM_BUSY, "MRAM belongs to the DPU while it runs")                                      \
    X(ERR_TRANSFER_ALREADY_SET, "the transfer of this DPU is already prepared")                    \
    X(ERR_INVALID_PARALLEL_MEMORY_TRANSFER,                                                        \
      "a parallel transfer needs a symbol in WRAM and a chip of version v1B")                      \
    X(ERR_WRAM_FIFO_FULL, "the FIFO is full, and stayed so")                                       \
    X(ERR_NO_PROGRAM_LOADED, "no program is loaded")                                               \
    X(ERR_DIFFERENT_DPU_PROGRAMS, "the DPUs have different programs")                              \
    X(ERR_CORRUPTED_MEMORY, "corrupted memory")                                                    \
    X(ERR_DPU_DISABLED, "the DPU is disabled")                                                     \
    X(ERR_DPU_ALREADY_RUNNING, "the DPU already runs")                                             \
    X(ERR_INVALID_MEMORY_TRANSFER, "invalid transfer")                                             \
    X(ERR_INVALID_LAUNCH_POLICY, "invalid launch policy")                                          \
    X(ERR_DPU_FAULT, "a DPU is at fault")                                                          \
    X(ERR_ELF_INVALID_FILE, "invalid ELF file")                                                    \
    X(ERR_ELF_NO_SUCH_FILE, "no such ELF file")                                                    \
    X(ERR_ELF_NO_SUCH_SECTION, "no such ELF section")                                              \
    X(ERR_TIMEOUT, "timeout")                                                                      \
    X(ERR_INVALID_PROFILE, "invalid profile")                                                      \
    X(ERR_UNKNOWN_SYMBOL, "unknown symbol")                                                        \
    X(ERR_LOG_FORMAT, "invalid format of the log")                                                 \
    X(ERR_LOG_CONTEXT_MISSING, "the program has no log")                                           \
    X(ERR_LOG_BUFFER_TOO_SMALL, "the buffer of the log is too small")                              \
    X(ERR_VPD_INVALID_FILE, "invalid VPD file")                                                    \
    X(ERR_VPD_NO_REPAIR, "no repairs")                                                             \
    X(ERR_NO_THREAD_PER_RANK, "no thread for operations on ranks")                                 \
    X(ERR_INVALID_BUFFER_SIZE, "invalid size of a buffer")                                         \
    X(ERR_NONBLOCKING_SYNC_CALLBACK, "a synchronous callback cannot be non-blocking")              \
    X(ERR_TOO_MANY_TASKLETS, "the program has more tasklets than the machine")                     \
    X(ERR_SG_TOO_MANY_BLOCKS, "too many blocks")                                                   \
    X(ERR_SG_LENGTH_MISMATCH, "the blocks do not have the transfer's length")                      \
    X(ERR_SG_NOT_ACTIVATED, "scatter and gather are not activated")                                \
    X(ERR_SG_NOT_MRAM_SYMBOL, "scatter and gather need a symbol in MRAM")                          \
    X(ERR_INVALID_WRAM_FIFO, "no FIFO of this direction, or no chip of version v1B")

typedef enum dpu_error_t {
#define XTC_DPU_ERROR(name, text) DPU_##name,
    XTC_DPU_ERRORS(XTC_DPU_ERROR)
#undef XTC_DPU_ERROR
    /* For an asynchronous job: the kind is in bits 16 to 30, the error in the lowest 16. */
    DPU_ERR_ASYNC_JOBS = (int)(1u << 31),
} dpu_error_t;

#define DPU_ERROR_ASYNC_JOB_TYPE_SHIFT (16)

/* To be freed by the caller. */
char *dpu_error_to_string(dpu_error_t status);

/* If a call fails, prints the error and its location, and executes `on_error`. */
#define DPU_CHECK(statement, on_error)                                                             \
    do {                                                                                           \
        dpu_error_t xtc_status = (statement);                                                      \
        if (xtc_status != DPU_OK) {                                                                \
            char *xtc_text = dpu_error_to_string(xtc_status);                                      \
            fprintf(stderr, "%s:%d: DPU error: %s\n", __FILE__, __LINE__, xtc_text);               \
            free(xtc_text);                                                                        \
            on_error;                                                                              \
        }                                                                                          \
    } while (0)

/* The same, and ends the process. */
#define DPU_ASSERT(statement) DPU_CHECK(statement, exit(EXIT_FAILURE))

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
