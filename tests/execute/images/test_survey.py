"""What a survey of a site finds out about the image files of its aliases."""

import os
import sys
from pathlib import Path

from launcher.execute.images import inspect
from launcher.execute.slurm.survey import survey
from launcher.execute.world import Real
from tests.jobs import cluster
from tests.testbed import apptainer, image


def test_what_image_files_are_compressed_by(tmp_path: Path) -> None:
    """Of a SIF that is the squashfs inside; of what is no image, or not here, nothing."""
    files = {"a": image.squashfs(image.TINY), "b": apptainer.sif(image.TINY), "c": Path("/nowhere.sqsh"), "d": tmp_path}
    made = cluster(python=sys.executable, images={name: str(path) for name, path in files.items()})
    found = survey(Real({"PATH": os.environ["PATH"], "HOME": str(tmp_path)}), made)
    want = {str(path): inspect.file(path).header.compressor for path in (files["a"], files["b"])}
    assert (found.images, len(want)) == (want, 2)
