"""Decoders with RMS norms, rotary positions and gates: Llama and what changed in it since."""

import transformers
from trial import Family, run_families

SIZES = dict(
    vocab_size=96,
    hidden_size=32,
    intermediate_size=40,
    num_hidden_layers=3,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
    attention_dropout=0.0,
    bos_token_id=1,
    eos_token_id=2,
    pad_token_id=0,
)
FAMILIES = [
    Family("llama", lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES))),
]

if __name__ == "__main__":
    run_families(FAMILIES)
