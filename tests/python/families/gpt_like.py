"""Decoders of GPT's kind: layer norms, biases, plain feed-forward networks, blocks of two parts one
after the other or side by side."""

import transformers
from trial import Family, run_families

SIZES = dict(
    vocab_size=96,
    hidden_size=32,
    num_hidden_layers=3,
    num_attention_heads=4,
    max_position_embeddings=64,
    bos_token_id=1,
    eos_token_id=2,
    pad_token_id=None,
)


def made(kind, config, **changes):
    """A model of such a class with these settings; a setting of None is left to the class."""
    settings = {**SIZES, **changes}
    left_out = [name for name in SIZES if settings[name] is None]
    return lambda: kind(config(**{k: v for k, v in settings.items() if k not in left_out}))


def neox(**changes):
    return made(transformers.GPTNeoXForCausalLM, transformers.GPTNeoXConfig, intermediate_size=80, **changes)


FAMILIES = [
    Family("gpt_neox", neox(rotary_pct=0.25, hidden_size=64)),
    Family("gpt_neox_all_rotated", neox(rotary_pct=1.0, tie_word_embeddings=True), family="gpt_neox"),
    Family("gpt_neox_sequential", neox(use_parallel_residual=False, rotary_pct=0.5), family="gpt_neox"),
    Family("gpt_neox_without_bias", neox(attention_bias=False, rotary_emb_base=500.0), family="gpt_neox"),
]

if __name__ == "__main__":
    run_families(FAMILIES)
