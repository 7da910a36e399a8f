import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.images.reference import HUB, Daemon, File, Reference, fault, number, parse, pyxis

DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("text", "source", "rendered"),
    [
        ("nvcr.io/nvidia/x:1.0", Reference("nvcr.io", "nvidia/x", "1.0"), "nvcr.io#nvidia/x:1.0"),
        ("nvcr.io#nvidia/x:1.0", Reference("nvcr.io", "nvidia/x", "1.0"), "nvcr.io#nvidia/x:1.0"),
        ("nvcr.io#nvidia/x", Reference("nvcr.io", "nvidia/x", "latest"), "nvcr.io#nvidia/x:latest"),
        ("docker://nvcr.io/nvidia/x:1", Reference("nvcr.io", "nvidia/x", "1"), "nvcr.io#nvidia/x:1"),
        ("docker://nvcr.io#nvidia/x:1", Reference("nvcr.io", "nvidia/x", "1"), "nvcr.io#nvidia/x:1"),
        ("docker://repo/image:tag", Reference(HUB, "repo/image", "tag"), "repo/image:tag"),
        ("me@nvcr.io#x/y:1", Reference("nvcr.io", "x/y", "1", user="me"), "me@nvcr.io#x/y:1"),
        (
            "$oauthtoken@nvcr.io#x/y:1",
            Reference("nvcr.io", "x/y", "1", user="$oauthtoken"),
            "$oauthtoken@nvcr.io#x/y:1",
        ),
        ("docker://me@nvcr.io/x/y:1", Reference("nvcr.io", "x/y", "1", user="me"), "me@nvcr.io#x/y:1"),
        ("ubuntu", Reference(HUB, "library/ubuntu", "latest"), "library/ubuntu:latest"),
        ("ubuntu:24.04", Reference(HUB, "library/ubuntu", "24.04"), "library/ubuntu:24.04"),
        ("docker.io/ubuntu", Reference(HUB, "library/ubuntu", "latest"), "library/ubuntu:latest"),
        ("index.docker.io/a/b:1", Reference(HUB, "a/b", "1"), "a/b:1"),
        ("registry-1.docker.io#a/b:1", Reference(HUB, "a/b", "1"), "a/b:1"),
        (
            "vllm/vllm-openai:v0.33.0-cu130",
            Reference(HUB, "vllm/vllm-openai", "v0.33.0-cu130"),
            "vllm/vllm-openai:v0.33.0-cu130",
        ),
        ("localhost:5000/x", Reference("localhost:5000", "x", "latest"), "localhost:5000#x:latest"),
        ("localhost/x", Reference("localhost", "x", "latest"), "localhost#x:latest"),
        ("127.0.0.1:5000#a/b:1", Reference("127.0.0.1:5000", "a/b", "1"), "127.0.0.1:5000#a/b:1"),
        ("[::1]:5000/a:1", Reference("[::1]:5000", "a", "1"), "[::1]:5000#a:1"),
        (f"nvcr.io/x/y@{DIGEST}", Reference("nvcr.io", "x/y", None, DIGEST), f"nvcr.io#x/y@{DIGEST}"),
        (f"nvcr.io/x/y:1@{DIGEST}", Reference("nvcr.io", "x/y", "1", DIGEST), f"nvcr.io#x/y:1@{DIGEST}"),
        (f"ubuntu@{DIGEST}", Reference(HUB, "library/ubuntu", None, DIGEST), f"library/ubuntu@{DIGEST}"),
        ("ghcr.io/a/b/c_d__e.f-g--h:x", Reference("ghcr.io", "a/b/c_d__e.f-g--h", "x"), "ghcr.io#a/b/c_d__e.f-g--h:x"),
        ("dockerd://x/y:1", Daemon("dockerd", "x/y:1"), "dockerd://x/y:1"),
        ("podman://localhost/x", Daemon("podman", "localhost/x"), "podman://localhost/x"),
        ("/lustre/i/x.sqsh", File("/lustre/i/x.sqsh"), "/lustre/i/x.sqsh"),
        ("/a b/x:1,2", File("/a b/x:1,2"), "/a b/x:1,2"),
        ("./x.sqsh", File("./x.sqsh"), "./x.sqsh"),
        ("../i/x.sqsh", File("../i/x.sqsh"), "../i/x.sqsh"),
        # pyxis would take these for images of Docker Hub.
        ("x.sqsh", File("./x.sqsh"), "./x.sqsh"),
        ("images/x.sif", File("./images/x.sif"), "./images/x.sif"),
        ("file:///a/x.sqsh", File("/a/x.sqsh"), "/a/x.sqsh"),
    ],
)
def test_every_spelling(text, source, rendered):
    assert parse(text) == source
    assert pyxis(source) == rendered
    assert parse(rendered) == parse(str(source)) == source


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "one line"),
        ("a\nb", "one line"),
        ("oras://x/y", "unknown scheme `oras://`"),
        ("docker:///x", "repository"),
        ("docker://", "nothing follows"),
        ("~/x.sqsh", "`~`"),
        ("~me/x.sqsh", "`~`"),
        ("$HOME/x.sqsh", "`$`"),
        ("${HOME}/x.sqsh", "`$`"),
        ("file://x.sqsh", "absolute path"),
        ("nvcr.io/Nvidia/x", "lower case"),
        ("nvcr.io/x/y:", "tag"),
        ("nvcr.io/x/y:a b", "tag"),
        ("nvcr.io/x/y@sha256:12", "64 hexadecimal digits"),
        ("a/b/", "repository"),
        ("a//b", "repository"),
        ("#a/b", "address of a registry"),
        ("nv cr.io/a/b", "address of a registry"),
        ("a b@nvcr.io/a/b", "user name"),
        ("dockerd://a b", "daemon"),
        ("x:1.sqsh x", "tag"),
    ],
)
def test_refused_with_the_reason(text, said):
    with pytest.raises(ValueError, match=r".") as refused:
        parse(text)
    assert said in str(refused.value)
    assert str(refused.value)[0].islower() or str(refused.value)[0] in "`~"


@pytest.mark.parametrize(
    ("version", "expected"),
    [("4.1.2", (4, 1, 2)), ("4.1.2-1", (4, 1, 2)), ("3", (3,)), ("4.0rc1", (4, 0)), ("", ()), ("main", ())],
)
def test_number(version, expected):
    assert number(version) == expected


@pytest.mark.parametrize(
    ("text", "enroot", "faulty"),
    [
        (f"a/b@{DIGEST}", "3.5.0", True),
        (f"a/b:1@{DIGEST}", "3.5.0", True),
        (f"a/b@{DIGEST}", "4.0.0", False),
        (f"a/b@{DIGEST}", None, False),
        (f"a/b@{DIGEST}", "main", False),
        ("a/b:1", "3.0", False),
        ("podman://a", "3.3.1", True),
        ("podman://a", "3.4", False),
        ("dockerd://a", "3.0", False),
        ("/a.sqsh", "3.0", False),
        ("/a.sqsh", None, False),
        ("/a.sif", None, True),
        ("./a.sqsh", "4.1.2", True),
        ("a.sqsh", None, True),
    ],
)
def test_fault(text, enroot, faulty):
    assert (fault(parse(text), enroot) is not None) is faulty


WORD = st.text("az09", min_size=1, max_size=4)
NAME = st.lists(WORD, min_size=1, max_size=3).flatmap(
    lambda words: st.sampled_from(".-_").map(lambda by: by.join(words))
)
REPOSITORY = st.lists(NAME, min_size=1, max_size=3).map("/".join)
REGISTRY = st.sampled_from([HUB, "nvcr.io", "localhost", "localhost:5000", "10.0.0.1:80", "UPPER.example"])
TAG = st.text("aZ0_.-", min_size=1, max_size=8).filter(lambda tag: tag[0] not in ".-")


@st.composite
def references(draw):
    registry, repository = draw(REGISTRY), draw(REPOSITORY)
    if registry == HUB and "/" not in repository:
        repository = f"library/{repository}"
    digest = draw(st.sampled_from([None, DIGEST]))
    tag = draw(TAG if digest is None else st.none() | TAG)
    return Reference(registry, repository, tag, digest, draw(st.sampled_from([None, "me", "$oauthtoken", "a=b,c"])))


@given(references())
def test_what_is_rendered_means_the_same(reference):
    assert parse(pyxis(reference)) == reference
    assert parse(str(reference)) == reference
    assert parse("docker://" + pyxis(reference)) == reference


@given(st.text(max_size=40))
def test_any_text_is_parsed_or_refused_and_what_is_parsed_is_stable(text):
    try:
        source = parse(text)
    except ValueError:
        return
    assert parse(pyxis(source)) == source
    # The first letter alone tells pyxis a path from a reference.
    assert pyxis(source).startswith(("/", ".")) is isinstance(source, File)
