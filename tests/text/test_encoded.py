"""Secrets are known again in what common programs make of them, wherever they stand in it."""

import base64
import subprocess
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest

from launcher.text.encoded import inside

SECRET = "s3cr?t/of ~mine>\u00fc~"


def made(*words: str) -> Callable[[bytes], str]:
    return lambda raw: subprocess.run(words, input=raw, capture_output=True, check=True).stdout.decode()


ENCODINGS = [
    made("cat"),
    made("base64"),
    made("base64", "--wrap=5"),
    made("basenc", "--base64url"),
    made("od", "-An", "-tx1"),
    made("basenc", "--base16"),
    lambda raw: raw.hex(":"),
    lambda raw: base64.b64encode(raw).decode().rstrip("="),
    lambda raw: "".join(f"%{byte:02x}" for byte in raw),
    quote,
    quote_plus,
]


@pytest.mark.parametrize("encoded", ENCODINGS)
@pytest.mark.parametrize("before", ["", "a", "ab", "abc", "user:"])
@pytest.mark.parametrize("after", ["", "\n", "@host"])
def test_a_secret_is_known_again(encoded: Callable[[bytes], str], before: str, after: str) -> None:
    text = encoded(f"{before}{SECRET}{after}".encode())
    assert inside(SECRET, f"Basic {text}")
    assert not inside("another secret", text)


@pytest.mark.parametrize("length", range(6, 13))
def test_short_ones_and_what_is_none(length: int) -> None:
    secret = "Zq9-xW_4kLm7"[:length]
    assert inside(secret, base64.b64encode(secret.encode()).decode())
    for text in ("/usr/bin:/bin", base64.b64encode(b"nothing of it").decode(), "100%", "%zz", ""):
        assert not inside(secret, text)
