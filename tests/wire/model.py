"""A model of 36 kB, made without a download: a Llama of two layers without weights, and a tokenizer of its own."""

import json
import sys
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

LINES = ("the quick brown fox jumps over the lazy dog", "hello world 0123456789", "one two three four five")


def make(folder: Path, experts: int) -> None:
    """Writes the model; with `experts` vLLM takes it for one of experts, although it is dense."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=384, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet)
    made.train_from_iterator(LINES, trainer)
    folder.mkdir(parents=True)
    made.save(str(folder / "tokenizer.json"))
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        # Attention on CPUs takes heads of 32 and more.
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "vocab_size": made.get_vocab_size(),
        "max_position_embeddings": 2048,
        "bos_token_id": 0,
        "eos_token_id": 1,
        "torch_dtype": "float32",
        **({"num_experts": experts} if experts else {}),
    }
    template = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
    said = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "</s>", "chat_template": template}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(said), encoding="utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1]), int(sys.argv[2]))
