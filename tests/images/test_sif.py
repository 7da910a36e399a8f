import pytest

from launcher.images.reference import parse
from launcher.images.sif import apptainer, fault

DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("/i/a.sif", "/i/a.sif"),
        ("file:///i/a.sif", "/i/a.sif"),
        ("/i/sandbox", "/i/sandbox"),
        ("ubuntu", "docker://docker.io/library/ubuntu:latest"),
        ("docker.io/lmsysorg/sglang:v1", "docker://docker.io/lmsysorg/sglang:v1"),
        ("nvcr.io#nvidia/x:1", "docker://nvcr.io/nvidia/x:1"),
        (f"nvcr.io/x/y@{DIGEST}", f"docker://nvcr.io/x/y@{DIGEST}"),
        # Together they are refused; the digest says more.
        (f"nvcr.io/x/y:1@{DIGEST}", f"docker://nvcr.io/x/y@{DIGEST}"),
        ("dockerd://x/y:1", "docker-daemon:x/y:1"),
        ("dockerd://x", "docker-daemon:x:latest"),
    ],
)
def test_every_spelling(text, word):
    source = parse(text)
    assert fault(source) is None
    assert apptainer(source) == word


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/i/a.sqsh", "image of enroot"),
        ("/i/a.squashfs", "image of enroot"),
        ("./a.sif", "absolute"),
        ("a.sif", "absolute"),
        ("podman://a", "Podman"),
        ("me@nvcr.io#x/y:1", "user"),
    ],
)
def test_what_cannot_be_started(text, said):
    assert said in (fault(parse(text)) or "")
