/* SPDX-License-Identifier: Apache-2.0 */
#include "common.h"
#include "running_sums_host.h"

int main(int argc, char **argv)
{
    return running_sums(argc, argv, "scan", SCAN, ADD);
}
