"""Audits of images; registries and files are a dictionary here."""

from collections.abc import Mapping
from typing import Any

import pytest

from launcher.checks.audit import audit
from launcher.checks.images import distribution, questions
from launcher.images.require import cuda, unmet
from launcher.model.facts import Answer, Header, Image, Tag
from launcher.model.facts import Facts as World
from launcher.plan.plan import plan
from launcher.text.diagnostic import Diagnostic
from tests import jobs

SITE = {"runtime": "pyxis", "scheduler": "slurm", "arch": "aarch64", "node": {"gpus": 8, "driver": "570.172"}}
REFERENCE = "docker.io/vllm/vllm-openai:v0.33.0"
WHOLE = Image(1, arch="aarch64", programs=("python3",), shell=True)


def found(answer: Answer, site: Mapping[str, Any] = SITE, reference: str = REFERENCE, **role: Any) -> list[Diagnostic]:
    """What the audits of images say of a worker whose image has this answer."""
    role = {"gpus": 1, **role}
    worker = jobs.role("worker", reference=reference, image="engine", **role)
    job = jobs.job(worker, on=jobs.cluster(**site))
    made = plan(job, jobs.adapters())
    facts: World = dict.fromkeys(questions(job, made).values(), answer)
    return [each for each in audit(job, made, facts)[0] if each.code in CODES]


def image(**fields: Any) -> Answer:
    return Answer(
        yes=True, image=Image(**{**{name: getattr(WHOLE, name) for name in WHOLE.__dataclass_fields__}, **fields})
    )


def no(fault: str) -> Answer:
    return Answer(yes=False, text="the text", fault=fault, advice="the advice")


CODES = {
    *("image-absent", "image-unseen", "image-of-other-nodes", "image-lacks-program", "image-version"),
    "image-lacks-package",
    "driver-refused",
}
APPTAINER = {**SITE, "runtime": "apptainer"}

HAS = "the nodes' driver is 570.172, which runs CUDA 12.8"

UNKNOWN = "whether the image of role `worker` has a shell (`sh`) is not known: it is too large to be looked into"

ROWS: list[tuple[Answer, dict[str, Any], list[str]]] = [
    (image(), {}, []),
    (no("absent"), {}, ["error image-absent the text"]),
    (no("denied"), {}, ["error image-absent the text"]),
    (no("faulty"), {}, ["error image-absent the text"]),
    (no("unreachable"), {}, ["warning image-unseen the text"]),
    (no("limited"), {}, ["warning image-unseen the text"]),
    (no("offline"), {}, ["warning image-unseen the text"]),
    (no("platform"), {}, ["error image-of-other-nodes the text"]),
    (
        image(arch="x86_64"),
        {},
        ["error image-of-other-nodes the image of role `worker` is for x86_64, and the nodes are aarch64"],
    ),
    (image(arch="x86_64"), {"site": {**SITE, "arch": None}}, []),
    (image(arch=None), {}, []),
    (
        image(shell=False, programs=()),
        {},
        ["error image-lacks-program the image of role `worker` has no shell (`sh`), which a container is entered by"],
    ),
    (
        image(shell=None, programs=None),
        {},
        [f"warning image-lacks-program {UNKNOWN}"],
    ),
    (image(programs=None), {}, []),
    (
        image(programs=()),
        {},
        ["error image-lacks-program the image of role `worker` has no program `python3`"],
    ),
    (image(programs=()), {"setup": "apt-get install python3"}, []),
    (
        image(versions=(("pip", "25.0"), ("smg-grpc-proto", "0.4.28"))),
        {"flags": {"grpc": True}},
        ["error image-lacks-package the image of role `worker` has no Python package `grpcio-health-checking`"],
    ),
    (
        image(versions=(("sim", "0.1.0"),)),
        {"kv_events": True},
        [
            "error image-lacks-package the image of role `worker` has no Python package `pyzmq`",
            "error image-lacks-package the image of role `worker` has no Python package `msgspec`",
        ],
    ),
    (
        image(versions=(("pyzmq", "27.0"),)),
        {"kv_events": True},
        ["error image-lacks-package the image of role `worker` has no Python package `msgspec`"],
    ),
    (
        image(),
        {"flags": {"grpc": True}},
        [
            "warning image-lacks-package the image of role `worker` has no Python package `smg-grpc-proto`",
            "warning image-lacks-package the image of role `worker` has no Python package `grpcio-health-checking`",
        ],
    ),
    (image(versions=(("pip", "25.0"),)), {"flags": {"grpc": False}}, []),
    (image(versions=(("pip", "25.0"),)), {"flags": {"grpc": True}, "setup": "pip install x"}, []),
    (image(programs=None), {"flags": {"grpc": True}}, []),
    (
        image(versions=(("sim", "0.2.0"),)),
        {"version": "0.1.0"},
        ["warning image-version the image of role `worker` has sim 0.2.0, and 0.1.0 is checked"],
    ),
    (image(versions=(("sim", "0.1.0"),)), {"version": "0.1.0"}, []),
    (image(env=("HF_HOME=/x",)), {"env": {"HF_HOME": "/y"}}, []),  # named to pyxis, so ours wins
    (image(env=("TOKEN=none", "OTHER=1")), {"env_from": ("TOKEN",)}, []),  # by its second name
    (
        image(env=("NVIDIA_REQUIRE_CUDA=cuda>=13.0 brand=tesla,driver>=575,driver<576",)),
        {},
        [f"error driver-refused the image of role `worker` requires `cuda>=13.0`; {HAS}"],
    ),
    (image(env=("NVIDIA_REQUIRE_CUDA=cuda>=13.0 brand=tesla,driver>=570,driver<571",)), {}, []),
    (image(env=("NVIDIA_REQUIRE_CUDA=cuda>=13.0",)), {"env": {"NVIDIA_DISABLE_REQUIRE": "1"}}, []),
    (image(env=("NVIDIA_REQUIRE_CUDA=cuda>=13.0", "NVIDIA_DISABLE_REQUIRE=1")), {}, []),
    (image(env=("NVIDIA_REQUIRE_CUDA=cuda>=13.0",)), {"gpus": 0}, []),
]


@pytest.mark.parametrize(("answer", "made", "said"), ROWS)
def test_an_answer_and_what_is_said(answer: Answer, made: dict[str, Any], said: list[str]) -> None:
    diagnostics = found(answer, **made)
    assert [f"{each.severity} {each.code} {each.message}" for each in diagnostics] == said
    assert {each.exit for each in diagnostics} <= {4}
    if answer.advice and diagnostics:
        assert diagnostics[0].help == "the advice"


@pytest.mark.parametrize(("engine", "package"), [("trtllm", "tensorrt_llm"), ("vllm", "vllm"), ("smg", "smg")])
def test_a_version_is_looked_up_by_the_name_that_pip_knows(engine: str, package: str) -> None:
    """A program may be called otherwise than what brings it."""
    assert distribution(jobs.role("worker", engine)) == package


def test_apptainer_does_not_look_at_the_driver() -> None:
    answer = image(env=("NVIDIA_REQUIRE_CUDA=cuda>=13.0",))
    assert [each.severity for each in found(answer, APPTAINER)] == ["warning"]


def test_one_question_for_all_roles_that_share_an_image() -> None:
    on = jobs.cluster(**SITE)
    roles = [jobs.role("worker", reference=REFERENCE), jobs.router("smg", reference=REFERENCE)]
    roles.append(jobs.role("other", jobs.manifest(program={"command": ["a"], "needs": ["b"]}), reference="/i/x.sqsh"))
    job = jobs.job(*roles, on=on)
    asked = questions(job, plan(job, jobs.adapters()))
    assert asked == {
        REFERENCE: Tag(f"docker://{REFERENCE}", "aarch64", ("python3",), ("sim", "smg")),
        "/i/x.sqsh": Header("/i/x.sqsh", ("a", "b"), ()),
    }


@pytest.mark.parametrize(
    ("answer", "message", "notes"),
    [
        (no("absent"), "the text", ("wanted by roles `worker` and `router`",)),
        (
            image(shell=False),
            "the image of roles `worker` and `router` has no shell (`sh`), which a container is entered by",
            (),
        ),
    ],
)
def test_one_finding_for_all_roles_that_share_an_image(answer: Answer, message: str, notes: tuple[str, ...]) -> None:
    roles = [jobs.role("worker", reference=REFERENCE), jobs.router("smg", reference=REFERENCE)]
    job = jobs.job(*roles, on=jobs.cluster(**SITE))
    made = plan(job, jobs.adapters())
    facts: World = dict.fromkeys(questions(job, made).values(), answer)
    [told] = [each for each in audit(job, made, facts)[0] if each.code in CODES]
    assert (told.message, told.notes) == (message, notes)


@pytest.mark.parametrize("reference", ["dockerd://x", "Upper/x"])
def test_nobody_is_asked_about_a_daemon_or_what_is_no_reference(reference: str) -> None:
    job = jobs.job(jobs.role("worker", reference=reference), on=jobs.cluster(**SITE))
    assert questions(job, plan(job, jobs.adapters())) == {}


def test_nobody_is_asked_without_containers() -> None:
    job = jobs.job(jobs.role("worker", reference="/environments/x"))
    assert questions(job, plan(job, jobs.adapters())) == {}


# As NVIDIA's images have them: nvidia/cuda:12.9.1, 13.0.1.
CUDA_12_9 = (
    "cuda>=12.9 brand=unknown,driver>=535,driver<536 brand=grid,driver>=535,driver<536 "
    "brand=tesla,driver>=535,driver<536 brand=tesla,driver>=570,driver<571"
)


@pytest.mark.parametrize(
    ("require", "driver", "refused"),
    [
        (CUDA_12_9, "575.51", False),
        (CUDA_12_9, "570.172", False),
        (CUDA_12_9, "535.1", False),
        (CUDA_12_9, "550.54", True),
        (CUDA_12_9, "580.95.05", False),
        ("cuda>=12.9", "570.172", True),
        ("cuda>=13.1", "580.95", True),
        ("", "1", False),
        ("arch>=9.0", "1", False),
        ("cuda>=8.0", "440.1", False),  # older than the table: nobody knows
    ],
)
def test_what_an_image_requires_of_the_driver(require: str, driver: str, refused: bool) -> None:
    assert unmet(require, driver) is refused


def test_cuda_of_a_driver() -> None:
    assert [cuda(driver) for driver in ("440", "525.60", "570.172", "999")] == [None, "12.0", "12.8", "13.1"]


def test_a_file_that_only_nodes_see_is_asked_about_there() -> None:
    images = {"engine": {"reference": "/raid/x.sqsh", "where": "compute"}}
    site = {**SITE, "images": images, "slurm": {"partition": "gpu", "account": "team"}}
    job = jobs.job(jobs.role("worker", reference="/raid/x.sqsh", image="engine"), on=jobs.cluster(**site))
    asked = questions(job, plan(job, jobs.adapters()))
    assert asked == {"/raid/x.sqsh": Header("/raid/x.sqsh", compute=("--partition=gpu", "--account=team"))}


LACKS = "the image of role `router` has no Python package"


@pytest.mark.parametrize(
    ("kind", "fields", "versions", "said"),
    [
        ("vllm-router", {}, ("pip",), "error image-lacks-package {} `vllm-router`"),
        ("sglang-router", {}, ("pip",), "error image-lacks-package {} `sglang-router`"),
        ("vllm-router", {}, (), "warning image-lacks-package {} `vllm-router`"),
        ("vllm-router", {}, ("pip", "vllm-router"), None),
        ("vllm-router", {"setup": "pip install vllm-router"}, ("pip",), None),
        ("smg", {}, ("pip",), None),
    ],
)
def test_a_router_that_is_a_python_module(
    kind: str, fields: dict[str, Any], versions: tuple[str, ...], said: str | None
) -> None:
    router = jobs.router(kind, reference="/images/router.sqsh", image=kind, **fields)
    job = jobs.job(jobs.role("worker", "vllm"), router, on=jobs.cluster(**SITE))
    made = plan(job, jobs.adapters())
    asked = questions(job, made)
    answer = image(versions=tuple((name, "0.1.17") for name in versions))
    findings = [each for each in audit(job, made, dict.fromkeys(asked.values(), answer))[0] if each.code in CODES]
    assert [f"{each.severity.value} {each.code} {each.message}" for each in findings] == (
        [said.format(LACKS)] if said else []
    )
    assert all(f'`setup = "python3 -m pip install {kind}==' in (each.help or "") for each in findings)


@pytest.mark.parametrize(
    ("fields", "asked"),
    [
        ({}, ("sim",)),
        ({"flags": {"grpc": True}}, ("grpcio-health-checking", "pip", "sim", "smg-grpc-proto")),
        ({"kv_events": True}, ("msgspec", "pip", "pyzmq", "sim")),
    ],
)
def test_packages_are_asked_for_where_the_role_imports_them(fields: dict[str, Any], asked: tuple[str, ...]) -> None:
    worker = jobs.role("worker", reference=REFERENCE, image="engine", **fields)
    job = jobs.job(worker, on=jobs.cluster(**SITE))
    (question,) = questions(job, plan(job, jobs.adapters())).values()
    assert question.packages == asked
