"""GGUF files of BERT and of T5: llama.cpp computes from what we write what transformers computes from
the folder, and a folder that is made of the file is the one that it was made of.

Wants llama-cpp-python besides.
"""

import os
import sys

import gguf_files
import llama_cpp
import numpy
import torch
import transformers
import trial
from gguf_files import EQUAL, EXACT, TABLE
from trial import Family, near, run, run_families

TEXT, ANSWER = 12, 7  # tokens


def bert(**changes):
    sizes = dict(vocab_size=96, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=40)
    config = transformers.BertConfig(**sizes, max_position_embeddings=64, **changes)
    return lambda: transformers.BertModel(config)


def t5(kind, untied):
    sizes = dict(vocab_size=96, d_model=32, d_kv=8, d_ff=40, num_layers=3, num_decoder_layers=2, num_heads=4)
    config = transformers.T5Config(**sizes, feed_forward_proj=kind, scale_decoder_outputs=False)

    def make():
        model = transformers.T5ForConditionalGeneration(config)
        if untied:
            model.config.tie_word_embeddings = False
            model.lm_head.weight = torch.nn.Parameter(0.1 * torch.randn(96, 32))
        return model

    return make


FAMILIES = [
    Family("bert", bert(), tolerance=TABLE),
    Family("bert_one_segment", bert(type_vocab_size=1), tolerance=TABLE),
    Family("t5_untied", t5("relu", True), tolerance=EXACT),
    Family("t5_gated", t5("gated-gelu", True), tolerance=TABLE),
    Family("t5_gated_tied", t5("gated-gelu", False), tolerance=TABLE),
]


def batch_of(row):
    batch = llama_cpp.llama_batch_init(len(row), 0, 1)
    batch.n_tokens = len(row)
    for i, token in enumerate(row):
        batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, i, 1, 1
        batch.seq_id[i][0] = 0
    return batch


def llama_values(path, text, answer):
    """A vector of each token of a text; with an answer, the logits of each of its tokens."""
    gguf_files.said.clear()
    model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
    assert model, "".join(gguf_files.said)[-500:]
    settings = llama_cpp.llama_context_default_params()
    settings.n_ctx = settings.n_batch = settings.n_ubatch = 64
    settings.n_threads = settings.n_threads_batch = 1
    settings.flash_attn_type = settings.type_k = settings.type_v = 0
    settings.embeddings, settings.pooling_type = not answer, 0
    context = llama_cpp.llama_init_from_model(model, settings)
    assert context, "".join(gguf_files.said)[-500:]
    assert llama_cpp.llama_encode(context, batch_of(text)) == 0
    get, size, count = llama_cpp.llama_get_embeddings_ith, llama_cpp.llama_model_n_embd(model), len(text)
    if answer:
        assert llama_cpp.llama_decode(context, batch_of(answer)) == 0
        get, size, count = llama_cpp.llama_get_logits_ith, 96, len(answer)
    values = numpy.stack([numpy.ctypeslib.as_array(get(context, i), shape=(size,)).copy() for i in range(count)])
    llama_cpp.llama_free(context)
    llama_cpp.llama_model_free(model)
    return values


def their_values(model, text, answer):
    with torch.no_grad():
        if answer:
            return model(input_ids=torch.tensor([text]), decoder_input_ids=torch.tensor([answer])).logits[0].numpy()
        return model(torch.tensor([text])).last_hidden_state[0].numpy()


def attempt(family):
    result = {"name": family.name, "family": family.name}
    torch.manual_seed(9)
    model = trial.randomized(family.model())
    model.save_pretrained("theirs")
    text = torch.randint(2, family.vocabulary, (TEXT,)).tolist()
    answer = torch.randint(2, family.vocabulary, (ANSWER,)).tolist() if family.name.startswith("t5") else None
    wanted = their_values(model, text, answer)
    run("checkpoint", "convert", "theirs", "ours.gguf")
    result["llama_cpp"] = near("values of llama.cpp", llama_values("ours.gguf", text, answer), wanted, family.tolerance)
    run("checkpoint", "convert", "ours.gguf", "back")
    again = type(model).from_pretrained("back", dtype=torch.float32).eval()
    result["logits"] = near("values of the folder of the file", their_values(again, text, answer), wanted, EQUAL)
    run("checkpoint", "convert", "back", "again.gguf")
    with open("ours.gguf", "rb") as one, open("again.gguf", "rb") as other:
        result["same_bytes"] = one.read() == other.read()
    return result


if __name__ == "__main__":
    os.makedirs(os.path.join(sys.argv[2], "gguf"), exist_ok=True)
    os.chdir(os.path.join(sys.argv[2], "gguf"))
    sys.argv[2] = "."
    run_families(FAMILIES, attempt)
