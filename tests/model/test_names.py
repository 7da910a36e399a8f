"""Names of models that neither a command nor a request could hold."""

import pytest

from launcher.model.link import Request
from tests.model.shelf import Shelf, refused

LINE = "must be one line of printable characters"


@pytest.mark.parametrize(
    ("said", "finding"),
    [
        pytest.param('served_name = "a\\nb"', f"`served_name` {LINE}", id="two lines"),
        pytest.param('served_name = "a\\u001Bb"', f"`served_name` {LINE}", id="what terminals act on"),
        pytest.param('path = "/m\\u202E"', f"`path` {LINE}", id="what turns the rest round"),
        pytest.param(
            f"served_name = '{'m' * 2000}'",
            "`served_name` must have at most 1024 characters, not 2000",
            id="longer than a word may be",
        ),
        pytest.param("served_name = ''", "`served_name` must not be empty", id="nothing"),
    ],
)
def test_a_model_has_a_name_of_one_printable_line(said: str, finding: str) -> None:
    recipe = f'schema = 1\nname = "small"\nmodel.{said}\n'
    place = f"r.toml:3:{recipe.splitlines()[2].index('=') + 3}"
    assert refused(Shelf({"r.toml": recipe}), Request("r.toml", "site")) == [f"wrong-value {place} {finding}"]
