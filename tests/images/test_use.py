import pytest

from launcher.images.use import use
from tests.jobs import cluster


@pytest.mark.parametrize(
    ("runtime", "text", "expected"),
    [
        ("pyxis", "nvcr.io/a/b:1", "nvcr.io#a/b:1"),
        ("pyxis", "/i/a.sqsh", "/i/a.sqsh"),
        ("apptainer", "nvcr.io/a/b:1", "docker://nvcr.io/a/b:1"),
        ("apptainer", "/i/a.sif", "/i/a.sif"),
    ],
)
def test_as_the_runtime_is_told(runtime, text, expected):
    assert use(text, cluster(runtime=runtime)) == expected


@pytest.mark.parametrize(
    ("runtime", "text"),
    [("pyxis", "/i/a.sif"), ("pyxis", "a/b@sha256:" + "0" * 64), ("apptainer", "/i/a.sqsh"), ("pyxis", "Upper/x")],
)
def test_refused(runtime, text):
    with pytest.raises(ValueError, match=r"^[^A-Z]|^Apptainer"):
        use(text, cluster(runtime=runtime, versions={"enroot": "3.5.0"}))
