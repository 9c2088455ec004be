// SPDX-License-Identifier: Apache-2.0
// Probes: modelled time between two calls, and the energy of all allocated DPUs in it.
#include "dpu_probe.h"
#include "lib.h"
#include "timing.h"

dpu_error_t dpu_probe_init(const char *name, struct dpu_probe_t *probe)
{
    (void)name;
    *probe = (struct dpu_probe_t){0};
    return DPU_OK;
}

dpu_error_t dpu_probe_deinit(struct dpu_probe_t *probe)
{
    return dpu_probe_init(NULL, probe);
}

dpu_error_t dpu_probe_start(struct dpu_probe_t *probe)
{
    if (probe->runs)
        return DPU_ERR_INTERNAL;
    probe->runs = true;
    probe->begin = lib_host_time();
    return DPU_OK;
}

dpu_error_t dpu_probe_stop(struct dpu_probe_t *probe)
{
    if (!probe->runs)
        return DPU_ERR_INTERNAL;
    double seconds = lib_host_time() - probe->begin;
    probe->runs = false;
    probe->seconds += seconds;
    probe->joules += seconds * lib_allocated_dpus() * cost_POWER;
    probe->count++;
    return DPU_OK;
}

dpu_error_t dpu_probe_get(struct dpu_probe_t *probe, dpu_probe_value_t value,
                          dpu_probe_operation_t operation, double *result)
{
    if (operation == DPU_AVERAGE && probe->count == 0)
        return DPU_ERR_INTERNAL;
    double total = value == DPU_TIME ? probe->seconds : probe->joules;
    *result = operation == DPU_AVERAGE ? total / probe->count : total;
    return DPU_OK;
}
