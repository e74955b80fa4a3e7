"""A policy small enough to train on a CPU in seconds: random weights, and a tokenizer trained on the spot."""

from __future__ import annotations

from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM, set_seed

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_TEXTS = (
    "Archive the newsletter, then write a haiku about it.",
    '{"name": "archive", "arguments": {"id": 7}}',
)


def tokenizer(chat_template: str) -> Any:
    """Every byte is a token, so that whatever is generated can be decoded, and no hub is asked."""
    built = Tokenizer(models.BPE())
    built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    built.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    built.train_from_iterator(
        _TEXTS,
        trainers.BpeTrainer(
            vocab_size=320, special_tokens=list(SPECIAL), initial_alphabet=alphabet, show_progress=False
        ),
    )
    made = PreTrainedTokenizerFast(
        tokenizer_object=built,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        padding_side="left",
        model_input_names=["input_ids", "attention_mask"],
    )
    made.chat_template = chat_template
    return made


def policy(tokens: Any) -> Any:
    """A Qwen2 of 16 dimensions and one layer."""
    set_seed(0)
    return Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tokens),
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=1,
            max_position_embeddings=2048,
            eos_token_id=tokens.eos_token_id,
            pad_token_id=tokens.pad_token_id,
            bos_token_id=None,
        )
    )
