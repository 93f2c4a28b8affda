"""Folders of GPT-like decoders as other programs write them: several files, PyTorch's archives,
elements of several types, names and keys of older versions."""

import json
import os

import gpt_like
import safetensors.torch
import torch
from trial import Family, run_families

SAFE = "model.safetensors"


def read(folder):
    return safetensors.torch.load_file(os.path.join(folder, SAFE))


def save(folder, tensors, name=SAFE):
    path = os.path.join(folder, name)
    if name.endswith(".bin"):
        torch.save(tensors, path)
    else:
        safetensors.torch.save_file(tensors, path, metadata={"format": "pt"})


def change_config(folder, change):
    path = os.path.join(folder, "config.json")
    with open(path) as file:
        config = json.load(file)
    change(config)
    with open(path, "w") as file:
        json.dump(config, file)


def in_one_archive(folder):
    save(folder, read(folder), "pytorch_model.bin")
    os.remove(os.path.join(folder, SAFE))


def in_several(kind):
    """Files with an index, `kind` their name with its end."""
    stem, end = kind.rsplit(".", 1)

    def alter(folder):
        tensors, parts, places = read(folder), 3, {}
        os.remove(os.path.join(folder, SAFE))
        for part in range(parts):
            name = f"{stem}-{part + 1:05}-of-{parts:05}.{end}"
            some = dict(list(tensors.items())[part::parts])
            save(folder, some, name)
            places.update(dict.fromkeys(some, name))
        size = sum(tensor.nbytes for tensor in tensors.values())
        with open(os.path.join(folder, kind + ".index.json"), "w") as file:
            json.dump({"metadata": {"total_size": size}, "weight_map": places}, file)

    return alter


def of_several_types(folder):
    """Norms in float32, the others in turns in float16 and bfloat16."""
    types, tensors = [torch.float16, torch.bfloat16], read(folder)
    for number, (name, tensor) in enumerate(tensors.items()):
        tensors[name] = tensor if "norm" in name else tensor.to(types[number % 2])
    save(folder, tensors)


def with_older_buffers(folder):
    """GPT-NeoX of transformers 4: masks and frequencies among the weights, other keys."""
    tensors = read(folder)
    for layer in range(3):
        name = f"gpt_neox.layers.{layer}.attention."
        tensors[name + "bias"] = torch.ones(1, 1, 64, 64, dtype=torch.bool).tril()
        tensors[name + "masked_bias"] = torch.tensor(-1e9)
        tensors[name + "rotary_emb.inv_freq"] = 1 / 10000 ** (torch.arange(0, 4, 2) / 4)
    save(folder, tensors)

    def change(config):
        del config["rope_parameters"]
        config.update(rotary_pct=0.25, rotary_emb_base=10000, torch_dtype=config.pop("dtype"))

    change_config(folder, change)


def renamed_keys(**names):
    def alter(folder):
        def change(config):
            for new, old in names.items():
                config[old] = config.pop(new)

        change_config(folder, change)

    return alter


def without_prefix(prefix):
    def alter(folder):
        save(folder, {name.removeprefix(prefix): tensor for name, tensor in read(folder).items()})

    return alter


def family(name, model, alter, **more):
    return Family(name, model, alter=alter, family=name.split("_in_")[0], **more)


NEOX = gpt_like.neox(rotary_pct=0.25, hidden_size=64)
FAMILIES = [
    family("gpt_neox_in_files", NEOX, in_several("model.safetensors")),
    family("gptj_in_one_archive", gpt_like.gptj(), in_one_archive),
    family("bloom_in_archives", gpt_like.bloom(), in_several("pytorch_model.bin")),
    # What transformers computes with was rounded, and is not what was saved.
    family("falcon_in_several_types", gpt_like.falcon(), of_several_types, tolerance=2e-2),
    family("gpt_neox_in_an_older_folder", NEOX, with_older_buffers),
    family("falcon_in_an_older_folder", gpt_like.falcon(), renamed_keys(hidden_size="n_embed")),
    family("bloom_in_an_older_folder", gpt_like.bloom(), without_prefix("transformer.")),
    family("opt_in_an_older_folder", gpt_like.opt(), without_prefix("model.")),
]

if __name__ == "__main__":
    run_families(FAMILIES)
