"""The user a process is: named by its environment, else by the password database."""

import os
import pwd
from typing import Dict, Mapping


def known(environ: Mapping[str, str]) -> Dict[str, str]:
    """`USER` and `HOME` as `environ` has them, else of the account; what neither knows is left out.

    A container's or a scheduler's environment often has neither, and a UID need not be an account.
    """
    found = {name: environ[name] for name in ("USER", "HOME") if environ.get(name)}
    try:
        account = pwd.getpwuid(os.geteuid())
    except KeyError:
        return found
    return {"USER": account.pw_name, "HOME": account.pw_dir, **found}
