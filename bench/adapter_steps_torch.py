"""Training steps of an adapter in transformers and PEFT: the other side of adapter_steps.py.

    adapter_steps_torch.py make KIND FOLDER      random weights of a shape of a billion parameters
    adapter_steps_torch.py train FOLDER ADAPTER TEXT [options]

Samples, loss, optimizer and the adapter's initial factors are those of our run, so that losses can
be compared. What is known to be fastest is on: fused updates, gradients set to none, the attention
that PyTorch chooses, MKL's path for this processor (adapter_steps.py preloads it).
"""

import argparse
import json
import os
import resource
import sys
import time

import torch

sys.modules.setdefault("torchvision", None)  # not needed, and often of another PyTorch
import peft  # noqa: E402
import transformers  # noqa: E402

BILLION = dict(
    vocab_size=32000,
    hidden_size=2048,
    intermediate_size=5632,
    num_hidden_layers=22,
    num_attention_heads=32,
    num_key_value_heads=4,
    max_position_embeddings=2048,
    tie_word_embeddings=False,
)


def packed():
    return transformers.BitsAndBytesConfig(
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16
    )


def make(a):
    """A folder of random weights, plain in bfloat16 or packed in NF4."""
    torch.manual_seed(1)
    plain = os.path.join(a.folder, "plain") if a.kind == "nf4" else a.folder
    config = transformers.LlamaConfig(**BILLION)
    transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).save_pretrained(plain)
    if a.kind == "nf4":
        load = transformers.AutoModelForCausalLM.from_pretrained
        load(plain, quantization_config=packed(), device_map="cpu").save_pretrained(a.folder)


class Trainer:
    def __init__(self, a):
        options = {"dtype": torch.bfloat16 if a.base == "bfloat16" else torch.float32}
        if a.base == "nf4":
            options = {"dtype": torch.bfloat16, "device_map": "cpu"}
        model = transformers.AutoModelForCausalLM.from_pretrained(a.folder, **options)
        model.config.use_cache = False
        model = peft.PeftModel.from_pretrained(model, a.adapter, is_trainable=True)
        trained = [p for p in model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(trained, lr=a.rate, weight_decay=0.0, fused=True)
        self.model, self.a, self.step = model.train(), a, 0
        self.run = torch.compile(model) if a.compiled else model
        with open(a.text, "rb") as file:
            self.text = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8).long()

    def train(self):
        a = self.a
        first = self.step * a.batch * a.length
        block = self.text[first : first + a.batch * a.length + 1]
        self.step += 1
        inputs, labels = block[:-1].view(a.batch, a.length), block[1:]
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=a.base != "float32" or a.autocast):
            logits = self.run(input_ids=inputs, use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), labels)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def measured(self):
        """Milliseconds, and seconds of processor time of all threads."""
        begun, used = time.perf_counter(), time.process_time()
        self.train()
        return [(time.perf_counter() - begun) * 1e3, time.process_time() - used]


def train(a):
    torch.set_num_threads(a.threads)
    trainer = Trainer(a)
    print(json.dumps({"ready": torch.__version__}), flush=True)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "losses":
            answer = [trainer.train() for _ in range(int(words[1]))]
        elif words[0] == "steps":
            answer = [trainer.measured() for _ in range(int(words[1]))]
        elif words[0] == "peak":
            answer = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024e-6
        else:
            break
        print(json.dumps(answer), flush=True)
    os._exit(0)


def main():
    parser = argparse.ArgumentParser()
    kinds = parser.add_subparsers(required=True)
    one = kinds.add_parser("make")
    one.add_argument("kind", choices=["plain", "nf4"])
    one.add_argument("folder")
    one.set_defaults(run=make)
    one = kinds.add_parser("train")
    for name in ("folder", "adapter", "text"):
        one.add_argument(name)
    one.add_argument("--base", choices=["float32", "bfloat16", "nf4"], default="float32")
    one.add_argument("--autocast", action="store_true")
    one.add_argument("--compiled", action="store_true")
    one.add_argument("--length", type=int, default=512)
    one.add_argument("--batch", type=int, default=2)
    one.add_argument("--threads", type=int, default=1)
    one.add_argument("--rate", type=float, default=1e-3)
    one.set_defaults(run=train)
    a = parser.parse_args()
    a.run(a)


if __name__ == "__main__":
    main()
