/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DPU_CTYPE_H
#define DPU_CTYPE_H

#include <attributes.h>

XTC_INLINE int isdigit(int c) { return c >= '0' && c <= '9'; }
XTC_INLINE int isupper(int c) { return c >= 'A' && c <= 'Z'; }
XTC_INLINE int islower(int c) { return c >= 'a' && c <= 'z'; }
XTC_INLINE int isalpha(int c) { return isupper(c) || islower(c); }
XTC_INLINE int isalnum(int c) { return isalpha(c) || isdigit(c); }
XTC_INLINE int isspace(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
XTC_INLINE int isprint(int c) { return c >= ' ' && c <= '~'; }
XTC_INLINE int ispunct(int c) { return isprint(c) && c != ' ' && !isalnum(c); }
XTC_INLINE int isxdigit(int c) { return isdigit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f'); }
XTC_INLINE int toupper(int c) { return islower(c) ? c - 32 : c; }
XTC_INLINE int tolower(int c) { return isupper(c) ? c + 32 : c; }

#endif
