"""A small GGUF file of each family, with the names of llama.cpp and random weights, and a reader of such files.

Usage: gguf_families.py write FOLDER, or gguf_families.py same ONE OTHER"""
import os
import random
import struct
import sys

import gguf_files

HIDDEN, WIDE, HEADS, GROUPS, LAYERS, TOKENS = 32, 40, 4, 2, 2, 48
HEAD = HIDDEN // HEADS


def facts(name, **more):
    own = {"block_count": LAYERS, "context_length": 64, "embedding_length": HIDDEN, "feed_forward_length": WIDE,
           "attention.head_count": HEADS, "vocab_size": TOKENS, **more}
    return {"general.architecture": name, **{f"{name}.{key}": value for key, value in own.items()}}


def norms(*names, bias=False, size=HIDDEN):
    return {f"{name}.{kind}": [size] for name in names for kind in (["weight", "bias"] if bias else ["weight"])}


def linear(bias=False, **layers):
    both = {}
    for name, (rows, columns) in layers.items():
        both[f"{name}.weight"] = [rows, columns]
        both.update({f"{name}.bias": [rows]} if bias else {})
    return both


GATED = linear(ffn_gate=(WIDE, HIDDEN), ffn_up=(WIDE, HIDDEN), ffn_down=(HIDDEN, WIDE))
QUERIES = linear(attn_q=(HIDDEN, HIDDEN), attn_k=(GROUPS * HEAD, HIDDEN), attn_v=(GROUPS * HEAD, HIDDEN), attn_output=(HIDDEN, HIDDEN))
LLAMA = {**norms("attn_norm", "ffn_norm"), **QUERIES, **GATED}
BIASES = {"attn_q.bias": [HIDDEN], "attn_k.bias": [GROUPS * HEAD], "attn_v.bias": [GROUPS * HEAD]}
EACH = norms("attn_q_norm", "attn_k_norm", size=HEAD)
AFTER = norms("post_attention_norm", "post_ffw_norm")
EXPERTS = {"ffn_gate_inp.weight": [3, HIDDEN], "ffn_gate_exps.weight": [3, WIDE, HIDDEN], "ffn_up_exps.weight": [3, WIDE, HIDDEN],
           "ffn_down_exps.weight": [3, HIDDEN, WIDE]}
SHARED = {"ffn_gate_inp_shexp.weight": [1, HIDDEN], **linear(ffn_gate_shexp=(24, HIDDEN), ffn_up_shexp=(24, HIDDEN), ffn_down_shexp=(HIDDEN, 24))}
PLAIN = linear(bias=True, ffn_up=(WIDE, HIDDEN), ffn_down=(HIDDEN, WIDE))
GPT = {**norms("attn_norm", "ffn_norm", bias=True), **linear(bias=True, attn_qkv=(3 * HIDDEN, HIDDEN), attn_output=(HIDDEN, HIDDEN)), **PLAIN}
RMS = {"attention.layer_norm_rms_epsilon": 1e-5, "attention.head_count_kv": GROUPS, "rope.freq_base": 500.0}
MIXED = {"expert_count": 3, "expert_used_count": 2}
LAYER_NORM = {"attention.layer_norm_epsilon": 1e-5}
LAST = norms("output_norm", bias=True)
OUTPUT = {"output.weight": [TOKENS, HIDDEN]}
TABLE = {"position_embd.weight": [64, HIDDEN]}
without = lambda layer, *begins: {name: shape for name, shape in layer.items() if not name.startswith(begins)}
GEMMA = {"attention.key_length": HEAD, "attention.value_length": HEAD}
# What becomes of it, facts, weights of a layer, others.
FAMILIES = {
    "llama": ("llama", RMS, LLAMA, OUTPUT),
    "qwen2": ("qwen2", RMS, {**LLAMA, **BIASES}, {}),
    "qwen3": ("qwen3", RMS, {**LLAMA, **EACH}, OUTPUT),
    "smollm3": ("smollm3", RMS, LLAMA, {}),
    "olmo2": ("olmo2", RMS, {**without(LLAMA, "attn_norm", "ffn_norm"), **AFTER, **norms("attn_q_norm"), **norms("attn_k_norm", size=GROUPS * HEAD)}, OUTPUT),
    "gemma": ("gemma", {**RMS, **GEMMA}, LLAMA, {}),
    "gemma2": ("gemma2", {**RMS, **GEMMA, "attention.sliding_window": 8, "attn_logit_softcapping": 2.5, "final_logit_softcapping": 3.5},
               {**LLAMA, **AFTER}, {}),
    "gemma3": ("gemma3_text", {**RMS, **GEMMA, "attention.sliding_window": 8}, {**LLAMA, **AFTER, **EACH}, {}),
    "phi3": ("phi3", {**RMS, "rope.dimension_count": HEAD}, {**norms("attn_norm", "ffn_norm"), "attn_qkv.weight": [HIDDEN + 2 * GROUPS * HEAD, HIDDEN],
                      "attn_output.weight": [HIDDEN, HIDDEN], "ffn_up.weight": [2 * WIDE, HIDDEN], "ffn_down.weight": [HIDDEN, WIDE]}, OUTPUT),
    "mixtral": ("mixtral", {**RMS, **MIXED}, {**without(LLAMA, "ffn_gate", "ffn_up", "ffn_down"), **EXPERTS}, OUTPUT),
    "qwen2moe": ("qwen2_moe", {**RMS, **MIXED, "expert_feed_forward_length": WIDE, "expert_shared_feed_forward_length": 24},
                 {**without(LLAMA, "ffn_gate", "ffn_up", "ffn_down"), **BIASES, **EXPERTS, **SHARED}, OUTPUT),
    "qwen3moe": ("qwen3_moe", {**RMS, **MIXED, "expert_feed_forward_length": WIDE},
                 {**without(LLAMA, "ffn_gate", "ffn_up", "ffn_down"), **EACH, **EXPERTS}, OUTPUT),
    "gpt2": ("gpt2", LAYER_NORM, GPT, {**LAST, **TABLE}),
    "gptneox": ("gpt_neox", {**LAYER_NORM, "rope.dimension_count": 4, "use_parallel_residual": True}, GPT, {**LAST, **OUTPUT}),
    "falcon": ("falcon", {**LAYER_NORM, "attention.head_count_kv": 1}, {**norms("attn_norm", bias=True), "attn_qkv.weight": [HIDDEN + 2 * HEAD, HIDDEN],
               "attn_output.weight": [HIDDEN, HIDDEN], **without(PLAIN, "ffn_up.bias", "ffn_down.bias")}, LAST),
    "bloom": ("bloom", {**LAYER_NORM, "feed_forward_length": 4 * HIDDEN}, {**without(GPT, "ffn_up", "ffn_down"),
              **linear(bias=True, ffn_up=(4 * HIDDEN, HIDDEN), ffn_down=(HIDDEN, 4 * HIDDEN))}, {**LAST, **norms("token_embd_norm", bias=True)}),
    "starcoder": ("gpt_bigcode", {**LAYER_NORM, "attention.head_count_kv": 1}, {**without(GPT, "attn_qkv"), "attn_qkv.weight": [HIDDEN + 2 * HEAD, HIDDEN],
                  "attn_qkv.bias": [HIDDEN + 2 * HEAD]}, {**LAST, **TABLE}),
    "starcoder2": ("starcoder2", {**LAYER_NORM, "attention.head_count_kv": GROUPS}, {**norms("attn_norm", "ffn_norm", bias=True), **QUERIES, **BIASES,
                   "attn_output.bias": [HIDDEN], **PLAIN}, LAST),
    "bert": ("bert", {**LAYER_NORM, "attention.causal": False, "pooling_type": 1}, {**norms("attn_output_norm", "layer_output_norm", bias=True),
             **linear(bias=True, attn_q=(HIDDEN, HIDDEN), attn_k=(HIDDEN, HIDDEN), attn_v=(HIDDEN, HIDDEN), attn_output=(HIDDEN, HIDDEN)), **PLAIN},
             {**norms("token_embd_norm", bias=True), "token_types.weight": [2, HIDDEN], **TABLE}),
}
ARCHITECTURES = {"mixtral": "llama"}
MORE = {"bert": {"tokenizer.ggml.token_type_count": 2}}


def family(name):
    _, more, layer, others = FAMILIES[name]
    rng = random.Random(name)
    shapes = {"token_embd.weight": [TOKENS, HIDDEN], **({} if name == "bert" else norms("output_norm")), **others}
    for number in range(LAYERS):
        shapes.update({f"blk.{number}.{key}": shape for key, shape in layer.items()})
    described = {**facts(ARCHITECTURES.get(name, name), **more), **MORE.get(name, {})}
    return gguf_files.file(described, [gguf_files.weight(rng, key, shape) for key, shape in shapes.items()])


class Reader:
    """The facts, without lists, and the weights of a file: {name: (shape, type, bytes)}."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.raw = file.read()
        self.at = 8
        count, facts_ = self.take("<QQ")
        self.facts = dict(self.fact() for _ in range(facts_))
        heads = [self.head() for _ in range(count)]
        begin = -(-self.at // 32) * 32
        self.weights = {}
        for name, shape, kind, at in heads:
            size = 4
            for part in shape:
                size *= part
            self.weights[name] = shape, kind, self.raw[begin + at : begin + at + size]

    def take(self, layout):
        values = struct.unpack_from(layout, self.raw, self.at)
        self.at += struct.calcsize(layout)
        return values if len(values) > 1 else values[0]

    def text(self):
        size = self.take("<Q")
        self.at += size
        return self.raw[self.at - size : self.at].decode()

    def fact(self):
        name, kind = self.text(), self.take("<I")
        return name, self.text() if kind == 8 else self.take({4: "<I", 6: "<f", 7: "<?"}[kind])

    def head(self):
        name, rank = self.text(), self.take("<I")
        shape = [self.take("<Q") for _ in range(rank)]
        return name, shape, *self.take("<IQ")


def check_same(one, other):
    """All that the one file says, the other says as well; weights with 1 more there may differ in the last bit."""
    a, b = Reader(one), Reader(other)
    for name, value in a.facts.items():
        assert b.facts.get(name) == value, (name, value, b.facts.get(name))
    assert sorted(a.weights) == sorted(b.weights), set(a.weights) ^ set(b.weights)
    for name, (shape, kind, raw) in a.weights.items():
        assert b.weights[name][:2] == (shape, kind), (name, shape, b.weights[name][:2])
        if raw != b.weights[name][2]:
            count = len(raw) // 4
            pairs = zip(struct.unpack(f"<{count}f", raw), struct.unpack(f"<{count}f", b.weights[name][2]))
            assert "norm" in name and "gemma" in a.facts["general.architecture"] and all(abs(x - y) <= 2e-7 for x, y in pairs), name


if __name__ == "__main__":
    if sys.argv[1] == "same":
        check_same(*sys.argv[2:])
    else:
        for name, (kind, *_) in FAMILIES.items():
            with open(os.path.join(sys.argv[2], f"{name}.gguf"), "wb") as out:
                out.write(family(name))
            print(name, kind)
