# SPDX-License-Identifier: Apache-2.0
# REQUIRES: tool-cc
# RUN: env XTC_CC=no-such-compiler not xtc-run %s -O codegen=c 2>&1 \
# RUN:   | FileCheck %s --check-prefix=MISSING
# RUN: env XTC_CC="cc 'open" not xtc-run %s -O codegen=c 2>&1 | FileCheck %s --check-prefix=COMMAND
# RUN: not xtc-compile %s -O codegen=c -O triple=armv7-unknown-linux-gnueabihf -o %t 2>&1 \
# RUN:   | FileCheck %s --check-prefix=MACHINE
# RUN: not xtc-compile %s -O codegen=cpp -o %t 2>&1 | FileCheck %s --check-prefix=GENERATOR
# RUN: not xtc-compile %s -O codegen=c -O threads=0 -o %t 2>&1 | FileCheck %s --check-prefix=THREADS
"""The compiler is missing, is not a command, or compiles for another machine."""

import xtc.ops as O

with O.graph(name="net") as gb:
    O.relu(O.tensor((4,), name="x"), name="R")

# MISSING:      needs the program 'no-such-compiler'
# MISSING-NEXT:   hint: install a C compiler {{.*}}, or name one in XTC_CC

# COMMAND:      XTC_CC is not a command: cc 'open

# MACHINE:      the C compiler {{.*}}cc generates code for {{.*}}, not for armv7-unknown-linux-gnueabihf
# MACHINE-NEXT:   hint: XTC_CC must name a compiler for armv7-unknown-linux-gnueabihf

# GENERATOR:    option 'codegen' of target 'host' cannot be 'cpp'

# THREADS:      threads=0 is not from 1 to 1024
# THREADS-NEXT:   hint: omit it to use all cores that this process may use
