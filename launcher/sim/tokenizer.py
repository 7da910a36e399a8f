"""What a router needs to turn text into tokens itself: the model's own files, else a tokenizer of bytes.

Formats: `tokenizer.json` of Hugging Face's tokenizers 0.23, and the archive that smg-grpc-servicer 0.14.1 sends.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

END = 256
"""The token after which a text is over; those below it are bytes."""
_END = "<|end|>"
_NAMES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "config.json",
    "generation_config.json",
    "special_tokens_map.json",
    "vocab.json",
    "merges.txt",
    "tokenizer.model",
    "tiktoken.model",
    "chat_template.json",
)
_KINDS = ("*.tiktoken", "*.jinja", "*.model")
_CHUNK = 64 * 1024
# The words of all messages, as the simulated engine itself reads a chat.
_TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% if not loop.last %} {% endif %}{% endfor %}"


@dataclass(frozen=True)
class Archive:
    """A zip archive of a tokenizer's files, and its SHA-256."""

    content: bytes
    digest: str

    def chunks(self) -> Iterator[tuple[bytes, str]]:
        """Its pieces; the last comes with the digest."""
        for start in range(0, len(self.content), _CHUNK):
            last = start + _CHUNK >= len(self.content)
            yield self.content[start : start + _CHUNK], self.digest if last else ""


def archive(model: str) -> Archive:
    """The tokenizer in the folder `model`; that of bytes where there is none."""
    folder = Path(model)
    try:
        found = dict(_files(folder)) if (folder / "tokenizer.json").is_file() else {}
    except OSError:
        found = {}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in (found or dict(_own())).items():
            made.writestr(zipfile.ZipInfo(name), content)
    content = packed.getvalue()
    return Archive(content, hashlib.sha256(content).hexdigest())


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    kinds = (path for kind in _KINDS for path in sorted(folder.glob(kind)))
    for path in (*(folder / name for name in _NAMES), *kinds):
        if path.is_file():
            yield path.name, path.read_bytes()


def _own() -> Iterator[tuple[str, bytes]]:
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    tokenizer: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": END, "content": _END, **flags}],
        "normalizer": None,
        "pre_tokenizer": level,
        "post_processor": None,
        "decoder": level,
        "model": {"type": "BPE", "vocab": {**_letters(), _END: END}, "merges": []},
    }
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": END + 1, "eos_token_id": END}
    said = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": _END, "chat_template": _TEMPLATE}
    for name, data in (("tokenizer.json", tokenizer), ("config.json", config), ("tokenizer_config.json", said)):
        yield name, json.dumps(data).encode()


def _letters() -> dict[str, int]:
    """The letter that stands for each byte in a byte-level vocabulary: itself where it can be seen, else one from 256
    on, in order.
    """
    seen = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return {chr(byte if byte in seen else next(others)): byte for byte in range(0x100)}
