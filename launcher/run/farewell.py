"""The last words of a run, said when everything else is gone."""

import subprocess
from contextlib import suppress
from typing import Any, Mapping, Union

from launcher.run import prepare
from launcher.run.child import inherited, shell
from launcher.run.journal import Journal
from launcher.run.outcome import Verdict

_PATIENCE = 60.0


def farewell(run: str, journal: Journal, end: Union[Verdict, Mapping[str, Any]]) -> None:
    """Runs the Script's last words one after the other and closes the journal; failures are noted, not raised."""
    journal.lenient = True
    # A script that cannot be read was never started either: nothing waits for its words.
    with suppress(OSError, ValueError):
        script = prepare.read(run)
        env = inherited(script.inherit, shell())
        for argv in script.last_words:
            journal.note("last-words", argv=list(argv), ended=_say(argv, env, run))
    told = vars(end) if isinstance(end, Verdict) else end
    journal.note("end", **{key: told[key] for key in ("state", "exit", "cause", "first")})


def _say(argv: Any, env: Mapping[bytes, bytes], run: str) -> Union[int, str]:
    try:
        done = subprocess.run(argv, env=env, cwd=run, stdin=subprocess.DEVNULL, timeout=_PATIENCE, check=False)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return str(error)
    return done.returncode
