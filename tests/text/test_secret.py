"""What looks like a secret is read by nobody, wherever it stands; what does not is left as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.text import secret
from launcher.text.diagnostic import Diagnostic, Label, Place
from launcher.text.document import Document
from launcher.text.parse import assignment, parse
from launcher.text.report import FORMATS
from launcher.text.secret import holds, mask, named, shown
from tests.text.sample import at

WORD = "s3cr3t-and-more"
STARS = "*" * len(WORD)
HF = "hf_abcdefghijklmnopqrst"

MASKED: list[tuple[str, str]] = [
    (HF, "*" * len(HF)),
    (f"login --token {HF} now", f"login --token {'*' * len(HF)} now"),
    ("AKIAABCDEFGHIJKLMNOP", "*" * 20),
    ("Authorization: Bearer abcdefghijklmnop", f"Authorization: Bearer {'*' * 16}"),
    (f'HF_TOKEN = "{WORD}"', f'HF_TOKEN = "{STARS}"'),
    (f"hf_token='{WORD}'", f"hf_token='{STARS}'"),
    (f'"HF_TOKEN" = "{WORD}", A = "1"', f'"HF_TOKEN" = "{STARS}", A = "1"'),
    (f'env.HF_TOKEN = "{WORD}"', f'env.HF_TOKEN = "{STARS}"'),
    (f"roles.worker.env.HF_TOKEN={WORD}", f"roles.worker.env.HF_TOKEN={STARS}"),
    (f"api-key = '{WORD}'", f"api-key = '{STARS}'"),
    (f"serve --api-key {WORD} --port 1", f"serve --api-key {STARS} --port 1"),
    (f"serve --api-key={WORD} --port=1", f"serve --api-key={STARS} --port=1"),
    (f"export DB_PASSWORD={WORD}; run", f"export DB_PASSWORD={STARS}; run"),
    (f'\'{{"HF_TOKEN": "{WORD}"}}\'', f'\'{{"HF_TOKEN": "{STARS}"}}\''),
    ('A_SECRET = """one\nand two and\nthree"""', 'A_SECRET = """***\n***********\n*****"""'),
    (f'HF_TOKEN = "{WORD}', f'HF_TOKEN = "{STARS}'),
    ('MYPASSWORD = "hunter2"', 'MYPASSWORD = "*******"'),
    (f"MYTOKEN={WORD} APIKEY={WORD}", f"MYTOKEN={STARS} APIKEY={STARS}"),
    ("serve --dbpasswd hunter2", "serve --dbpasswd *******"),
]

PLAIN = [
    'HF_TOKEN = "EMPTY"',
    'env_from = ["HF_TOKEN", "OTHER_TOKEN"]',
    "MAX_TOKENS = '100000000000000'",
    'TOKENIZERS_PARALLELISM = "false, or not"',
    'HF_TOKEN_PATH = "/home/me/.cache/token"',
    'export HF_TOKEN="$(cat /run/secrets/hf)"',
    "HF_TOKEN=$MY_VERY_OWN_TOKEN",
    "export HF_TOKEN=…",
    "the value of `HF_TOKEN` looks like a secret",
    "token by token, and more of them",
    'PASSWORD = "EMPTY"',
    "DB_PASSWORD=no",
    "password: none, or what you like",
    "first-token-latency = 0.000000000001",
    "hf_short",
]


@pytest.mark.parametrize(("text", "expected"), MASKED)
def test_secrets_are_masked(text: str, expected: str) -> None:
    assert mask(text) == expected
    assert holds(text)
    assert len(mask(text)) == len(text)


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_no_secret_is_left(text: str) -> None:
    assert mask(text) == text
    assert not holds(text)


def test_a_private_key_is_masked_to_its_end() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow-IBAAKCAQEA\n-----END RSA PRIVATE KEY-----"
    assert mask(f"a\n{key}\nb").split("\n") == ["a", *("*" * len(line) for line in key.split("\n")), "b"]


@pytest.mark.parametrize(
    ("name", "value", "telling"),
    [
        ("HF_TOKEN", WORD, True),
        ("hf-token", WORD, True),
        ("OpenAI_API_KEY", WORD, True),
        ("HF_TOKEN", "short", False),
        ("TOKENS", WORD, False),
        ("KEY", WORD, False),
    ],
)
def test_named(name: str, value: str, telling: bool) -> None:
    assert named(name, value) is telling
    assert shown(name, value) == (STARS if telling else value)


@given(st.text(st.sampled_from("aT_-=:\"'\\ \n\tTOKEN$`"), max_size=200) | st.text(max_size=60))
def test_masking_keeps_every_place(text: str) -> None:
    found = mask(text)
    assert len(found) == len(text)
    assert [at for at, letter in enumerate(found) if letter in "\r\n"] == [
        at for at, letter in enumerate(text) if letter in "\r\n"
    ]
    assert all(new in (old, "*") for old, new in zip(text, found, strict=True))


RECIPE = parse("r.toml", f'a = 1\nenv = {{ HF_TOKEN = "{WORD}", MY-VAR = "x", OTHER = "{HF}" }}\n')
BROKEN = f'env = {{ HF_TOKEN = "{WORD}" MY = "{HF}" }}'
FINDINGS = [
    Diagnostic("c", "m", Place(RECIPE, ("env", "MY-VAR"), "key")),
    Diagnostic("c", "m", Place(RECIPE, ("a",)), labels=(Label(Place(RECIPE, ("env", "OTHER")), f"it says {HF}"),)),
    Diagnostic("c", f"`HF_TOKEN={WORD}` is no name", None, notes=(HF,), help=f"export HF_TOKEN={WORD}"),
    Diagnostic("c", "m", Place(assignment(f'roles.worker.env.HF_TOKEN="{WORD}"'), ("roles",))),
    at("broken.toml", BROKEN, BROKEN.index("MY")),
    Diagnostic("c", "m", Place(Document("--unset", f"HF_TOKEN={WORD}", {}), offset=0, length=8)),
]


@pytest.mark.parametrize("name", FORMATS)
def test_no_report_tells_a_secret(name: str) -> None:
    for finding in FINDINGS:
        told = FORMATS[name]([finding])
        assert told and WORD not in told and HF not in told, told


def test_underlines_stay_where_they_were() -> None:
    told = FORMATS["full"](FINDINGS[:1]).split("\n")
    assert told[3:] == [
        f'2 | env = {{ HF_TOKEN = "{STARS}", MY-VAR = "x", OTHER = "{"*" * len(HF)}" }}',
        f"  | {' ' * 38}^^^^^^",
    ]


@given(st.from_regex(secret._VALUE, fullmatch=True))
def test_every_value_that_is_a_secret_has_a_mark(text: str) -> None:
    assert any(mark in text for mark in secret._MARKS)


@given(st.from_regex(secret._GIVEN, fullmatch=True))
def test_every_name_that_tells_is_looked_for(text: str) -> None:
    assert any(mark in text.casefold() for mark in secret._TELLING)
