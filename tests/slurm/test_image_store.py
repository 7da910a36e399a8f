"""A container started from a `.sqsh` that we made out of a registry's layers, as of one by `enroot import`."""

import json
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path

from tests.testbed import image, oci, registry
from tests.testbed.bed import Bed


def layer(root: Path) -> bytes:
    """A folder as a layer."""
    buffer = BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        archive.add(root, ".")
    return buffer.getvalue()


def test_a_step_starts_from_it(bed: Bed, tmp_path: Path) -> None:
    config = {"Env": ["PATH=/opt/image/bin:/usr/bin:/bin", "COMMON=ours"], "WorkingDir": "/srv/work"}
    made = oci.image([layer(image.root(image.TINY)), [oci.Entry("etc/greeting", b"hello\n")]], config=config)
    with registry.registry(tmp_path) as served:
        served.pusher.push("tiny", "1", made)
        words = [sys.executable, "-m", "launcher", "images", "ensure", f"{served.host}/tiny:1", "--arch", "x86_64"]
        words += ["--print-path", "--store", str(bed.shared / "store"), "--cluster", "gb300"]
        path = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    script = 'cat /etc/greeting; echo "$COMMON"; pwd'
    done = bed.srun("--nodes=1", f"--container-image={path}", "sh", "-c", script)
    assert done.stdout.splitlines() == ["hello", "ours", "/srv/work"], json.dumps(done.stderr)


ASK = """\
import sys
from launcher.execute.images.answers import answer
from launcher.model.facts import Header
for path in sys.argv[1:]:
    found = answer(Header(path, compute=("--partition=batch",)))
    print(found.fault or found.image.size, found.text, sep="|")
"""

MODEL = """\
from launcher.execute.model import answer
from launcher.model.facts import Model
for path in ("/tmp/model", "/tmp/none"):
    found = answer(Model(path, compute=("--partition=batch",)))
    print(found.yes, found.text, sep="|")
"""


def test_a_file_that_only_nodes_see_is_looked_at_there(bed: Bed) -> None:
    whole = image.squashfs(image.TINY)
    script = f"cp {whole} /tmp/only.sqsh; head -c 70000 {whole} >/tmp/cut.sqsh; echo text >/tmp/text.sqsh"
    bed.srun("--nodes=4", "sh", "-c", script)
    names = ["only", "cut", "text", "none"]
    done = bed.run([sys.executable, "-c", ASK, *(f"/tmp/{name}.sqsh" for name in names)])
    lines = [line.split("|") for line in done.stdout.splitlines()]
    assert lines[0] == [str(whole.stat().st_size), ""], done.stderr
    assert lines[1][0] == "faulty"
    assert "is truncated: it has 70000 bytes" in lines[1][1]
    assert lines[2] == ["faulty", "`/tmp/text.sqsh` is a text file"]
    assert lines[3] == ["absent", "`/tmp/none.sqsh` does not exist on the compute nodes"]


def test_a_model_that_only_nodes_see_is_read_there(bed: Bed) -> None:
    bed.srun("--nodes=4", "sh", "-c", "mkdir -p /tmp/model; echo '{}' >/tmp/model/config.json")
    done = bed.run([sys.executable, "-c", MODEL])
    told = ["True|{}", "", "False|does not exist on the compute nodes"]
    assert done.stdout.splitlines() == told, done.stderr


MOUNTS = """\
from launcher.execute.probe import answers
from launcher.model.facts import Present
paths = ("/etc", "/tmp/only-there", "/tmp/nowhere")
asked = [Present(path, compute) for compute in (None, ("--partition=batch",)) for path in paths]
for found in answers(asked).values():
    print(found.yes, found.text, sep="|")
"""


def test_what_is_mounted_may_be_where_only_nodes_see_it(bed: Bed) -> None:
    bed.srun("--nodes=4", "mkdir", "-p", "/tmp/only-there")
    done = bed.run([sys.executable, "-c", MOUNTS])
    here = ["True|", "False|does not exist", "False|does not exist"]
    there = ["True|", "True|", "False|exists neither here nor on the compute nodes"]
    assert done.stdout.splitlines() == [*here, *there], done.stderr
