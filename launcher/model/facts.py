"""Questions an audit asks of the world, and their answers. Facts only refuse; they never change a plan."""

from collections.abc import Mapping
from typing import Literal

from launcher.run.record import record


@record
class Port:
    """Can this user listen on TCP port `number`?"""

    number: int


@record
class Variable:
    """Is the environment variable set in the submitting shell?"""

    name: str


@record
class Program:
    """Is `name` (a word, or a path) a program that can be run? `first` is a directory looked in before PATH."""

    name: str
    first: str | None = None


@record
class Module:
    """Can the interpreter `python` run `-m name`? `distribution` is what pip calls it, where nothing else says so."""

    python: str
    name: str
    distribution: str = ""


@record
class Installed:
    """Which version of the distribution `name` is in the environment of a program? The answer's text is the version.

    `program` and `first` are as `Program` has them.
    """

    program: str
    name: str
    first: str | None = None


@record
class Syntax:
    """Is `text` shell that bash can parse?"""

    text: str


@record
class Bootstrap:
    """Does the program `program` take `text` as Envoy's bootstrap? `first` is a directory looked in before PATH.

    Yes where there is no such program.
    """

    text: str
    program: str
    first: str | None = None


@record
class Folder:
    """Where does this user keep the launcher's files of a kind? The answer's text is the path."""

    kind: Literal["config", "data"]


@record
class Partitions:
    """Which partitions has Slurm? `yes` unless Slurm does not answer."""


@record
class Options:
    """Which options that begin so does `srun` know? The answer has them as `words`, without dashes."""

    start: str


@record
class Mpis:
    """Which types of MPI does `srun` know? The answer has them as `words`."""


@record
class Accounts:
    """Which accounts may this user charge? Not `yes` where Slurm keeps no accounts, or tells none."""


@record
class Tag:
    """What does the registry have under `reference`, for nodes of `arch` (empty: of any)? `programs` and `packages`
    are looked for where that costs little. A `plain` registry speaks no TLS.
    """

    reference: str
    arch: str
    programs: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    plain: bool = False


@record
class Header:
    """What is the image file at `path`? Which of `programs` and `packages` (of Python) are in it? With `compute`, the
    options of `srun`, one of the compute nodes is asked, for the header alone.
    """

    path: str
    programs: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    compute: tuple[str, ...] | None = None


@record
class Present:
    """Is there anything at `path`? With `compute`, the options of `srun`, a node is asked."""

    path: str
    compute: tuple[str, ...] | None = None


@record
class Model:
    """What does `config.json` of the model in the folder `path` say? The answer's text is that of the file, empty where
    it cannot be had; not `yes` where there is no folder. With `compute`, the options of `srun`, a node is asked.
    """

    path: str
    compute: tuple[str, ...] | None = None


Question = (
    Bootstrap
    | Model
    | Present
    | Port
    | Variable
    | Program
    | Module
    | Installed
    | Syntax
    | Folder
    | Partitions
    | Options
    | Mpis
    | Accounts
    | Tag
    | Header
)


@record
class Partition:
    """A partition of Slurm: `limit` is in seconds, None where there is none; `gres` is what a node has."""

    name: str
    up: bool
    limit: int | None
    nodes: int
    gres: str
    default: bool = False


@record
class Image:
    """What is known of an image. `digest` is what its reference names, of a file empty; `arch` as `uname -m` has it.

    `env` are `NAME=VALUE`. `programs` are those of the question's that are there, None where nobody could look;
    `shell` whether there is an `sh`. `versions` are of Python packages. `size` in bytes: what is downloaded, or the
    file.
    """

    size: int
    digest: str = ""
    manifest: str = ""
    config: str = ""
    arch: str | None = None
    env: tuple[str, ...] = ()
    entrypoint: tuple[str, ...] = ()
    workdir: str = ""
    user: str = ""
    programs: tuple[str, ...] | None = None
    shell: bool | None = None
    versions: tuple[tuple[str, str], ...] = ()
    mtime: int = 0


@record
class Answer:
    """`yes`, or not and `text` says what was found instead; `where` says where it was looked for. Questions for a list
    are answered by `words`, or `partitions`; `run` is a run of ours that a port belongs to, `advice` what ends another.
    Those about images are answered by `image`, or `fault` (what kind of no) and `advice`.
    """

    yes: bool
    text: str = ""
    where: str = "this machine"
    run: str | None = None
    words: tuple[str, ...] = ()
    partitions: tuple[Partition, ...] = ()
    image: Image | None = None
    fault: str = ""
    advice: str | None = None


Facts = Mapping[Question, Answer]
