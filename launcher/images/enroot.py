"""What `enroot import` adds to the files of an image, in words of our own, so that pyxis finds what it looks for.

Facts, of enroot 4.1.2: `/etc/environment` has the image's variables as they are, `/etc/rc` enters its working
directory, reads `/etc/rc.local` where that says anything (pyxis puts its own there) and becomes the entrypoint,
`/etc/fstab` binds a folder over itself for each volume. Where the image came from is a comment in the first line of
`/etc/rc`.
"""

import shlex
from collections.abc import Iterator

from launcher.images.oci import Config

_LOCAL = "# Read by /etc/rc before the entrypoint.\n# What ends with `exec` takes its place.\n"


def files(config: Config, source: str) -> Iterator[tuple[str, str]]:
    """(path, text) of what is added for an image that came from `source`; each has mode 0644."""
    yield "etc/environment", "".join(f"{_line(each)}\n" for each in config.env if "=" in each)
    yield (
        "etc/fstab",
        "".join(
            f"${{ENROOT_ROOTFS}}{path} {path} none x-create=dir,bind,rw,nosuid,nodev\n"
            for path in map(_mounted, config.volumes)
        ),
    )
    yield "etc/rc", rc(config, source)
    yield "etc/rc.local", _LOCAL


def rc(config: Config, source: str) -> str:
    """The script that starts the image."""
    folder = shlex.quote(config.workdir or "/")
    own, words = (" ".join(map(shlex.quote, part)) for part in (config.entrypoint, config.cmd))
    lines = [
        f"# enroot-provenance: {_line(source)}",
        *(f"# {_line(name)}: {_line(value)}" for name, value in sorted(config.labels)),
        "",
        f"mkdir -p {folder} 2>/dev/null",
        f"cd {folder} || exit 1",
        "",
        "if [ -s /etc/rc.local ]; then . /etc/rc.local; fi",
        "",
        'if [ "$#" -gt 0 ]; then',
        f'    exec {own} "$@"'.replace("exec  ", "exec "),
        "else",
        f"    exec {own} {words or ('' if own else '/bin/sh')}".rstrip().replace("exec  ", "exec "),
        "fi",
    ]
    return "\n".join(lines) + "\n"


def _line(text: str) -> str:
    """One line: a value of several would be read as more variables, or as commands."""
    return " ".join(text.splitlines())


def _mounted(path: str) -> str:
    """A path as a field of fstab: blanks are written as numbers there."""
    return "".join(f"\\{ord(letter):03o}" if letter in " \t\n\\" else letter for letter in path)
