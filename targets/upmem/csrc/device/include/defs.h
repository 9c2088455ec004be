/* SPDX-License-Identifier: Apache-2.0 */
/* The number of the running tasklet, and ways to stop it. */
#ifndef DPU_DEFS_H
#define DPU_DEFS_H

#include <attributes.h>
#include <dpuconst.h>
#include <xtc_services.h>

typedef unsigned int sysname_t;
typedef unsigned int thread_id_t;

XTC_INLINE __attribute__((const)) sysname_t me(void)
{
    sysname_t number;
    __asm__("mv %0, tp" : "=r"(number));
    return number;
}

/* Ends the whole program with a fault. */
XTC_INLINE __attribute__((noreturn)) void halt(void)
{
    XTC_SERVICE(XTC_FAULT, XTC_FAULT_HALT, 0, 0);
    __builtin_unreachable();
}

/* Bytes of the tasklet's stack that are not in use. */
unsigned int check_stack(void);

#endif
