# SPDX-License-Identifier: Apache-2.0
# RUN: rm -rf %t && mkdir %t && cp -r %S/Inputs %t && cp %s %t/Inputs/commands.py
# RUN: %python %t/Inputs/commands.py | FileCheck %s
"""Checks, measurements, and errors."""

from session import session

session(
    "xtc-run --help",
    # CHECK: usage: xtc-run
    # CHECK: Compile a graph and run it on sample data.
    # CHECK: --check
    # CHECK: --measure
    # CHECK: --repeat REPEAT
    # CHECK: --number NUMBER
    # CHECK: --min-repeat-ms MIN_REPEAT_MS
    # CHECK: --counters COUNTERS
    # CHECK: --rtol RTOL
    # CHECK: --atol ATOL
    # CHECK: --seed SEED
    #
    # Without an option, it checks; with --measure, it only measures.
    "xtc-run product.py",
    # CHECK-LABEL: $ xtc-run product.py
    # CHECK-NEXT: check C: all 32 elements agree
    "xtc-run product.py --check --seed 7 --rtol 1e-3 --atol 1e-3",
    # CHECK-NEXT: $ xtc-run product.py --check
    # CHECK-NEXT: check C: all 32 elements agree; {{.*}}rtol 0.001, atol 0.001
    "xtc-run product.py --measure --repeat 3 --number 2",
    # CHECK-NEXT: $ xtc-run product.py --measure
    # CHECK-NEXT: measure median {{.*}}3 x 2 calls{{.*}}FLOP/s
    "xtc-run product.py --measure --min-repeat-ms 1 --repeat 2 --check",
    # CHECK-NEXT: $ xtc-run product.py --measure --min-repeat-ms
    # CHECK-NEXT: check C
    # CHECK-NEXT: measure median {{.*}}2 x
    "xtc-run symbolic.py --dim N=4 -O opt_level=1 --time-passes",
    # CHECK: check Y: all 12 elements agree
    # CHECK: ms  lowered
    # CHECK: ms  code
    #
    # A wrong result: the worst element, and exit code 1.
    "xtc-run product.py --rtol 0 --atol 0",
    # CHECK:      xtc-run: error: 'C' is wrong: {{[0-9]+}} of 32 elements differ
    # CHECK-NEXT:   note: worst at
    # CHECK-NEXT:   note: tolerances: rtol
    # CHECK-NEXT: exit code 1
    "xtc-run product.py -O triple=aarch64-linux-gnu",
    # CHECK:      xtc-run: error: code for aarch64-unknown-linux-gnu cannot run in this process
    # CHECK-NEXT: exit code 1
    "xtc-run product.py --measure --repeat 0",
    # CHECK: xtc-run: error: repeat is 0
    "xtc-run product.py --rtol -1",
    # CHECK: xtc-run: error: rtol is -1
    "xtc-run product.py --measure --counters cycle",
    # CHECK:      xtc-run: error: unknown counter 'cycle'
    # CHECK:        hint: did you mean 'cycles'?
)
