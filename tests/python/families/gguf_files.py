"""GGUF files of decoders: llama.cpp computes from what we write what transformers computes from the
folder, we do from it as well, and a folder that is made of it is the one that it was made of.

Only settings that GGUF has a place for: where the other files beside this one try others, they are
refused by name. Wants llama-cpp-python besides.
"""

import ctypes
import os
import sys

import expert_like
import gpt_like
import llama_cpp
import llama_like
import numpy
import torch
import trial
from trial import near, run, run_families

# llama.cpp takes GELU from a table of 16-bit floats, by tanh even where a model has it by erf.
EXACT, TABLE, ERF = 1e-5, 1e-3, 5e-3
EQUAL = 2e-6  # of what we compute from either


def of(module, name, kind, tolerance=EXACT, **changes):
    """A family of another file beside this one, with other settings."""
    if module is llama_like:
        found = llama_like.family(name, kind, **changes)
    elif module is expert_like:
        found = trial.Family(name, getattr(expert_like, kind)(**changes))
    else:
        found = trial.Family(name, getattr(gpt_like, kind)(**changes))
    found.tolerance = tolerance
    return found


def llama(name, kind="Llama", tolerance=EXACT, **changes):
    return of(llama_like, name, kind, tolerance, **changes)


def gpt(name, kind, tolerance=TABLE, **changes):
    return of(gpt_like, name, kind, tolerance, **changes)


LLAMA3 = {**llama_like.LLAMA3, "rope_theta": 100.0}
YARN = {**llama_like.YARN, "rope_theta": 100.0}
LISTS = {**llama_like.LISTS, "rope_type": "longrope", "rope_theta": 100.0}
LINEAR = {"rope_type": "linear", "factor": 3.0, "rope_theta": 500.0}
GEMMA = dict(llama_like.GEMMA, query_pre_attn_scalar=12)
LONG = dict(sliding_window=4096)  # longer than any text: llama.cpp has no windows in these families
FAMILIES = [
    llama("llama"),
    llama("llama_tied", tie_word_embeddings=True, num_key_value_heads=1),
    llama("llama_biases", head_dim=12, attention_bias=True, mlp_bias=True),
    llama("llama_linear", rope_parameters=LINEAR),
    llama("llama_llama3", rope_parameters=LLAMA3),
    llama("llama_yarn", rope_parameters=YARN),
    llama("llama_yarn_betas", rope_parameters={**YARN, "beta_fast": 8.0, "beta_slow": 2.0}),
    llama("llama_yarn_factor", rope_parameters={**YARN, "attention_factor": 1.5}),
    llama("llama_longrope", rope_parameters={**LISTS, "factor": 4.0, "original_max_position_embeddings": 16}),
    llama("smollm2", tie_word_embeddings=True, num_attention_heads=8),
    llama("mistral", "Mistral", head_dim=12, **LONG),
    llama("mistral_full", "Mistral", sliding_window=None),
    llama("qwen2", "Qwen2"),
    llama("qwen2_tied", "Qwen2", tie_word_embeddings=True, rope_parameters=YARN),
    llama("qwen3", "Qwen3", head_dim=12),
    llama("qwen3_tied", "Qwen3", head_dim=8, tie_word_embeddings=True, rope_parameters=YARN),
    llama("smollm3", "SmolLM3", num_hidden_layers=5, no_rope_layer_interval=4),
    llama("gemma", "Gemma", TABLE, head_dim=12, num_key_value_heads=1),
    llama("gemma2", "Gemma2", TABLE, **GEMMA, sliding_window=5, attn_logit_softcapping=2.0, final_logit_softcapping=3.0),
    llama("gemma3_text", "Gemma3Text", TABLE, **GEMMA, num_hidden_layers=7, sliding_window=5),
    llama(
        "gemma3_text_linear",
        "Gemma3Text",
        TABLE,
        **GEMMA,
        num_hidden_layers=6,
        sliding_window=5,
        rope_parameters={
            "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
        },
    ),
    llama("phi3", "Phi3", sizes=llama_like.PHI, **LONG),
    llama(
        "phi3_partial",
        "Phi3",
        sizes=llama_like.PHI,
        rope_parameters={"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.5},
        tie_word_embeddings=True,
    ),
    llama("phi3_longrope", "Phi3", sizes=llama_like.PHI, original_max_position_embeddings=16, rope_parameters=LISTS),
    llama("olmo2", "Olmo2"),
    of(expert_like, "mixtral", "mixtral"),
    of(expert_like, "qwen2_moe", "qwen2_moe"),
    of(expert_like, "qwen3_moe", "qwen3_moe", norm_topk_prob=True),
    gpt("gpt2", "gpt2"),
    gpt("gpt2_untied", "gpt2", tie_word_embeddings=False),
    gpt("gpt_neox", "neox", ERF, rotary_pct=0.25, hidden_size=64),
    gpt("gpt_neox_sequential", "neox", ERF, use_parallel_residual=False, rotary_pct=0.5),
    gpt("falcon", "falcon", ERF),
    gpt("falcon_40b", "falcon", ERF, new_decoder_architecture=True, num_kv_heads=2, rope_theta=500.0),
    gpt("falcon_heads", "falcon_heads", ERF, tie_word_embeddings=False),
    gpt("bloom", "bloom"),
    gpt("bloom_6_heads", "bloom", n_head=6, hidden_size=48, tie_word_embeddings=False),
    gpt("starcoder2", "starcoder2"),
    gpt("starcoder2_window", "starcoder2", rope_theta=500.0, tie_word_embeddings=False, **LONG),
    gpt("gpt_bigcode", "bigcode"),
    gpt("gpt_bigcode_heads", "bigcode", multi_query=False, tie_word_embeddings=False),
]

said = []


@ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
def keep(level, text, _):
    said.append(text.decode("utf-8", "replace"))


llama_cpp.llama_log_set(ctypes.cast(keep, llama_cpp.llama_log_callback), ctypes.c_void_p(0))
llama_cpp.llama_backend_init()


def their_decoding(model, row):
    """All logits of one text."""
    settings = llama_cpp.llama_context_default_params()
    settings.n_ctx = max(len(row), 8)
    settings.n_threads = settings.n_threads_batch = 1
    settings.flash_attn_type = 0
    settings.type_k = settings.type_v = 0  # float32
    context = llama_cpp.llama_init_from_model(model, settings)
    assert context, "".join(said)[-500:]
    batch = llama_cpp.llama_batch_init(len(row), 0, 1)
    batch.n_tokens = len(row)
    for i, token in enumerate(row):
        batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, i, 1, 1
        batch.seq_id[i][0] = 0
    assert llama_cpp.llama_decode(context, batch) == 0
    size = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
    rows = [llama_cpp.llama_get_logits_ith(context, i) for i in range(len(row))]
    logits = numpy.stack([numpy.ctypeslib.as_array(one, shape=(size,)).copy() for one in rows])
    llama_cpp.llama_batch_free(batch)
    llama_cpp.llama_free(context)
    return logits


def llama_logits(path, tokens):
    said.clear()
    model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
    assert model, "".join(said)[-500:]
    logits = numpy.stack([their_decoding(model, row) for row in tokens])
    llama_cpp.llama_model_free(model)
    return logits


def attempt(family):
    result = {"name": family.name, "family": family.family or family.name}
    torch.manual_seed(9)
    model = trial.randomized(family.model())
    model.save_pretrained("theirs")
    data = torch.randint(0, family.vocabulary, (trial.STEPS * trial.BATCH * family.time + 1,)).tolist()
    with open("text.bin", "wb") as file:
        file.write(bytes(data))
    tokens = [data[i * family.time : (i + 1) * family.time] for i in range(2)]
    wanted = trial.their_logits(model, torch.tensor(tokens))
    run("checkpoint", "convert", "theirs", "ours.gguf")
    result["llama_cpp"] = near("logits of llama.cpp", llama_logits("ours.gguf", tokens), wanted, family.tolerance)
    section, _ = run("checkpoint", "convert", "ours.gguf", "x.mdl", "--print_model")
    trial.write_run(family, section)
    result["logits"] = near("our logits of the file", trial.our_logits(family, "ours.gguf"), wanted, EQUAL)
    run("checkpoint", "convert", "ours.gguf", "back")
    again = trial.their_logits(trial.reopened(model, "back"), torch.tensor(tokens))
    near("logits of the folder of the file", again, wanted, EQUAL)
    run("checkpoint", "convert", "back", "again.gguf")
    with open("ours.gguf", "rb") as one, open("again.gguf", "rb") as other:
        result["same_bytes"] = one.read() == other.read()
    return result


if __name__ == "__main__":
    os.makedirs(os.path.join(sys.argv[2], "gguf"), exist_ok=True)
    os.chdir(os.path.join(sys.argv[2], "gguf"))
    sys.argv[2] = "."
    run_families(FAMILIES, attempt)
