/* SPDX-License-Identifier: Apache-2.0 */
/* Modelled time and energy of DPUs between two calls. */
#ifndef DPU_PROBE_H
#define DPU_PROBE_H

#include <dpu.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef enum _dpu_probe_value_t {
    DPU_TIME,   /* seconds */
    DPU_ENERGY, /* joules */
} dpu_probe_value_t;

typedef enum _dpu_probe_operation_t {
    DPU_AVERAGE, /* per measurement */
    DPU_ACCUMULATE,
} dpu_probe_operation_t;

struct dpu_probe_t {
    double begin, seconds, joules;
    uint32_t count;
    bool runs;
};

typedef struct dpu_probe_t dpu_probe_t;

dpu_error_t dpu_probe_init(const char *name, struct dpu_probe_t *probe);
dpu_error_t dpu_probe_deinit(struct dpu_probe_t *probe);
/* DPU_ERR_INTERNAL if the probe is already started, or, to stop, if it is not. */
dpu_error_t dpu_probe_start(struct dpu_probe_t *probe);
dpu_error_t dpu_probe_stop(struct dpu_probe_t *probe);
/* DPU_ERR_INTERNAL for an average without measurements. */
dpu_error_t dpu_probe_get(struct dpu_probe_t *probe, dpu_probe_value_t value,
                          dpu_probe_operation_t operation, double *result);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
