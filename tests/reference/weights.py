"""Writes small models of the library transformers, of seeded weights, each as a folder of Hugging
Face; losses.txt: the mean cross-entropy that those of text give over text.txt, in float64;
values.txt: of bert the first logits of the first 16 bytes, of vit the most likely class of the
picture in images and its probability; and torch.pt with torch.safetensors: the same tensors by
torch.save and by the library safetensors.

The text's bytes are the tokens: samples of 16, each label is the byte that follows.
Run: python3 weights.py FOLDER"""
import os
import struct
import sys

import safetensors.torch
import torch
import transformers

TIME, TEXT = 16, ("The quick brown fox jumps over the lazy dog. Pack my box with five dozen liquor "
                  "jugs! How vexingly quick daft zebras jump; sphinx of black quartz, judge my vow.")
KEPT = ("config.json", "model.safetensors")


def gpt2():
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=128, n_positions=16, n_embd=12, n_layer=2, n_head=3, bos_token_id=0,
        eos_token_id=0))


def llama():
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=128, max_position_embeddings=32, hidden_size=16, intermediate_size=20,
        num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-5,
        bos_token_id=0, eos_token_id=0))


def bert():
    return transformers.BertForMaskedLM(transformers.BertConfig(
        vocab_size=128, hidden_size=12, num_hidden_layers=2, num_attention_heads=3,
        intermediate_size=16, max_position_embeddings=16))


def vit():
    return transformers.ViTForImageClassification(transformers.ViTConfig(
        hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=16,
        image_size=8, patch_size=4, num_channels=1, num_labels=5))


def seeded(make):
    torch.manual_seed(5)
    model = make().eval()
    for parameter in model.parameters():  # nothing stays 0 or 1, so that an order shows
        parameter.data += 0.3 * torch.randn_like(parameter)
    return model


def save(model, there):
    model.save_pretrained(there)
    for name in os.listdir(there):
        if name not in KEPT:
            os.remove(os.path.join(there, name))


def write_picture(folder):
    pixels = bytes(i * i * 7 % 256 for i in range(64))
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "train-images-idx3-ubyte"), "wb") as file:
        file.write(struct.pack(">IIII", 0x803, 1, 8, 8) + pixels)
    with open(os.path.join(folder, "train-labels-idx1-ubyte"), "wb") as file:
        file.write(struct.pack(">II", 0x801, 1) + bytes(1))
    return torch.tensor(list(pixels), dtype=torch.float64).reshape(1, 1, 8, 8) / 255


def write_tensors(folder):
    torch.manual_seed(6)
    whole = torch.arange(10.0)
    parts = {"model.weight": torch.randn(3, 5), "model.half": torch.randn(4).half(),
             "model.brain": torch.randn(2, 2).bfloat16(), "part": whole[3:7],
             "optimizer.state.0.step": torch.tensor(3.0), "flags": torch.tensor([True, False]),
             "numbers": torch.arange(300)}
    nested = {"model": {"weight": torch.nn.Parameter(parts["model.weight"]),
                        "half": parts["model.half"], "brain": parts["model.brain"]},
              "optimizer": {"state": {0: {"step": parts["optimizer.state.0.step"]}},
                            "param_groups": [{"lr": 0.1, "params": [0]}]},
              "part": whole[3:7], "flags": parts["flags"], "numbers": parts["numbers"],
              "epoch": 3, "large": 2**40, "name": "run", "shape": torch.Size([1, 2])}
    torch.save(nested, os.path.join(folder, "torch.pt"))
    safetensors.torch.save_file({name: value.clone() for name, value in parts.items()},
                                os.path.join(folder, "torch.safetensors"), {"format": "pt"})


def loss_of(model, data):
    count = (len(data) - 1) // TIME
    tokens = torch.tensor([list(data[i * TIME:i * TIME + TIME + 1]) for i in range(count)])
    with torch.no_grad():
        logits = model(tokens[:, :-1]).logits
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).item()


def main(folder):
    data = TEXT.encode()
    with open(os.path.join(folder, "text.txt"), "wb") as file:
        file.write(data)
    with open(os.path.join(folder, "losses.txt"), "w") as losses:
        for make in (gpt2, llama):
            model = seeded(make)
            save(model, os.path.join(folder, make.__name__))
            print(make.__name__, f"{loss_of(model.double(), data):.7f}", file=losses)
    with open(os.path.join(folder, "values.txt"), "w") as values, torch.no_grad():
        model = seeded(bert)
        save(model, os.path.join(folder, "bert"))
        logits = model.double()(torch.tensor([list(data[:TIME])])).logits
        print("bert", *(f"{value:.6f}" for value in logits[0, 0, :3].tolist()), file=values)
        model = seeded(vit)
        save(model, os.path.join(folder, "vit"))
        picture = write_picture(os.path.join(folder, "images"))
        likely = model.double()(pixel_values=picture).logits.softmax(1).max(1)
        print("vit", likely.indices.item(), f"{likely.values.item():.6f}", file=values)
    write_tensors(folder)


if __name__ == "__main__":
    main(sys.argv[1])
