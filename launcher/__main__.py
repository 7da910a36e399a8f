"""`python -m launcher` is `launch`."""

from launcher.cli import program

program()
