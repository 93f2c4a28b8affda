"""Writes small models of the library transformers, of seeded weights, each as a folder of Hugging
Face, and losses.txt: the mean cross-entropy that each of them gives over text.txt, in float64.

The text's bytes are the tokens: samples of 16, each label is the byte that follows.
Run: python3 weights.py FOLDER"""
import json
import os
import sys

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
            torch.manual_seed(5)
            model = make().eval()
            for parameter in model.parameters():  # nothing stays 0 or 1, so that an order shows
                parameter.data += 0.3 * torch.randn_like(parameter)
            there = os.path.join(folder, make.__name__)
            model.save_pretrained(there)
            for name in os.listdir(there):
                if name not in KEPT:
                    os.remove(os.path.join(there, name))
            print(make.__name__, f"{loss_of(model.double(), data):.7f}", file=losses)


if __name__ == "__main__":
    main(sys.argv[1])
