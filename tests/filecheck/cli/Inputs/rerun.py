# SPDX-License-Identifier: Apache-2.0
"""Runs the command that an error message gives to reproduce it: rerun.py FILE_WITH_THE_MESSAGE."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

hint = re.search(r"reproduce with: (xtc-opt .*)", Path(sys.argv[1]).read_text())
command = shlex.split(hint[1])[1:]
sys.exit(subprocess.run([sys.executable, "-m", "xtc.cli.opt", *command]).returncode)
