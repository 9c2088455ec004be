/* SPDX-License-Identifier: Apache-2.0 */
#include <attributes.h>
#include <defs.h>
