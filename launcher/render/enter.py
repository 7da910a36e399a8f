"""What runs between Slurm and a role's program: a note of its pid, a home, variables that come late, preambles.

Programs keep caches at home, and some end where they cannot: vLLM for that of compiled graphs, once it has loaded the
model (seen with 0.32.0: `OSError: [Errno 30]`). A read-only root has no home to write to, and Apptainer is told to
leave the user's out; a step then has one in the run directory, which all of its nodes see.
"""

from collections.abc import Iterable, Mapping

from launcher.plan.step import Step
from launcher.run.script import File

ENTER = "setup/_enter.sh"
HOME = "setup/_home.sh"
PIDS = "pids"

_ENTER = """\
# _enter.sh NAME WORDS...: notes which process this is, then becomes WORDS.
# pids/NAME.HOST.PID holds its /proc/PID/stat: the start time in it tells it from a later process of that pid.
# The names of its variables are ones that no role is given: a shell hands on what it finds set.
LAUNCH__NAME=$1
shift
if read -r LAUNCH__STAT </proc/$$/stat && read -r LAUNCH__HOST </proc/sys/kernel/hostname; then
    echo "$LAUNCH__STAT" >"${0%/*}/../pids/$LAUNCH__NAME.$LAUNCH__HOST.$$" || :
fi 2>/dev/null
exec sh "${0%/*}/_home.sh" "$LAUNCH__NAME" "$@"
"""

_HOME = """\
# _home.sh NAME WORDS...: where the home cannot be written to gives one in the run directory, then becomes WORDS.
LAUNCH__NAME=$1
shift
if [ ! -w "$HOME" ] && mkdir -p "${0%/*}/../home/$LAUNCH__NAME"; then
    HOME=$(cd "${0%/*}/../home/$LAUNCH__NAME" && pwd) && export HOME
fi 2>/dev/null
exec "$@"
"""

FILES = (File(ENTER, text=_ENTER), File(HOME, text=_HOME), File(f"{PIDS}/.keep", text=""))
"""Files that every Script for Slurm needs; the last makes the folder."""


def enter(
    step: Step,
    folder: str,
    inner: Mapping[str, str] = {},
    words: Iterable[str] = (),
    first: tuple[str, ...] = (),
) -> tuple[str, ...]:
    """The command of a step: `words` behind its preamble, its GPU mask and `inner` variables, and the note of its pid.

    `folder` is where the run directory is seen, `first` comes right behind the note. `sh` is what every image has; a
    preamble asks for bash itself.
    """
    variables = dict(inner)
    if step.gpus:
        variables["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, step.gpus))
    env = ("env", *(f"{name}={value}" for name, value in variables.items())) if variables else ()
    setup = () if step.setup is None else ("sh", f"{folder}/{step.setup}")
    return ("sh", f"{folder}/{ENTER}", step.name, *first, *env, *setup, *words)
