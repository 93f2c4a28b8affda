"""Decoders of GPT's kind: layer norms, biases, plain feed-forward networks, blocks of two parts one
after the other or side by side."""

import transformers as t
from trial import Family, run_families

SIZES = dict(vocab_size=96, bos_token_id=1, eos_token_id=2)
LONG = dict(hidden_size=32, num_hidden_layers=3, num_attention_heads=4, max_position_embeddings=64)
SHORT = dict(n_embd=32, n_layer=3, n_head=4, n_positions=64)


def made(kind, config, *names, **changes):
    """A model of such a class with these settings."""
    settings = dict(SIZES)
    for some in (*names, changes):
        settings.update(some)
    return lambda: kind(config(**settings))


def neox(**changes):
    return made(t.GPTNeoXForCausalLM, t.GPTNeoXConfig, LONG, dict(intermediate_size=80), **changes)


def gptj(**changes):
    return made(t.GPTJForCausalLM, t.GPTJConfig, SHORT, dict(rotary_dim=4), **changes)


def opt(**changes):
    # The row of the padding token is not trained there: its id is none of the text's.
    sizes = dict(ffn_dim=80, dropout=0.0, pad_token_id=97, vocab_size=98)
    return made(t.OPTForCausalLM, t.OPTConfig, LONG, sizes, **changes)


def falcon(**changes):
    return made(t.FalconForCausalLM, t.FalconConfig, LONG, **changes)


def falcon_heads(**changes):
    return falcon(multi_query=False, **changes)


def bloom(**changes):
    return made(t.BloomForCausalLM, t.BloomConfig, dict(hidden_size=32, n_layer=3, n_head=4), **changes)


def starcoder2(**changes):
    sizes = dict(intermediate_size=80, num_key_value_heads=2)
    return made(t.Starcoder2ForCausalLM, t.Starcoder2Config, LONG, sizes, **changes)


def without_dropout(kind, config, **changes):
    return made(kind, config, SHORT, dict(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0), **changes)


def bigcode(**changes):
    return without_dropout(t.GPTBigCodeForCausalLM, t.GPTBigCodeConfig, **changes)


def gpt2(**changes):
    return without_dropout(t.GPT2LMHeadModel, t.GPT2Config, **changes)


def phi(**changes):
    return made(t.PhiForCausalLM, t.PhiConfig, LONG, dict(intermediate_size=80), **changes)


def gpt_neo(**changes):
    sizes = dict(hidden_size=32, num_layers=4, num_heads=4, max_position_embeddings=64, window_size=5)
    return made(t.GPTNeoForCausalLM, t.GPTNeoConfig, sizes, **changes)


def mpt(**changes):
    return made(t.MptForCausalLM, t.MptConfig, dict(d_model=48, n_layers=3, max_seq_len=64), **changes)


def stablelm(**changes):
    sizes = dict(hidden_size=64, intermediate_size=40, num_key_value_heads=2)
    return made(t.StableLmForCausalLM, t.StableLmConfig, LONG, sizes, **changes)


def cohere(**changes):
    sizes = dict(intermediate_size=40, pad_token_id=97, vocab_size=98, logit_scale=0.5)
    return made(t.CohereForCausalLM, t.CohereConfig, LONG, sizes, **changes)


FAMILIES = [
    Family("gpt_neox", neox(rotary_pct=0.25, hidden_size=64)),
    Family("gpt_neox_all_rotated", neox(rotary_pct=1.0, tie_word_embeddings=True), family="gpt_neox"),
    Family("gpt_neox_sequential", neox(use_parallel_residual=False, rotary_pct=0.5), family="gpt_neox"),
    Family("gpt_neox_without_bias", neox(attention_bias=False, rotary_emb_base=500.0), family="gpt_neox"),
    Family("gptj", gptj()),
    Family("gptj_tied", gptj(tie_word_embeddings=True, rotary_dim=8, n_inner=48), family="gptj"),
    Family("opt", opt()),
    Family("opt_350m", opt(do_layer_norm_before=False, word_embed_proj_dim=16), family="opt"),
    Family("opt_without_last_norm", opt(_remove_final_layer_norm=True, word_embed_proj_dim=16), family="opt"),
    Family("opt_without_bias", opt(enable_bias=False, layer_norm_elementwise_affine=False), family="opt"),
    Family("opt_untied", opt(tie_word_embeddings=False, activation_function="gelu"), family="opt"),
    Family("falcon", falcon()),
    Family("falcon_7b_with_bias", falcon(bias=True, ffn_hidden_size=72, tie_word_embeddings=False), family="falcon"),
    Family("falcon_40b", falcon(new_decoder_architecture=True, num_kv_heads=2), family="falcon"),
    Family(
        "falcon_11b",
        falcon(new_decoder_architecture=True, num_kv_heads=2, num_ln_in_parallel_attn=1, rope_theta=500.0),
        family="falcon",
    ),
    Family("falcon_rw", falcon_heads(alibi=True, parallel_attn=False, bias=True), family="falcon"),
    Family(
        "falcon_rw_6_heads",
        falcon_heads(alibi=True, parallel_attn=False, bias=True, hidden_size=48, num_attention_heads=6),
        family="falcon",
    ),
    Family("falcon_rotary_heads", falcon_heads(), family="falcon"),
    Family("falcon_alibi_7b", falcon(alibi=True), family="falcon"),
    Family("bloom", bloom()),
    Family("bloom_6_heads", bloom(n_head=6, hidden_size=48), family="bloom"),
    Family("bloom_residual_of_norm", bloom(apply_residual_connection_post_layernorm=True), family="bloom"),
    Family("bloom_untied", bloom(tie_word_embeddings=False), family="bloom"),
    Family("starcoder2", starcoder2()),
    Family("starcoder2_window", starcoder2(sliding_window=5, rope_theta=500.0), family="starcoder2"),
    Family("starcoder2_without_bias", starcoder2(use_bias=False, tie_word_embeddings=False), family="starcoder2"),
    Family("gpt_bigcode", bigcode()),
    Family("gpt_bigcode_heads", bigcode(multi_query=False, tie_word_embeddings=False), family="gpt_bigcode"),
    Family("gpt_bigcode_not_scaled", bigcode(scale_attn_weights=False, n_inner=48), family="gpt_bigcode"),
    Family("gpt2", gpt2()),
    Family("gpt2_untied", gpt2(tie_word_embeddings=False, scale_attn_weights=False), family="gpt2"),
    Family("phi", phi()),
    Family("phi_groups", phi(num_key_value_heads=2, partial_rotary_factor=0.25, hidden_size=64), family="phi"),
    Family("codegen", made(t.CodeGenForCausalLM, t.CodeGenConfig, SHORT, rotary_dim=4, n_head=8, n_embd=64)),
    Family("gpt_neo", gpt_neo(attention_types=[[["global", "local"], 2]])),
    Family("gpt_neo_global", gpt_neo(attention_types=[[["global"], 4]], intermediate_size=48), family="gpt_neo"),
    Family("mpt", mpt(n_heads=4)),
    Family("mpt_6_heads", mpt(n_heads=6), family="mpt"),
    Family("stablelm", stablelm()),
    Family("stablelm_parallel", stablelm(use_parallel_residual=True, use_qkv_bias=True), family="stablelm"),
    Family("cohere", cohere()),
    Family("cohere_with_bias", cohere(attention_bias=True, num_key_value_heads=2), family="cohere"),
]

if __name__ == "__main__":
    run_families(FAMILIES)
