"""What users write wrong for `launch images build` and `bake`: a finding that says where, never a fault of ours."""

import pytest

from tests.cli.images.project import TOOL, Place
from tests.testbed import oci

TEXT = TOOL + '\n[[copy]]\nfrom = "{base}"\nsource = "/bin/sh"\ntarget = "/b"\n'

LINES = [
    (('source = "/bin/sh"', 'source = "/bin/../sh"'), "", 3, ("image.toml:16:10", "`/bin/../sh` has `..` in it")),
    (('target = "/b"', 'target = "/../b"'), "", 3, ("image.toml:17:10", "`/../b` has `..` in it")),
    (('target = "/b"', 'target = "/a/.wh.b"'), "", 3, ("image.toml:17:10", "takes a file away in a layer")),
    (('from = "{base}"', 'from = "foo bar"'), "", 3, ("image.toml:15:8", "`foo bar` names no image")),
    (('reference = "{base}"', 'reference = "foo bar"'), "", 3, ("image.toml:6:13", "`foo bar` names no image")),
    (('from = "{base}"', 'from = "a/${{TOOL_VERSION}}"'), "--arg TOOL_VERSION=1/../../x", 2, ("", "makes it that")),
    (("schema = 1", "schema = 1"), "--base 'foo bar'", 2, ("", "`foo bar` names no image")),
]


@pytest.mark.parametrize(("change", "more", "status", "said"), LINES)
def test_a_definition(place: Place, change: tuple[str, str], more: str, status: int, said: tuple[str, str]) -> None:
    assert change[0] in TEXT
    place.write("images/tool/image.toml", TEXT.replace(*change).format(base=place.base))
    (place.launch.home / "images/tool/Containerfile").unlink()
    done = place.images(f"build tool {more}")
    assert (done[0], done[1]) == (status, ""), done[2]
    assert all(each in done[2] for each in said), done[2]


def test_where_a_bake_is_pushed_to(place: Place) -> None:
    place.write("r.toml", 'schema = 1\nname = "r"\n[roles.worker]\nmanifest = "sim"\nimage = "mine"\nsetup = "true"\n')
    place.site(f'mine = "{place.base}"')
    status, _, err = place.images(f"bake r.toml --push '{place.served.host}/Bad Name'")
    assert (status, "`--push`: `Bad Name` is not the name of a repository" in err) == (2, True), err


@pytest.mark.parametrize("config", [{"Labels": [1]}, {"Volumes": 5}])
def test_a_base_whose_configuration_is_broken(place: Place, config: dict[str, object]) -> None:
    place.served.pusher.push("b/broken", "1", oci.image([[oci.Entry("bin/sh", b"#", mode=0o755)]], config=config))
    status, _, err = place.images(f"build tool --base {place.served.host}/b/broken:1")
    assert (status, "in the configuration of the image is no JSON object" in err) == (4, True), err
