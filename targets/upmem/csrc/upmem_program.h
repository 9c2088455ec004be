// SPDX-License-Identifier: Apache-2.0
// Programs in the simulator's process.
#ifndef UPMEM_PROGRAM_H
#define UPMEM_PROGRAM_H

#include "iss.h"
#include "sim_image.h"
#include "upmem_elf.h"
#include "upmem_lines.h"

typedef struct upmem_program {
    dpu_program code;
    upmem_elf elf;
    upmem_line *lines; // NULL until first used
    struct upmem_program *next;
} upmem_program;

extern const sim_loader upmem_loader;

upmem_program *upmem_program_of(uint64_t handle); // NULL if it is not loaded
// Writes the initial values of the program's variables.
void upmem_program_write(const upmem_program *program, const dpu_profile *profile, dpu *dpu);
// The source location of an instruction; the file is NULL if unknown.
upmem_line upmem_program_line(upmem_program *program, uint32_t pc);

#endif
