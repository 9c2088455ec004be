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
    upmem_line *lines; // NULL until somebody asks
    struct upmem_program *next;
} upmem_program;

extern const sim_loader upmem_loader;

upmem_program *upmem_program_of(uint64_t handle); // NULL where it is not loaded
// Write what the program's variables are at its start.
void upmem_program_write(const upmem_program *program, const dpu_profile *profile, dpu *dpu);
// Where an instruction is from: the file is NULL where that is not known.
upmem_line upmem_program_line(upmem_program *program, uint32_t pc);

#endif
