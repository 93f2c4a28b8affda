"""Models of the transformers package, unmodified and small, train as on PyTorch: 20 steps of AdamW
in float32 without dropout, from the same weights, with the same batches."""

import copy
import sys
import unittest

import torch

sys.modules.setdefault("torchvision", None)  # not needed, and often of another version of PyTorch

import transformers  # noqa: E402

import cstorch  # noqa: E402
from programs import Case  # noqa: E402

STEPS = 20
BATCH = 4
LENGTH = 12
WORDS = 64
SAMPLES = 16


def words(seed=1):
    return torch.randint(2, WORDS, (SAMPLES, LENGTH), generator=torch.Generator().manual_seed(seed))


def classes(count):
    return torch.randint(0, count, (SAMPLES,), generator=torch.Generator().manual_seed(7))


def padded():
    """Which words are there: sentences of different lengths."""
    lengths = torch.randint(4, LENGTH + 1, (SAMPLES,), generator=torch.Generator().manual_seed(8))
    return (torch.arange(LENGTH) < lengths[:, None]).long()


def gpt2():
    config = transformers.GPT2Config(
        vocab_size=WORDS,
        n_positions=LENGTH,
        n_embd=32,
        n_layer=2,
        n_head=4,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
    )
    ids = words()
    return transformers.GPT2LMHeadModel(config), {"input_ids": ids, "labels": ids}


def llama():
    config = transformers.LlamaConfig(
        vocab_size=WORDS,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=LENGTH,
        attention_dropout=0.0,
    )
    ids = words(2)
    return transformers.LlamaForCausalLM(config), {"input_ids": ids, "labels": ids}


def bert():
    config = transformers.BertConfig(
        vocab_size=WORDS,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=LENGTH,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        num_labels=3,
    )
    model = transformers.BertForSequenceClassification(config)
    return model, {"input_ids": words(3), "attention_mask": padded(), "labels": classes(3)}


def vit():
    config = transformers.ViTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        image_size=16,
        patch_size=4,
        num_labels=5,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    images = torch.randn(SAMPLES, 3, 16, 16, generator=torch.Generator().manual_seed(9))
    return transformers.ViTForImageClassification(config), {
        "pixel_values": images,
        "labels": classes(5),
    }


def t5():
    config = transformers.T5Config(
        vocab_size=WORDS,
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        dropout_rate=0.0,
        decoder_start_token_id=0,
    )
    return transformers.T5ForConditionalGeneration(config), {
        "input_ids": words(4),
        "attention_mask": padded(),
        "labels": words(5),
    }


def loader(values):
    rows = [{k: v[i] for k, v in values.items()} for i in range(SAMPLES)]
    return torch.utils.data.DataLoader(rows, batch_size=BATCH)


def torch_optimizer(model):
    return torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)


class Transformers(Case):
    def compare(self, make):
        torch.manual_seed(4)
        model, values = make()
        model.train()
        reference = copy.deepcopy(model)
        optimizer = torch_optimizer(reference)
        expected = []
        while len(expected) < STEPS:
            for batch in loader(values):
                loss = reference(**batch).loss
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                expected.append(loss.item())
        self.assertLess(expected[-1], expected[0])

        self.configure()
        cstorch.compile(model)
        optimizer = cstorch.optim.convert(torch_optimizer(model))

        @cstorch.trace
        def step(batch):
            loss = model(**batch).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss

        data = cstorch.utils.data.DataLoader(loader, values)
        losses = [float(loss) for loss in self.run_step(step, data, steps=STEPS)]
        worst = max(abs(a - b) for a, b in zip(expected, losses))
        print(
            f"{make.__name__}: {losses[0]:.5f} to {losses[-1]:.5f}, largest difference {worst:.1e}"
        )
        self.assertEqual(len(losses), STEPS)
        self.assertLess(worst, 1e-5)
        for name, parameter in model.named_parameters():
            other = reference.get_parameter(name)
            self.assertTrue(torch.allclose(parameter, other, rtol=0, atol=2e-4), name)


for _make in (gpt2, llama, bert, vit, t5):
    setattr(Transformers, f"test_{_make.__name__}", lambda self, make=_make: self.compare(make))


if __name__ == "__main__":
    unittest.main()
