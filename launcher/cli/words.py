"""What a shell may complete: names of recipes, clusters, findings, image aliases, runs and steps."""

from collections.abc import Callable, Mapping, Sequence

from launcher.cli.explain import explanations
from launcher.execute.journal import LAST, find, runs
from launcher.execute.library import Files
from launcher.execute.status import called, status
from launcher.execute.world import Real
from launcher.model.linking import Linking
from launcher.model.site import site


def recipes(run: str) -> Sequence[str]:
    """The shipped ones."""
    return Files().recipes()


def clusters(run: str) -> Sequence[str]:
    """All that there are."""
    return Files().clusters()


def codes(run: str) -> Sequence[str]:
    """Every finding."""
    return sorted(explanations())


def aliases(run: str) -> Sequence[str]:
    """Images of every cluster, since the one that is meant may be named later on the line."""
    found = (site(Linking(Files()), name) for name in Files().clusters())
    return sorted({alias for each in found if each is not None for alias in each.cluster.images})


def every_run(run: str) -> Sequence[str]:
    """The newest first."""
    return [LAST, *(each.name for each in reversed(runs(Real())))]


def steps(run: str) -> Sequence[str]:
    """Steps and roles of the run. Raises Refused where there is none of that name."""
    return called(status(find(Real(), run)).steps)


WORDS: Mapping[str, Callable[[str], Sequence[str]]] = {
    "recipes": recipes,
    "clusters": clusters,
    "codes": codes,
    "aliases": aliases,
    "runs": every_run,
    "steps": steps,
}
"""What `launch completion --words` lists; each is given the run that `--run` names."""
