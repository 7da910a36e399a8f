"""The recipe of a link: its files from `extends` up, and the layers they and the command line make."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from launcher.model.job import Origins
from launcher.model.library import Library
from launcher.model.linking import Linking, placed, table, text
from launcher.model.merge import Layer, Removal, merge, prune
from launcher.model.recipe import Recipe, RecipeFile
from launcher.model.shape import read
from launcher.model.spelling import recipe_key
from launcher.run.record import record
from launcher.text.diagnostic import Diagnostic, Place, Refused, Severity
from launcher.text.document import Document, KeyPath, dotted
from launcher.text.parse import assignment, keypath

DEPTH = 16
"""Recipes that one may stand on."""

FILE_KEYS = ("extends", "variants", "on")
"""Keys of a file that are about its layers."""

_VARIANT = re.compile("(.+):([A-Za-z0-9][A-Za-z0-9_.-]*|)", re.DOTALL)


@record
class Edit:
    """A word of `--set` (`KEY=VALUE`) or `--unset` (`KEY`)."""

    word: str
    unset: bool = False


@record
class Source:
    """The recipe as it was put together. `recipe` is None where it was refused; `data` is what was merged."""

    document: Document
    layers: tuple[Layer, ...]
    data: dict[str, Any]
    origins: Origins
    recipe: Recipe | None

    def typed(self, findings: Sequence[Diagnostic]) -> bool:
        """Whether every value is of its key's kind, though keys may be unknown, or missing at the top."""
        untyped = ("wrong-type", "wrong-value")
        lacking = (one.code == "missing-key" and one.place and one.place.path for one in findings)
        return self.recipe is not None or not (any(one.code in untyped for one in findings) or any(lacking))

    def written(self, path: KeyPath) -> bool:
        """Whether any layer says something at the path."""
        return path in self.origins.chains


def split(recipe: str) -> tuple[str, str | None]:
    """`PATH:VARIANT` as (path, variant); the variant is None where there is none."""
    found = _VARIANT.fullmatch(recipe)
    if found is None or found[2].endswith(".toml"):
        return recipe, None
    return found[1], found[2]


def source(linking: Linking, name: str, cluster: str, edits: Sequence[Edit]) -> Source | None:
    """The recipe with everything merged in, or None and findings where there is no document at all."""
    path, variant = split(name)
    documents = _chain(linking, path)
    if not documents:
        return None
    files = [linking.read(RecipeFile, document) for document in documents]
    for document in documents:
        linking.findings.extend(_similar(linking, document, cluster))
    layers, absent = prune(_layers(linking, documents, cluster, variant, edits), recipe_key)
    merged = merge(layers, recipe_key)
    linking.twice(merged.twice)
    data, chains = merged.data(), merged.chains()
    chains.pop(())
    origins = Origins(chains, documents[-1])
    for removal in absent:
        _nothing(linking, removal, [dotted(path) for path in chains])
    recipe = alone(files[0]) if len(layers) == 1 else None
    if recipe is None:
        recipe, faults = read(Recipe, data, origins.place, linking.suggestions)
        linking.findings.extend(faults)
    return Source(documents[-1], tuple(layers), data, origins, recipe)


def variants(library: Library, name: str) -> list[str]:
    """Names of the variants that a recipe has, its own and those of what it extends, in order; none of a variant."""
    path, variant = split(name)
    if variant is not None:
        return []
    chain = _chain(Linking(library), path)
    names = dict.fromkeys(each for document in chain for each in table(document.data, "variants"))
    return [each for each in names if split(f"{path}:{each}") == (path, each)]


def alone(file: RecipeFile | None) -> Recipe | None:
    """The recipe that a file is with nothing over or under it; None where it is none, which reading it again tells.

    Its keys were read once: to build the validator of `Recipe` would cost a tenth of `launch check`.
    """
    if file is None or file.name is None:
        return None
    return Recipe.model_construct(**{name: value for name, value in file if name in Recipe.model_fields})


def _chain(linking: Linking, path: str) -> list[Document]:
    """The recipe and those it extends, lowest first; shorter, with findings, where one cannot be had."""
    try:
        documents = [linking.library.recipe(path)]
    except Refused as refused:
        linking.findings.extend(refused.diagnostics)
        return []
    while base := text(documents[0].data, "extends"):
        place = Place(documents[0], ("extends",))
        try:
            below = linking.library.recipe(base, documents[0])
        except Refused as refused:
            linking.findings.extend(placed(finding, place) for finding in refused.diagnostics)
            break
        if below in documents:
            _circle(linking, documents, below, place)
            break
        if len(documents) > DEPTH:
            message = f"`{documents[-1].name}` stands on more than {DEPTH} recipes"
            linking.refuse("extends-too-deep", message, place, "merge some of them")
            break
        documents.insert(0, below)
    return documents


def _circle(linking: Linking, documents: Sequence[Document], below: Document, place: Place) -> None:
    names = [document.name for document in reversed(documents)]
    names = [*names[names.index(below.name) :], below.name]
    message = " extends ".join(f"`{name}`" for name in names)
    linking.refuse("extends-cycle", f"recipes extend each other in a circle: {message}", place, "leave one out")


def _layers(
    linking: Linking, documents: Sequence[Document], cluster: str, variant: str | None, edits: Sequence[Edit]
) -> Iterator[Layer | Removal]:
    for document in documents:
        own = {key: value for key, value in document.data.items() if key not in FILE_KEYS}
        yield Layer("recipe" if document is documents[-1] else "extends", document, own)
    yield from _chosen(documents, "on", cluster)
    if variant is not None:
        found = list(_chosen(documents, "variants", variant))
        yield from found
        if not found:
            _unknown_variant(linking, documents, variant)
    for edit in edits:
        yield from _edited(linking, edit)


def _chosen(documents: Sequence[Document], key: str, name: str) -> Iterator[Layer]:
    """`[on.NAME]` or `[variants.NAME]` of all documents."""
    for document in documents:
        part = table(document.data, key).get(name)
        if isinstance(part, dict):
            yield Layer(f"[{dotted((key, name))}]", document, part, (key, name))


def _edited(linking: Linking, edit: Edit) -> Iterator[Layer | Removal]:
    try:
        if edit.unset:
            yield Removal(Document("--unset", edit.word, {}), keypath(edit.word))
        else:
            document = assignment(edit.word)
            yield Layer("--set", document, document.data)
    except Refused as refused:
        linking.findings.extend(refused.diagnostics)


def _unknown_variant(linking: Linking, documents: Sequence[Document], variant: str) -> None:
    names = {name for document in documents for name in table(document.data, "variants")}
    place = next((Place(one, ("variants",), "key") for one in reversed(documents) if "variants" in one.data), None)
    message = f"`{documents[-1].name}` has no variant `{variant}`"
    linking.refuse("unknown-variant", message, place, linking.known(variant, names, "variants"), command=True)


def _nothing(linking: Linking, removal: Removal, keys: Sequence[str]) -> None:
    key = dotted(removal.path)
    place = Place(removal.document, offset=0, length=len(removal.document.text))
    found = linking.suggestions.nearest(key, keys)
    help_ = f"did you mean `{found}`?" if found else "take the word away, or look at `launch plan RECIPE --explain KEY`"
    linking.refuse("nothing-to-unset", f"`{key}` is not set", place, help_)


def _similar(linking: Linking, document: Document, cluster: str) -> Iterator[Diagnostic]:
    """Warnings for `[on.NAME]` that is nearly the name of a cluster here."""
    names = [name for name in table(document.data, "on") if name != cluster]
    if not names:
        return
    clusters = [*linking.library.clusters(), cluster]
    for name in names:
        found = None if name in clusters else linking.suggestions.nearest(name, clusters)
        if found:
            path: KeyPath = ("on", name)
            message = f"no cluster is named `{name}`: what this table says is not applied"
            yield Diagnostic(
                "similar-cluster",
                message,
                Place(document, path, "key"),
                Severity.WARNING,
                help=f"did you mean `{found}`?",
            )
