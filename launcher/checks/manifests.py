"""Role manifests and images: what neither can mean."""

from collections.abc import Iterator

from launcher.checks.case import Case
from launcher.images.use import use
from launcher.model.job import BENCHMARK
from launcher.roles.placeholder import NAMES, PORT, unknown
from launcher.text.diagnostic import Diagnostic, Place, Severity


def unknown_placeholder(case: Case) -> Iterator[Diagnostic]:
    """A role manifest has a placeholder that means nothing

    A manifest's command and gates may have `{ip}`, `{host}`, `{rank}`, `{replica}`, `{model}`,
    `{served_name}`, `{public}`, `{python}`, `{run}`, `{workers_file}`, and `{port.NAME}` for each of its own
    `[ports]`. Any other text in braces would reach the program as it stands. `{model}` needs a recipe with
    `[model] path`. What recipes say (flags, environment, preambles) is never searched for placeholders.
    """
    for role in case.job.roles:
        document = role.manifest_document
        for path, name in unknown(role.manifest, model=case.job.recipe.model.path is not None):
            if name == "model":
                advice = "add `[model] path` to the recipe"
            else:
                near = case.suggestions.nearest(name, [*NAMES, *(f"{PORT}{port}" for port in role.manifest.ports)])
                advice = f"did you mean `{{{near}}}`?" if near else "`launch explain unknown-placeholder` lists all"
            yield Diagnostic(
                "unknown-placeholder",
                f"`{{{name}}}` means nothing in the role manifest `{role.manifest.name}`",
                Place(document, path) if document else role.place("manifest"),
                help=advice,
            )


def relative_program(case: Case) -> Iterator[Diagnostic]:
    """A role manifest's command is a relative path

    Steps without containers run in the run directory, which is empty but for the run's own files: `./serve.sh` is
    looked for there, neither beside the manifest nor where `launch` was called, unless a preamble puts it there. This
    is a warning.

        [program]
        command = ["/home/bob/serve.sh"]    # a whole path, or a name that is on PATH
    """
    if case.containers:
        return
    for role in case.job.roles:
        program = next(iter(role.manifest.program.command), "")
        if "/" in program and not program.startswith(("/", "{")):
            document = role.manifest_document
            yield Diagnostic(
                "relative-program",
                f"`{program}` of the role manifest `{role.manifest.name}` is looked for in the run directory",
                Place(document, ("program", "command", 0)) if document else role.place("manifest"),
                Severity.WARNING,
                help="write the whole path, or a name that is on `PATH`",
            )


def benchmark_gated(case: Case) -> Iterator[Diagnostic]:
    """The role manifest of a benchmark says what it waits for, or when it is up

    A benchmark starts when everything else is ready, and its own end is all that is waited for: nobody would
    ask its `gates`, and `after` would change nothing.
    """
    for role in case.job.roles:
        if role.manifest.kind != BENCHMARK:
            continue
        document = role.manifest_document
        for key in ("gates", "after"):
            if getattr(role.manifest, key):
                yield Diagnostic(
                    "benchmark-gated",
                    f"`{key}` of the role manifest `{role.manifest.name}` means nothing for a benchmark",
                    Place(document, (key,), "key") if document else role.place("manifest"),
                    help=f"take `{key}` out: a benchmark starts when all is ready, and ends by itself",
                )


def image_unusable(case: Case) -> Iterator[Diagnostic]:
    """An image reference cannot be used on this cluster

    An alias of `[images]` stands for a registry reference in any of the usual spellings, for a file by its
    absolute path, or for an image of a daemon on the nodes. pyxis starts squashfs files (`.sqsh`), Apptainer
    `.sif` files. References are in lower case; enroot before 4.0 takes no digests, before 3.4 no
    `podman://`. Told of it by the runtime, one has waited for the nodes already.

        [images]
        vllm = "docker.io/vllm/vllm-openai:v0.33.0"
        mine = "/lustre/images/mine.sqsh"
    """
    if not case.containers:
        return
    for role in case.job.roles:
        if role.reference is None:
            continue
        try:
            use(role.reference, case.job.cluster)
        except ValueError as error:
            help_ = f"`launch explain image-unusable` shows what {case.job.cluster.runtime} takes"
            yield Diagnostic("image-unusable", str(error), role.place("reference"), help=help_, exit=4)
