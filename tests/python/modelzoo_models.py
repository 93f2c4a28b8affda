"""Trains five models of a checkout of the ModelZoo, unmodified, beside the same code on PyTorch.

    python tests/python/modelzoo_models.py CHECKOUT [--steps 50] [--trainer] [MODEL ...]

CHECKOUT is a folder of github.com/Cerebras/modelzoo (release 2.10). Each model is made small by its
own configuration, without dropout, and trained in float32 by AdamW: by PyTorch on the CPU, and by
the engine, from the same weights with the same batches. A table of the losses' differences is
printed; the exit status is 1 where one is beyond 1e-5. With --trainer the ModelZoo's own Trainer
runs the engine's half.
"""

import argparse
import copy
import os
import shutil
import sys
import tempfile
import warnings

import torch

SAMPLES = 64
BATCH = 8
RATE = 1e-3
SEQUENCE = 16
TOLERANCE = 1e-5

DECODER = {
    "vocab_size": 96,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_heads": 4,
    "filter_size": 64,
    "max_position_embeddings": SEQUENCE,
    "embedding_dropout_rate": 0.0,
    "dropout_rate": 0.0,
    "attention_dropout_rate": 0.0,
}


def tokens(vocabulary=96):
    """Batches of a language model."""
    made = torch.Generator().manual_seed(1)
    ids = torch.randint(1, vocabulary, (SAMPLES, SEQUENCE), generator=made).int()
    mask = torch.ones_like(ids)
    mask[::3, SEQUENCE - 4 :] = 0
    return {"input_ids": ids, "attention_mask": mask, "labels": ids.roll(-1, 1)}


def masked_tokens():
    """Batches of BERT: masked words, and which sentence follows."""
    values = tokens()
    made = torch.Generator().manual_seed(2)
    predictions = 4
    positions = torch.stack([torch.randperm(SEQUENCE, generator=made) for _ in range(SAMPLES)])
    positions = positions[:, :predictions].int()
    return {
        "input_ids": values["input_ids"],
        "attention_mask": values["attention_mask"],
        "token_type_ids": (torch.arange(SEQUENCE) > SEQUENCE // 2).int().repeat(SAMPLES, 1),
        "masked_lm_positions": positions,
        "masked_lm_mask": torch.ones(SAMPLES, predictions).int(),
        "labels": values["input_ids"].gather(1, positions.long()),
        "next_sentence_label": torch.randint(0, 2, (SAMPLES,), generator=made).int(),
    }


def pictures(*shape):
    """(images, labels) of ten classes."""
    made = torch.Generator().manual_seed(3)
    images = torch.randn(SAMPLES, *shape, generator=made)
    return images, torch.randint(0, 10, (SAMPLES,), generator=made)


def fc_mnist():
    from cerebras.modelzoo.models.vision.fc_mnist.model import MNISTModel

    settings = {"name": "fc_mnist", "hidden_sizes": [64, 32], "activation_fn": "relu"}
    return MNISTModel(settings), pictures(1, 28, 28)


def gpt2():
    from cerebras.modelzoo.models.nlp.gpt2.model import GPT2ModelConfig, Gpt2Model

    return Gpt2Model(GPT2ModelConfig(name="gpt2", nonlinearity="gelu", **DECODER)), tokens()


def gpt3():
    from cerebras.modelzoo.models.nlp.gpt3.model import GPT3Model, GPT3ModelConfig

    return GPT3Model(GPT3ModelConfig(name="gpt3", **DECODER)), tokens()


def llama():
    from cerebras.modelzoo.models.nlp.llama.model import LlamaModel, LlamaModelConfig

    config = LlamaModelConfig(
        name="llama",
        position_embedding_type="rotary",
        rotary_dim=8,
        share_embedding_weights=False,
        norm_type="rmsnorm",
        use_projection_bias_in_attention=False,
        use_ffn_bias_in_attention=False,
        nonlinearity="swiglu",
        use_ffn_bias=False,
        use_bias_in_output=False,
        **DECODER,
    )
    return LlamaModel(config), tokens()


def bert():
    from cerebras.modelzoo.models.nlp.bert.bert_pretrain_models import BertForPreTrainingModelConfig
    from cerebras.modelzoo.models.nlp.bert.model import BertForPreTrainingModel

    settings = dict(DECODER)
    settings.pop("embedding_dropout_rate")
    config = BertForPreTrainingModelConfig(name="bert", mlm_loss_weight=0.058, **settings)
    return BertForPreTrainingModel(config), masked_tokens()


def vit():
    from cerebras.modelzoo.models.vision.vision_transformer.model import (
        VisionTransformerModelConfig,
        ViTClassificationWrapperModel,
    )

    settings = {k: v for k, v in DECODER.items() if k not in ("vocab_size", "filter_size")}
    settings.pop("max_position_embeddings")
    config = VisionTransformerModelConfig(
        name="vision_transformer",
        num_classes=10,
        filter_size=64,
        image_size=[16, 16],
        patch_size=[4, 4],
        num_channels=3,
        use_conv_patchified_embedding=True,
        prepend_cls_token=True,
        use_encoder_pooler_layer=False,
        **settings,
    )
    return ViTClassificationWrapperModel(config), pictures(3, 16, 16)


MODELS = {f.__name__: f for f in (fc_mnist, gpt2, gpt3, llama, bert, vit)}


class Rows(torch.utils.data.Dataset):
    """The samples of tensors that share their first axis, in a tuple or a dictionary."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        if isinstance(self.values, dict):
            return {name: value[index] for name, value in self.values.items()}
        return tuple(value[index] for value in self.values)


def make_loader(values):
    return torch.utils.data.DataLoader(Rows(values), batch_size=BATCH)


def torch_optimizer(model):
    return torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)


def on_pytorch(model, values, steps):
    """Losses of PyTorch's loop on the CPU."""
    optimizer = torch_optimizer(model)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - 0.9 * step / steps)
    losses = []
    while len(losses) < steps:
        for batch in make_loader(values):
            loss = model(copy.copy(batch))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()
            losses.append(loss.item())
            if len(losses) == steps:
                break
    return losses


def on_engine(model, values, steps, folder):
    """Losses of cstorch's loop."""
    import cerebras.pytorch as cstorch

    cstorch.configure(model_dir=folder)
    cstorch.compile(model)
    optimizer = cstorch.optim.convert(torch_optimizer(model))
    cstorch.optim.lr_scheduler.LinearLR(optimizer, RATE, RATE / 10, steps)
    losses = []

    @cstorch.trace
    def training_step(batch):
        loss = model(batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    @cstorch.step_closure
    def keep(loss):
        losses.append(loss.item())

    loader = cstorch.utils.data.DataLoader(make_loader, values)
    for batch in cstorch.utils.data.DataExecutor(loader, num_steps=steps):
        keep(training_step(batch))
    cstorch.finish()
    return losses


def on_trainer(model, values, steps, folder):
    """Losses of the ModelZoo's Trainer over the engine."""
    import cerebras.pytorch as cstorch
    from cerebras.modelzoo.trainer import Trainer
    from cerebras.modelzoo.trainer.callbacks import (
        Callback,
        CheckLoss,
        Checkpoint,
        DurationProfiler,
        Logging,
        ModelEvalMetrics,
        RateProfiler,
        TrainingLoop,
    )
    from cerebras.modelzoo.trainer.loggers import ProgressLogger

    losses = []

    class Losses(Callback):
        def on_train_batch_end(self, trainer, model, outputs, batch, batch_idx):
            self.keep(outputs["loss"])

        @cstorch.step_closure
        def keep(self, loss):
            losses.append(loss.item())

    trainer = Trainer(
        device="CSX",
        model_dir=folder,
        model=lambda: model,
        optimizer=lambda made: cstorch.optim.convert(torch_optimizer(made)),
        schedulers=[lambda made: cstorch.optim.lr_scheduler.LinearLR(made, RATE, RATE / 10, steps)],
        loop=TrainingLoop(max_steps=steps, eval_frequency=max(steps // 2, 1), eval_steps=2),
        checkpoint=Checkpoint(steps=max(steps // 2, 1)),
        logging=Logging(log_steps=10),
        callbacks=[Losses(), CheckLoss(), ModelEvalMetrics(), RateProfiler(), DurationProfiler()],
        loggers=[ProgressLogger()],
        seed=1,
    )
    data = cstorch.utils.data.DataLoader(make_loader, values)
    trainer.fit(data, cstorch.utils.data.DataLoader(make_loader, values))
    cstorch.finish()
    return losses


def import_torchvision():
    """Imports torchvision without its compiled operations, where these do not fit PyTorch: its
    Python functions for images are enough here."""
    kept = torch.library.register_fake
    torch.library.register_fake = lambda *_, **__: lambda function: function
    try:
        import torchvision  # noqa: F401
    except ImportError:
        pass
    finally:
        torch.library.register_fake = kept


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("checkout")
    arguments.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(MODELS))
    arguments.add_argument("--steps", type=int, default=50)
    arguments.add_argument("--trainer", action="store_true")
    given = arguments.parse_intermixed_args()
    source = os.path.join(given.checkout, "src")
    if not os.path.isdir(os.path.join(source, "cerebras", "modelzoo")):
        arguments.error(f"{given.checkout}: no src/cerebras/modelzoo in it")
    unknown = [name for name in given.models if name not in MODELS]
    if unknown:
        arguments.error(f"no model {unknown[0]}; accepted: {', '.join(MODELS)}")

    import_torchvision()
    import cstorch.as_cerebras  # noqa: F401 - answers the ModelZoo's imports

    sys.path.insert(0, source)
    warnings.simplefilter("ignore")
    worst = 0.0
    print(
        f"{'model':10} {'steps':>5} {'first loss':>11} {'last loss':>11} {'largest difference':>19}"
    )
    for name in given.models or MODELS:
        torch.manual_seed(0)
        model, values = MODELS[name]()
        model.train()
        reference = on_pytorch(copy.deepcopy(model), values, given.steps)
        folder = tempfile.mkdtemp(prefix="csengine-modelzoo-")
        try:
            run = on_trainer if given.trainer else on_engine
            losses = run(model, values, given.steps, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        assert len(losses) == given.steps, f"{name}: {len(losses)} losses"
        difference = max(abs(a - b) for a, b in zip(reference, losses))
        worst = max(worst, difference)
        print(
            f"{name:10} {given.steps:5} {reference[0]:11.6f} {reference[-1]:11.6f} "
            f"{difference:19.2e}",
            flush=True,
        )
    return 0 if worst <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
