/* SPDX-License-Identifier: Apache-2.0 */
/* Synchronization of two tasklets. */
#ifndef DPU_HANDSHAKE_H
#define DPU_HANDSHAKE_H

#include <attributes.h>
#include <defs.h>

/* Wait until some tasklet has waited for this one. */
XTC_INLINE void handshake_notify(void)
{
    XTC_SERVICE(XTC_NOTIFY, 0, 0, 0);
}

/* Wait for a tasklet's notification; returns 0. */
XTC_INLINE int handshake_wait_for(sysname_t notifier)
{
    return (int)XTC_SERVICE(XTC_WAIT_FOR, notifier, 0, 0);
}

#endif
