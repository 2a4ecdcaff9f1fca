"""Prepares .venv: `python scripts/venv.py [--dev]`.

Must run on any Python, 2.7 too, so that one that is too old can say so: hence no annotations and no f-strings here.
"""
# ruff: noqa: UP031, PTH123, SIM115

import os
import subprocess
import sys

NEEDED = (3, 11)
OTHERS = ("python3.13", "python3.12", "python3.11", "python3.14")

if sys.version_info >= NEEDED:
    from environment import main

    sys.exit(main())

if "PYTHON" not in os.environ:  # make passes it on only when it was given by hand
    for name in OTHERS:
        probe = [name, "-c", "import sys; sys.exit(sys.version_info < %r)" % (NEEDED,)]
        try:
            works = subprocess.call(probe, stdout=open(os.devnull, "w"), stderr=subprocess.STDOUT) == 0
        except OSError:
            continue
        if works:
            os.execvp(name, [name] + sys.argv)  # noqa: RUF005, S606

sys.stderr.write(
    "Headwater needs Python 3.11 or newer; this is Python %d.%d (%s).\n"
    "Install a newer one and name it: make up PYTHON=python3.12\n"
    % (sys.version_info[0], sys.version_info[1], sys.executable)
)
sys.exit(1)
