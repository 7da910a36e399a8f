"""Codes of findings that no check or audit makes, and their pages."""

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "command-line": """The command line is wrong

A verb, an option or a word is misspelt, missing or one too many. `launch --help` lists the verbs,
`launch VERB --help` the options of one. Exit code 2.""",
    "operation-failed": """The operating system said no

A file, directory or process could not be read, written or started: the message has the path and the
system's own words. Exit code 1.""",
    "harvest-failed": """A program did not tell its flags

pip could not fetch it, or its parser could not be imported: the message has the reason, the notes the last lines of
what was said. A program that changed what it imports may need a line more in its `grammar.toml` (guide on flag
catalogues). Exit code 1.""",
    "internal-error": """The launcher has a fault

What happened was not foreseen. Please report it with the output of the same command under
`LAUNCH_DEBUG=1`, which shows where. Exit code 1.""",
    "findings-left-out": """There are more findings than a report tells

A report has at most a thousand findings, errors before warnings; the number of all is in the summary and here.
Mend what is told, and look again. This is a warning.""",
    "alias-taken": """The cluster has an image alias of that name

`launch images add` makes new aliases only; `launch images set` changes what one means. Exit code 3.""",
    "alias-elsewhere": """The image alias stands in another file of the cluster

Cluster files lie over each other: shipped, `/etc/launch/clusters/`, the user's, `--cluster FILE`. Aliases are edited
in the user's file, or in the FILE that is named; one that a lower file has can be changed for you, but not be taken
away from there. Exit code 3.""",
    "file-locked": """Somebody else edits the file

Edits of a cluster file wait for each other; one takes a few hundredths of a second. The message names the process
that has the lock. Exit code 1.""",
    "no-repository": """The project is in no git repository

`launch images matrix --changed-since` compares with a revision of the project's own repository. Without
`--changed-since` it lists every image and asks git nothing. Exit code 2.""",
    "unknown-revision": """The repository has no such revision

`--changed-since` takes a commit, a branch or a tag. Clones of CI systems are often shallow: they have the newest commit
alone, and everything else must be fetched first (`fetch-depth: 0` of actions/checkout, `GIT_DEPTH: 0` of GitLab).
Exit code 2.""",
    "git-failed": """What git was asked for did not work

It is not on `PATH`, does not open a repository that belongs to somebody else (as in containers of CI systems), or
failed; the message has its own words. Exit code 1.""",
    "store-full": """The image store has too little room

An import wants room for the layers of the image and for the file made from them: three times what is downloaded.
`launch images prune --max-size SIZE` takes away what was used least recently. Exit code 1.""",
    "store-closed": """The image store may not be written to

The message has the folder, and who may write there: the owner can let a group in (`chmod g+ws`), or make the file for
all. `[store] path` of the cluster file names another folder, `--store FOLDER` one for this command. Exit code 1.""",
    "bake-failed": """A preamble could not be baked

The preamble failed, or ended the shell before its own end; the container did not start; pyxis did not save the root
(its failures to do so end well: what it said and the file tell). The message has what was said last. Nothing is kept
of it, and the alias means what it did. Exit code 4.""",
    "bake-built": """A preamble is to be baked into an image that is built

What an image of a definition (`build = "NAME"`) has in it is said by its `Containerfile`: what a preamble does belongs
there. Exit code 3.""",
    "bake-twice": """Two preambles for one image alias

An alias can be baked with one preamble at a time: roles with different ones need aliases of their own. Exit code 3.""",
    "bake-varies": """A preamble that comes to something else in each run

`LAUNCH_*`, `SLURM_*` and `CUDA_VISIBLE_DEVICES` have another value in each run, step or rank, so what a preamble
makes of them cannot be kept in an image. Exit code 3.""",
    "build-failed": """An image could not be built

A step of its Containerfile failed: the message has the line, the notes what was said last. Or nothing here builds it:
Docker (or podman's service) is found by `DOCKER_HOST` or its usual socket, Apptainer on `PATH`; a definition that only
copies files needs neither. Exit code 4.""",
    "build-layers": """A definition that does more than copy files is to be put together from layers

Layers have what `[[copy]]` of `image.toml` says. A Containerfile with other instructions than `ARG`, `FROM` and
`COPY --from` does more, which would be left out: Docker builds it. Exit code 3.""",
    "build-base": """A Containerfile, or a `.def`, that is not built upon its base

The last stage of a Containerfile begins with `FROM ${BASE}`, or comes from a stage that does; that of a `.def` says
`From: {{ BASE }}`. Otherwise `[base]`, its
digest and `--base` would be recorded of an image that is made of another. Exit code 3.""",
    "image-busy": """The image is being made by somebody else

One process makes a file of the store; the message names it, on whichever machine it is. Exit code 1.""",
    "job-ended": """Slurm ended the job

It was cancelled by somebody else than `launch down`, preempted, or reached its time limit; the supervisor was told
and ended the steps. Exit code 7.""",
    "run-failed": """A step of the run ended

A critical step that should last to the end of the run ended (with any exit code, 0 included), or one that
should finish did so with another exit code than 0. The run is over: the message names the first step that
ended, whether it was still in a preamble (its role's or the cluster's), in which phase, what it said first that looks
like an error, and its last lines. Exit code 7.""",
    "run-expired": """The run was not ready in time

Every step lives, and a gate is still shut: the message names it and what it last said. The budget is
`[ready] timeout` of the recipe, or `--timeout`. Exit code 6.""",
    "nodes-unfit": """The nodes of the job cannot take the run

The first step of a job looks at every node: the ports of the plan are free, image files and mounts are there, the
architecture and the GPUs are as the cluster file says. The message has all that is not so; nothing of the recipe was
started. `--set ports.shift=100` moves every port, away from another run's too (`launch ps`). Exit code 1, as of
`port-in-use` on this machine.""",
    "run-broken": """The launcher itself could not go on

Its keeper or supervisor was killed, the run directory could not be written, or it has vanished. Whatever
the run had started was ended. Exit code 1.""",
    "run-directory": """The run directory cannot be made or read

Every run has a directory of its own under `$XDG_STATE_HOME/launch/runs` (`~/.local/state/launch/runs`),
written before anything starts. Exit code 1.""",
    "run-newer": """A newer `launch` wrote the run

The run directory has a format that this version does not know. It is not touched: what it means to stop such a run,
only the version that wrote it knows. Exit code 1.""",
    "run-start": """The supervisor did not start

The process that looks after a run could not be started, or ended at once; the message has its reason. Nothing
of the recipe was started. Exit code 1.""",
    "run-elsewhere": """The run is on another machine

Run directories may lie on a file system that several machines share; a run is stopped on the machine that it
runs on. Exit code 1.""",
    "run-left": """Something of the run cannot be killed

A process that hangs in the kernel (a dead file system, a driver) ignores every signal. The message has its
process ids. Exit code 1.""",
    "run-ended": """The run has ended

A command can be run in a step only as long as the run lives. Exit code 1.""",
    "unknown-run": """No run, or more than one, is meant

A run is named by its whole id, by the start of just one id, or as `last`, the newest. `launch ps --all` lists
them. Exit code 2.""",
    "unknown-step": """The run has no such step or role

`launch ps --json` lists the steps of every run; a role stands for its steps. Exit code 2.""",
    "wait-expired": """What was waited for has not come

`launch wait --timeout` gave up; the run goes on as it is. Exit code 6.""",
}
"""Code → page; the first line is its summary. Checks and audits have theirs as docstrings."""
