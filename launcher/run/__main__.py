"""Entry of `run.pyz`: `PYTHON run.pyz [--detach] RUNDIR`. Parses on Python 3.6, so that an old one can be told."""

import sys

if sys.version_info < (3, 9):
    sys.stderr.write(
        "run.pyz: Python 3.9 or newer is needed, this is %d.%d (%s)\n"
        % (sys.version_info[0], sys.version_info[1], sys.executable)
    )
    sys.exit(1)

from launcher.run.keeper import main  # noqa: E402  (an old Python must not get this far)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
