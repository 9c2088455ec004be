// SPDX-License-Identifier: Apache-2.0
#include "driver_image.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "xtc_driver.h"
#include "xtc_error.h"

static const char magic[8] = "XTCDPU01";

typedef struct {
    const uint8_t *at, *end;
} reader;

static bool take(reader *in, void *to, uint64_t nbytes)
{
    if ((uint64_t)(in->end - in->at) < nbytes)
        return false;
    memcpy(to, in->at, nbytes);
    in->at += nbytes;
    return true;
}

static bool read_kernel(reader *in, image_kernel *kernel, uint32_t programs)
{
    if (!take(in, kernel->name, sizeof kernel->name) || !take(in, &kernel->program, 4) ||
        !take(in, &kernel->index, 4) || !take(in, &kernel->count, 4))
        return false;
    kernel->name[sizeof kernel->name - 1] = '\0';
    if (kernel->program >= programs || kernel->count > IMAGE_MAX_BUFFERS)
        return false;
    for (uint32_t i = 0; i < kernel->count; i++) {
        image_buffer *buffer = &kernel->buffers[i];
        if (!take(in, &buffer->each, 8) || !take(in, &buffer->nbytes, 8) ||
            !take(in, &buffer->written, 4))
            return false;
    }
    return true;
}

static bool read_all(driver_image *image)
{
    reader in = {image->bytes, image->bytes + image->nbytes};
    char found[8];
    if (!take(&in, found, 8) || memcmp(found, magic, 8) || !take(&in, &image->program_count, 4) ||
        !take(&in, &image->kernel_count, 4) || image->program_count > image->nbytes / 16 ||
        image->kernel_count > image->nbytes / 128)
        return false;
    image->programs = calloc(image->program_count + 1, sizeof *image->programs);
    image->kernels = calloc(image->kernel_count + 1, sizeof *image->kernels);
    if (!image->programs || !image->kernels)
        return false;
    for (uint32_t i = 0; i < image->program_count; i++) {
        if (!take(&in, image->programs[i], 16) || image->programs[i][0] > image->nbytes ||
            image->programs[i][1] > image->nbytes - image->programs[i][0])
            return false;
    }
    for (uint32_t i = 0; i < image->kernel_count; i++)
        if (!read_kernel(&in, &image->kernels[i], image->program_count))
            return false;
    return true;
}

int32_t driver_image_open(driver_image *image, const void *bytes, uint64_t nbytes)
{
    memset(image, 0, sizeof *image);
    image->bytes = malloc(nbytes ? nbytes : 1);
    image->nbytes = nbytes;
    if (!image->bytes)
        return xtc_fail(XTC_MEMORY, "no memory for the image");
    memcpy(image->bytes, bytes, nbytes);
    if (read_all(image))
        return XTC_OK;
    driver_image_close(image);
    return xtc_fail(XTC_IMAGE, "the image is not code for DPUs");
}

void driver_image_close(driver_image *image)
{
    free(image->bytes);
    free(image->programs);
    free(image->kernels);
}
