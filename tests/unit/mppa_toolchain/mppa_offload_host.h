// SPDX-License-Identifier: Apache-2.0
// A stand-in for Kalray's offloading library, derived from its public uses. The device is this
// process. Physical addresses differ from virtual ones, so that a confusion of both is detected.
#ifndef MPPA_OFFLOAD_HOST_H
#define MPPA_OFFLOAD_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MPPA_OFFLOAD_QUEUE_RPMSG = 1, MPPA_OFFLOAD_RDMA_PCIE = 2, MPPA_OFFLOAD_IMAGE_PATH = 3 };
enum { MPPA_OFFLOAD_BOOT_MODE_DEFAULT = 4, MPPA_OFFLOAD_ALLOC_DDR = 5 };

typedef struct {
    int board_id, cluster_id, nb_sysqueue;
    char *firmware_name;
} mppa_offload_host_acc_config_t;

typedef struct {
    struct {
        int system_queue_type, queue_type, rdma_type;
    } common;
    int image_type;
    void *images;
    int boot_mode, nb_accelerators;
    mppa_offload_host_acc_config_t *accelerator_configs;
} mppa_offload_host_config_t;

typedef struct {
    int is_open;
} mppa_offload_host_context_t;
typedef struct mppa_offload_accelerator mppa_offload_accelerator_t;
typedef struct mppa_offload_sysqueue mppa_offload_sysqueue_t;

struct mppa_offload_buffer_exec_cmd {
    uint64_t virt_func_ptr, virt_arg_ptr, reserved[6];
};

int mppa_offload_create(mppa_offload_host_context_t *, mppa_offload_host_config_t *);
int mppa_offload_destroy(mppa_offload_host_context_t *);
mppa_offload_accelerator_t *mppa_offload_get_accelerator(mppa_offload_host_context_t *, int);
mppa_offload_sysqueue_t *mppa_offload_get_sysqueue(mppa_offload_accelerator_t *, int);
int mppa_offload_alloc(mppa_offload_sysqueue_t *, size_t, size_t, int, uint64_t *, uint64_t *);
int mppa_offload_free(mppa_offload_sysqueue_t *, int, uint64_t);
int mppa_offload_write(mppa_offload_accelerator_t *, const void *, uint64_t, size_t, void *);
int mppa_offload_read(mppa_offload_accelerator_t *, void *, uint64_t, size_t, void *);
int mppa_offload_acc_load(mppa_offload_accelerator_t *, void *, size_t, int, uint64_t, uint64_t,
                          uint64_t *);
int mppa_offload_acc_unload(mppa_offload_accelerator_t *, uint64_t, int);
int mppa_offload_query_symbol(mppa_offload_sysqueue_t *, uint64_t, const char *, uint64_t *);
int mppa_offload_buffer_exec(mppa_offload_sysqueue_t *, int, uint64_t, int, int, bool, bool,
                             void *);

#endif
