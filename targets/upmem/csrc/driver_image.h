// SPDX-License-Identifier: Apache-2.0
// Reads the images of kernels that build.py writes.
#ifndef DRIVER_IMAGE_H
#define DRIVER_IMAGE_H

#include <stdint.h>

#define IMAGE_MAX_BUFFERS 32

typedef struct {
    uint64_t each;   // bytes on each DPU; 0: the whole buffer is on every DPU
    uint64_t nbytes; // total bytes
    uint32_t written; // 0: read; 1: written whole; 2: both
} image_buffer;

typedef struct {
    char name[128];
    uint32_t program, index, count; // `count` of buffers
    image_buffer buffers[IMAGE_MAX_BUFFERS];
} image_kernel;

typedef struct {
    uint8_t *bytes;
    uint64_t nbytes;
    uint32_t program_count, kernel_count;
    uint64_t (*programs)[2]; // offsets and sizes
    image_kernel *kernels;
} driver_image;

// Returns a status; the image is copied.
int32_t driver_image_open(driver_image *image, const void *bytes, uint64_t nbytes);
void driver_image_close(driver_image *image);

#endif
