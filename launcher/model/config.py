"""What a user or a site sets for every command: `config.toml`."""

from collections.abc import Sequence

from pydantic import Field

from launcher.model.linking import Linking
from launcher.model.recipe import Table
from launcher.model.value import Schema
from launcher.run.record import record
from launcher.text.diagnostic import Place, Refused
from launcher.text.document import Document


class Config(Table):
    """`$XDG_CONFIG_HOME/launch/config.toml`, above the site's `/etc/launch/config.toml`."""

    schema_: Schema = Field(alias="schema", description="version of this format")
    cluster: str | None = Field(
        default=None,
        min_length=1,
        description="cluster where neither `--cluster` nor `$LAUNCH_CLUSTER` names one; a file is relative to this one",
    )


@record
class Default:
    """The cluster that is meant where nobody names one, and where that was written."""

    cluster: str
    place: Place


def default(linking: Linking, documents: Sequence[Document]) -> Default | None:
    """What the last of the `documents` says that says anything. Raises Refused with all that is wrong in them."""
    found: Default | None = None
    for document in documents:
        config = linking.read(Config, document)
        if config is not None and config.cluster is not None:
            found = Default(config.cluster, Place(document, ("cluster",)))
    if linking.findings:
        raise Refused(linking.findings)
    return found
