"""Sizes of memory in Slurm's words."""

import pytest

from launcher.model.size import mebibytes

GOOD = [("1M", 1), ("512000M", 512000), ("800G", 819200), ("2T", 2097152)]
BAD = ["", "0G", "800", "800GB", "800 G", "1.5T", "1K", "g", "-1G", "800g", "1G\n"]


@pytest.mark.parametrize(("text", "expected"), GOOD)
def test_sizes(text: str, expected: int) -> None:
    assert mebibytes(text) == expected


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match=r"^must be a size of memory, not `"):
        mebibytes(text)
