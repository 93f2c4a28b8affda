"""Models that the package peft wraps train as on PyTorch: 20 steps from the same factors, with the
same batches; only what asks for a gradient is a state of the optimizer."""

import copy
import os
import sys
import unittest

import torch

sys.modules.setdefault("torchvision", None)  # not needed, and often of another version of PyTorch

import peft  # noqa: E402
import transformers  # noqa: E402

import cstorch  # noqa: E402
from programs import Case  # noqa: E402

STEPS, BATCH, LENGTH, WORDS = 20, 4, 12, 64
METHODS = {
    "lora": dict(r=4, lora_alpha=8, target_modules="all-linear"),
    "rslora": dict(r=2, use_rslora=True, target_modules=["q_proj", "v_proj"]),
    "dora": dict(r=4, use_dora=True, target_modules=["q_proj", "down_proj"]),
    "saved": dict(r=2, target_modules=["k_proj"], modules_to_save=["norm"]),
}
WORDS_OF_SAMPLES = torch.randint(
    0, WORDS, (STEPS * BATCH, LENGTH), generator=torch.Generator().manual_seed(1)
)


def base_model():
    torch.manual_seed(5)
    config = transformers.LlamaConfig(
        vocab_size=WORDS,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=LENGTH,
    )
    return transformers.LlamaForCausalLM(config)


def adapted(method):
    model = peft.get_peft_model(base_model(), peft.LoraConfig(**METHODS[method]))
    with torch.no_grad():
        for value in model.parameters():
            if value.requires_grad:
                value.add_(0.05 * torch.randn_like(value))
    return model


def reference_losses(model):
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    losses = []
    for ids in WORDS_OF_SAMPLES.split(BATCH):
        loss = model(input_ids=ids, labels=ids, use_cache=False).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def make_loader():
    data = torch.utils.data.TensorDataset(WORDS_OF_SAMPLES)
    return torch.utils.data.DataLoader(data, batch_size=BATCH)


class AdaptersTest(Case):
    def check(self, method):
        self.configure()
        model = adapted(method)
        expected = reference_losses(copy.deepcopy(model))
        model = cstorch.compile(model)
        optimizer = cstorch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
        loader = cstorch.utils.data.DataLoader(make_loader)
        losses = []

        @cstorch.trace
        def step(batch):
            ids = batch[0]
            loss = model(input_ids=ids, labels=ids, use_cache=False).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss

        @cstorch.step_closure
        def keep(loss):
            losses.append(loss.item())

        for batch in cstorch.utils.data.DataExecutor(loader, num_steps=STEPS):
            keep(step(batch))
        worst = max(abs(a - b) / b for a, b in zip(losses, expected))
        print(f"{method}: {losses[0]:.4f} to {losses[-1]:.4f}, largest difference {worst:.2g}")
        self.assertEqual(len(losses), STEPS)
        self.assertLess(worst, 1e-4)
        # As PEFT saves it, it is the adapter that was trained.
        folder = os.path.join(self.folder, "adapter")
        model.save_pretrained(folder)
        opened = peft.PeftModel.from_pretrained(base_model(), folder)
        ids = WORDS_OF_SAMPLES[:2]
        with torch.no_grad():
            saved = opened.eval()(input_ids=ids).logits
            trained = model.eval()(input_ids=ids).logits
        self.assertLess((saved - trained).abs().max().item(), 1e-5)

    def test_lora(self):
        self.check("lora")

    def test_rslora(self):
        self.check("rslora")

    def test_dora(self):
        self.check("dora")

    def test_saved(self):
        self.check("saved")


if __name__ == "__main__":
    unittest.main()
