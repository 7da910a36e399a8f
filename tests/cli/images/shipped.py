"""What the shipped definitions are built from where no registry of the internet is asked, and what is run of them.

Envoy is the real one, of a wheel. The endpoint picker and the sidecar of llm-d are stand-ins under their names, which
do nothing but say so: where the real ones are is what `Dockerfile.epp` and `Dockerfile.sidecar` of llm-d-router v0.10.0
say (`/app`), and `distribution/docker/Dockerfile-envoy` of Envoy says it of that (`/usr/local/bin`). All three are
images of the user 65532, or of `nonroot`, without a shell.
"""

import io
import tarfile
import tomllib
from contextlib import closing
from pathlib import Path

import docker

from tests.cli.program import ROOT
from tests.end.environments import environment
from tests.testbed import bases, oci
from tests.testbed.registry import Served

CONFIG = {"User": "65532:65532", "Entrypoint": ["/nowhere"], "WorkingDir": "/"}
RUN = {
    "bench": "aiperf --version && aiperf profile --help | head -c 60",
    "envoy": "envoy --version && envoy --mode validate --config-path /tmp/envoy.json",
    "llm-d": "envoy --mode validate --config-path /tmp/envoy.json && epp && pd-sidecar",
    "sglang-router": "sglang-router --help | head -1 && python3 -c 'import sglang_router.router as r; print(r.Router)'",
    "sim": "python3 -c 'import grpc_health.v1, msgspec, smg_grpc_proto, zmq; print(zmq.__version__)'",
    "smg": "smg --version && smg launch --help | head -c 60",
    "vllm-router": "vllm-router --help | head -1 && python3 -c 'import vllm_router_rs as r; print(r.Router)'",
}
"""Name → what a shell of the image is to run."""

SAYS = {
    "bench": ("0.13.0", "Usage: aiperf profile"),
    "envoy": ("/1.40.0/Clean/RELEASE/BoringSSL", "/tmp/envoy.json' OK"),
    "llm-d": ("/tmp/envoy.json' OK", "a stand-in for epp\na stand-in for pd-sidecar"),
    "sglang-router": ("usage: sglang-router", "<class 'sglang_router.router.Router'>"),
    "sim": ("27.3.0",),
    "smg": ("smg 1.13.0", "usage: smg [-h]"),
    "vllm-router": ("usage: vllm-router", "<class 'builtins.Router'>"),
}
"""Name → what they then say."""


def wheels(name: str) -> Path | None:
    """What pip is to install: each argument of these definitions is a distribution."""
    known = tomllib.loads((ROOT / "images" / name / "image.toml").read_text())
    if "copy" in known:
        return None
    return bases.wheels(
        *(f"{key.removesuffix('_VERSION').lower().replace('_', '-')}=={value}" for key, value in known["args"].items())
    )


def words(name: str, served: Served) -> str:
    """Of `launch images build`, but for who builds."""
    found = wheels(name)
    base = bases.pushed(served, *((bases.PYTHON, "python") if found else (bases.DEBIAN, "debian")))
    if found:
        return f"build {name} --base {base} --wheels {found} --json"
    sources(served)
    said = f"build {name} --base {base} --arg ENVOY_IMAGE={served.host}/envoyproxy/envoy --json"
    return f"{said} --arg LLM_D_IMAGES={served.host}/llm-d" if name == "llm-d" else said


def sources(served: Served) -> None:
    """The images that are copied from, where they are not there yet."""
    envoy = next(environment("llm-d").glob("lib/python3*/site-packages/envoy/_bin/envoy"))
    push(served, "envoyproxy/envoy:distroless-v1.40.0", "usr/local/bin/envoy", envoy.read_bytes())
    for name, program in (("endpoint-picker", "epp"), ("disagg-sidecar", "pd-sidecar")):
        text = f"#!/bin/sh\necho a stand-in for {program}\n"
        push(served, f"llm-d/llm-d-router-{name}:v0.10.0", f"app/{program}", text.encode())


def push(served: Served, image: str, path: str, program: bytes) -> None:
    """An image of one program."""
    name, _, tag = image.partition(":")
    layer = [oci.folder(path.rpartition("/")[0]), oci.Entry(path, program, mode=0o755)]
    # Without a line of history for each layer podman copies nothing from it.
    made = oci.image([layer], config=CONFIG, compression="none", history=["made by hand"])
    served.pusher.push(name, tag, made)


def ran(host: str, image: str, script: str, bootstrap: str) -> str:
    """What a shell of an image says that a daemon has."""
    with closing(docker.APIClient(host, version="auto")) as api:
        own = api.create_host_config(network_mode="none")
        made = api.create_container(image, ["sh", "-c", script], host_config=own)["Id"]
        try:
            api.put_archive(made, "/tmp", packed("envoy.json", bootstrap))
            api.start(made)
            status, said = api.wait(made)["StatusCode"], api.logs(made).decode()
        finally:
            api.remove_container(made, force=True)
    assert status == 0, said
    return str(said)


def packed(name: str, text: str) -> bytes:
    """An archive of one file."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(text), 0o644
        archive.addfile(info, io.BytesIO(text.encode()))
    return buffer.getvalue()
