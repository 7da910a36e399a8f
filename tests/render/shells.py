"""Shells that scripts of the run directory have to do with: what `sh` is in images of Debian, RHEL and Alpine."""

import shutil

SHELLS = [["dash"], ["bash"], ["bash", "--posix"]] + ([["busybox", "sh"]] if shutil.which("busybox") else [])
"""dash, bash and busybox."""
