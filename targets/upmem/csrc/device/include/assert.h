/* SPDX-License-Identifier: Apache-2.0 */
#include <xtc_services.h>

#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition)                                                                          \
    ((condition) ? (void)0 : (void)XTC_SERVICE(XTC_FAULT, XTC_FAULT_ASSERT, 0, 0))
#endif

#ifndef static_assert
#define static_assert _Static_assert
#endif
