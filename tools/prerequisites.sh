#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Says what a fresh machine lacks before `make venv`: sh tools/prerequisites.sh [python]
# Names every missing piece at once, with the package that has it; exits 1 when there is any.
# macOS has all of them in the command line tools: xcode-select --install

python="${1:-python3}"
compiler="${XTC_CC:-cc}"
missing=0

lacks() {
    missing=1
    printf 'missing: %s\n  Debian, Ubuntu: %s\n  Fedora: %s\n' "$1" "$2" "$3" >&2
}

check_python() {
    if ! command -v "$python" >/dev/null 2>&1; then
        lacks "Python ('$python' is not there)" 'apt install python3 python3-venv' 'dnf install python3'
        return
    fi
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
        lacks "Python 3.10 or newer ('$python' is $version; name another: make venv PYTHON=python3.12)" \
            'apt install python3 python3-venv' 'dnf install python3'
    elif ! "$python" -c 'import venv, ensurepip' >/dev/null 2>&1; then
        lacks "Python's venv module" "apt install python$version-venv" 'dnf install python3'
    fi
}

check_compiler() {
    object=$(mktemp) || exit 1
    if ! printf '#include <stdint.h>\nint64_t one(void) { return 1; }\n' |
        "$compiler" -shared -fPIC -x c -o "$object" - >/dev/null 2>&1; then
        lacks "a C compiler that works ('$compiler'; name another: XTC_CC=clang)" \
            'apt install gcc libc6-dev' 'dnf install gcc'
    fi
    rm -f "$object"
}

check_python
check_compiler
exit "$missing"
