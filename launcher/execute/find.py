"""Whether an interpreter has a module that `python -m NAME` would run. Only looks: to import a package in order to
look into it may take seconds.

Standard library only, and old syntax: it is run by the interpreter in question.
"""

import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec


def found(name: str) -> bool:
    """Whether there is a module of that dotted name."""
    whole, *parts = name.split(".")
    spec = find_spec(whole)
    for part in parts:
        whole = "%s.%s" % (whole, part)  # noqa: UP031
        places = spec.submodule_search_locations if spec else None
        spec = PathFinder.find_spec(whole, places) if places else None
    return spec is not None


if __name__ == "__main__":
    sys.exit(not found(sys.argv[1]))
