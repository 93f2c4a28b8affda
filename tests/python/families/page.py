"""Writes docs/families.md: the families of transformers' folders and of GGUF files, and what was
compared of each.

Usage: python3 page.py FAMILIES.jsonl... >docs/families.md, with what the files beside this one wrote.
"""

import json
import os
import re
import sys

MAPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "maps")

# Title, model_type, and how the names of its trials begin.
FAMILIES = [
    ("Llama 2 and 3, SmolLM2", "llama", ("llama", "smollm2")),
    ("Mistral", "mistral", ("mistral",)),
    ("Qwen2, Qwen2.5", "qwen2", ("qwen2",)),
    ("Qwen3", "qwen3", ("qwen3",)),
    ("SmolLM3", "smollm3", ("smollm3",)),
    ("Gemma", "gemma", ("gemma",)),
    ("Gemma 2", "gemma2", ("gemma2",)),
    ("Gemma 3, texts", "gemma3_text", ("gemma3",)),
    ("Phi-3, Phi-3.5, Phi-4", "phi3", ("phi3",)),
    ("OLMo 2", "olmo2", ("olmo2",)),
    ("Mixtral", "mixtral", ("mixtral",)),
    ("Qwen2-MoE", "qwen2_moe", ("qwen2_moe",)),
    ("Qwen3-MoE", "qwen3_moe", ("qwen3_moe",)),
    ("GPT-2", "gpt2", ("gpt2",)),
    ("GPT-NeoX, Pythia", "gpt_neox", ("gpt_neox",)),
    ("GPT-J", "gptj", ("gptj",)),
    ("OPT", "opt", ("opt",)),
    ("Falcon", "falcon", ("falcon",)),
    ("BLOOM", "bloom", ("bloom",)),
    ("StarCoder2", "starcoder2", ("starcoder2",)),
    ("GPT-BigCode (StarCoder)", "gpt_bigcode", ("gpt_bigcode",)),
    ("GPT-Neo", "gpt_neo", ("gpt_neo",)),
    ("CodeGen", "codegen", ("codegen",)),
    ("MPT", "mpt", ("mpt",)),
    ("Phi-1, Phi-2", "phi", ("phi",)),
    ("StableLM", "stablelm", ("stablelm",)),
    ("Cohere", "cohere", ("cohere",)),
    ("BERT, every head", "bert", ("Bert",)),
    ("RoBERTa, every head", "roberta", ("Roberta",)),
    ("XLM-RoBERTa, every head", "xlm-roberta", ("XLMRoberta",)),
    ("DistilBERT, every head", "distilbert", ("DistilBert",)),
    ("ModernBERT, every head", "modernbert", ("ModernBert",)),
    ("sentence-transformers", "bert, distilbert", ("sentences", "minilm")),
    ("T5", "t5", ("t5",)),
    ("Flan-T5", "t5", ("flan_t5",)),
    ("mT5", "mt5", ("mt5",)),
    ("ViT", "vit", ("vit",)),
    ("DeiT", "deit", ("deit",)),
    ("DINOv2", "dinov2, dinov2_with_registers", ("dinov2",)),
    ("ResNet", "resnet", ("resnet",)),
    ("CLIP", "clip", ("clip",)),
]

# Title, general.architecture, and how the names of its trials begin.
GGUF = [
    ("Llama 2 and 3, SmolLM2", "llama", ("llama", "smollm2")),
    ("Mistral", "llama", ("mistral",)),
    ("Mixtral", "llama", ("mixtral",)),
    ("Qwen2, Qwen2.5", "qwen2", ("qwen2",)),
    ("Qwen3", "qwen3", ("qwen3",)),
    ("Qwen2-MoE", "qwen2moe", ("qwen2_moe",)),
    ("Qwen3-MoE", "qwen3moe", ("qwen3_moe",)),
    ("SmolLM3", "smollm3", ("smollm3",)),
    ("Gemma", "gemma", ("gemma",)),
    ("Gemma 2", "gemma2", ("gemma2",)),
    ("Gemma 3, texts", "gemma3", ("gemma3",)),
    ("Phi-3, Phi-3.5, Phi-4", "phi3", ("phi3",)),
    ("OLMo 2", "olmo2", ("olmo2",)),
    ("GPT-2", "gpt2", ("gpt2",)),
    ("GPT-NeoX, Pythia", "gptneox", ("gpt_neox",)),
    ("Falcon", "falcon", ("falcon",)),
    ("BLOOM", "bloom", ("bloom",)),
    ("StarCoder2", "starcoder2", ("starcoder2",)),
    ("GPT-BigCode (StarCoder)", "starcoder", ("gpt_bigcode",)),
    ("BERT, vectors", "bert", ("bert",)),
    ("T5, Flan-T5", "t5", ("t5",)),
]


def family_of(name, families):
    """The family with the longest beginning."""
    fitting = [(len(begin), i) for i, row in enumerate(families) for begin in row[2] if name.startswith(begin)]
    assert fitting, f"{name}: of no family of this page"
    return max(fitting)[1]


def models_of(kinds):
    """Our models, by the maps of these model_types."""
    found = set()
    for name in os.listdir(MAPS):
        if not name.endswith(".yaml"):
            continue
        with open(os.path.join(MAPS, name), encoding="utf-8") as file:
            text = file.read()
        selected = re.search(r"^selects: \{model_type: ([\w-]+)", text, re.M)
        if selected and selected.group(1) in kinds.split(", "):
            found.add(re.search(r"^model: (\S+)", text, re.M).group(1))
    assert found, f"{kinds}: there is no map"
    return ", ".join(f"`{model}`" for model in sorted(found))


def worst(rows, key):
    values = [row[key] for row in rows if key in row]
    return f"{max(values):.1e}" if values else "-"


def gguf_table(trials):
    print("""
## GGUF files

The same of GGUF files in float32 (`tests/python/check_gguf_families.sh`): what llama.cpp computes from what we write, what we
compute from it (of encoders: transformers from the folder that is made of it), both relative to the range of what transformers
computes from the folder that it came from; and whether the folder that is made of the file makes the same bytes of a file.
llama.cpp takes GELU from a table of 16-bit floats, which the families with 1e-4 show.

| Family | `general.architecture` | Variants | llama.cpp differs by | Ours differ by | Same bytes |
|---|---|---|---|---|---|""")
    for i, (title, architecture, _) in enumerate(GGUF):
        rows = list(trials.get(i, {}).values())
        assert rows, f"not tried: {title}"
        same = sum(row["same_bytes"] for row in rows)
        print(f"| {title} | `{architecture}` | {len(rows)} | {worst(rows, 'llama_cpp')} | {worst(rows, 'logits')} | {same} of {len(rows)} |")
    print("""
Files of llama.cpp's own converter open with the same values; ours have the same weights, bit for bit, and its keys. Besides we say
`attention.key_length`, `attention.value_length` and `rope.dimension_count` of every Llama, a window (`attention.sliding_window`)
of Mistral, Qwen and StarCoder2, which llama.cpp does not compute (the command says so), and what Phi-3's scaling of positions is.
A factor of YaRN's attention is written as llama.cpp computes with it (`rope.scaling.attn_factor`); its converter writes the one of
transformers, from which llama.cpp computes other logits. Where the bytes differ, that factor has come back as a number of its own.

llama.cpp has neither OPT nor GPT-J, nor ALiBi, biases or blocks one after the other of Falcon. It cannot say windows of some
layers of Qwen, other layers without rotation than each fourth of SmolLM3, another scale of Gemma's scores than that of its
heads, layers without experts, renormalized experts of Qwen2-MoE or not renormalized ones of Qwen3-MoE, `dynamic` positions, or
`mscale` of YaRN: these are refused by the name of the setting. It does not divide the logits of T5 1.0 by the root of `d_model`
(they are larger by that factor there, in the same order), and of BERT it has no heads: the pooler is left out, and named.""")


def main():
    trials, gguf = {}, {}
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            for line in file:
                row = json.loads(line)
                some, families = (gguf, GGUF) if "llama_cpp" in row else (trials, FAMILIES)
                some.setdefault(family_of(row["name"], families), {})[row["name"]] = row
    print("""# Families of Hugging Face

Written by `tests/python/families/page.py` from what `tests/python/check_families.sh` compared with transformers. Each
family opens from its folder, trains, and leaves as a folder that transformers opens; `csengine checkpoint convert FOLDER
x.mdl --print_model` prints the section `model` for it. A map of [maps](weights.md#maps) describes each; a key that changes what is
computed and is not known is refused by its name.

Compared are small models with random weights of transformers' own classes, all parameters of which take part: logits in
float32, relative to their range; the losses of 20 steps of training, relative; and whether the folder that leaves has every
weight of that class and its logits. The figures are the worst of the variants that were tried: other norms, biases,
windows, scaled positions, tied or not, keys of older files, several heads.

| Family | `model_type` | Model here | Variants | Logits differ by | Losses differ by | Leaves |
|---|---|---|---|---|---|---|""")
    missing = []
    for i, (title, kinds, _) in enumerate(FAMILIES):
        rows = list(trials.get(i, {}).values())
        if not rows:
            missing.append(title)
            continue
        leaves = "yes" if all(row.get("export") for row in rows) else "in part"
        names = ", ".join(f"`{kind}`" for kind in kinds.split(", "))
        print(f"| {title} | {names} | {models_of(kinds)} | {len(rows)} | {worst(rows, 'logits')} | {worst(rows, 'losses')} | {leaves} |")
    assert not missing, f"not tried: {missing}"
    print("""
ESM-2 (`esm`) is compared by `tests/python/check_esm_folder.sh`. Of decoders the most likely texts were compared as well
(`tests/python/families/generation.py`), but for those whose positions are scaled by the length of the text: here by the length
that is asked for, from the first token on.

Not read: `umt5`, the pictures of `gemma3`, `whisper`, `deberta-v2`, `gpt_oss` and `deepseek_v3`. Positions at another size of
pictures than the model's are not interpolated.""")
    gguf_table(gguf)


if __name__ == "__main__":
    main()
