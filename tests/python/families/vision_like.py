"""Networks of images: vision transformers and residual networks, and CLIP's two towers."""

import json
import os

import torch
import transformers
from trial import RATE, STEPS, TOLERANCE, Family, near, numpy, our_losses, randomized, reopened, run, run_families

BATCH, CHANNELS, CLASSES, WORDS, TIME = 4, 3, 5, 30, 9
SIZES = dict(
    image_size=16, patch_size=4, num_channels=CHANNELS, hidden_size=24, num_hidden_layers=3, num_attention_heads=3, num_labels=CLASSES
)
VIT = {**SIZES, "intermediate_size": 40}


def vit(kind=transformers.ViTForImageClassification, **changes):
    return kind(transformers.ViTConfig(**{**VIT, **changes}))


def deit(kind):
    return kind(transformers.DeiTConfig(**VIT))


def dinov2(kind=transformers.Dinov2ForImageClassification, **changes):
    return kind(transformers.Dinov2Config(**{**SIZES, **changes}))


def registers(kind=transformers.Dinov2WithRegistersForImageClassification, **changes):
    return kind(transformers.Dinov2WithRegistersConfig(**{**SIZES, **changes}))


def resnet(**changes):
    sizes = dict(embedding_size=8, hidden_sizes=[16, 32], depths=[2, 2], num_labels=CLASSES)
    model = transformers.ResNetForImageClassification(transformers.ResNetConfig(**{**sizes, **changes}))
    for name, buffer in model.named_buffers():
        if "running" in name:
            buffer.add_(0.2 * torch.rand_like(buffer))
    return model


def clip(end=WORDS - 1, **changes):
    text = dict(vocab_size=WORDS, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2)
    text.update(max_position_embeddings=TIME, eos_token_id=end, bos_token_id=0, pad_token_id=1)
    vision = {key: value for key, value in VIT.items() if key != "num_labels"}
    config = transformers.CLIPConfig(text_config=text, vision_config={**vision, **changes}, projection_dim=8)
    return transformers.CLIPModel(config)


FAMILIES = [
    Family("vit", vit, family="ViT"),
    Family("vit_no_bias", lambda: vit(qkv_bias=False, patch_size=8), family="ViT"),
    Family("vit_base_model", lambda: vit(transformers.ViTModel), family="ViT", train=False),
    Family("vit_oblong", lambda: vit(image_size=[16, 8]), family="ViT"),
    Family("deit", lambda: deit(transformers.DeiTForImageClassification), family="DeiT"),
    Family("deit_teacher", lambda: deit(transformers.DeiTForImageClassificationWithTeacher), family="DeiT"),
    Family("dinov2", dinov2, family="DINOv2"),
    Family("dinov2_base_model", lambda: dinov2(transformers.Dinov2Model), family="DINOv2", train=False),
    Family("dinov2_giant", lambda: dinov2(use_swiglu_ffn=True), family="DINOv2"),
    Family("dinov2_with_registers", registers, family="DINOv2"),
    Family("dinov2_registers_base", lambda: registers(transformers.Dinov2WithRegistersModel, num_register_tokens=3), family="DINOv2", train=False),
    Family("resnet", resnet, family="ResNet"),
    Family("resnet_basic", lambda: resnet(layer_type="basic", hidden_sizes=[8, 16, 24], depths=[2, 1, 2]), family="ResNet"),
    Family(
        "resnet_strides",
        lambda: resnet(downsample_in_first_stage=True, downsample_in_bottleneck=True, hidden_act="gelu", embedding_size=16),
        family="ResNet",
    ),
]
PAIRS = [
    Family("clip", clip, family="CLIP"),
    Family("clip_old_end", lambda: clip(2, hidden_act="gelu", num_hidden_layers=3), family="CLIP"),
]


def size_of(model):
    size = getattr(model.config, "image_size", 32)
    return tuple(size) if isinstance(size, (list, tuple)) else (size, size)


def write_run(section, arrays="images, labels"):
    with open("run.yaml", "w") as file:
        file.write(section + f"""    model_dir: run
    backend: {{compile_dir: ../compiled}}
    optimizer: {{SGD: {{learning_rate: {RATE}}}}}
    loop: {{num_steps: {STEPS}}}
    checkpoint: {{steps: {STEPS}}}
    logging: {{log_steps: 1}}
    loggers: [CSVLogger]
    seed: 1
  fit:
    train_dataloader: {{data_processor: arrays, path: samples.npz, arrays: [{arrays}], batch_size: {BATCH}, shuffle: false}}
""")


def our_logits(checkpoint):
    if os.path.exists("x.npy"):
        os.remove("x.npy")
    run("predict", "run.yaml", "--checkpoint_path", checkpoint, "--samples", "4", "--format", "npy", "--file", "x.npy")
    return numpy.load("x.npy").reshape(4, -1)


def their_logits(model, images):
    with torch.no_grad():
        said = model.eval()(images)
    return (said.logits if hasattr(said, "logits") else said.pooler_output).flatten(1).numpy()


def their_losses(model, images, labels):
    model, losses = model.train(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    for step in range(STEPS):
        part = slice(step * BATCH, (step + 1) * BATCH)
        loss = torch.nn.functional.cross_entropy(model(images[part]).logits, labels[part])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def add_preprocessor(folder):
    with open(f"{folder}/preprocessor_config.json", "w") as file:
        json.dump({"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "size": 16}, file)


def attempt(family):
    said = {"name": family.name, "family": family.family}
    torch.manual_seed(9)
    model = randomized(family.model())
    model.save_pretrained("theirs")
    add_preprocessor("theirs")
    count = STEPS * BATCH
    images, labels = torch.randn(count, CHANNELS, *size_of(model)), torch.randint(0, CLASSES, (count,))
    numpy.savez("samples.npz", images=images.numpy(), labels=labels.numpy().astype("int32"))
    wanted = their_logits(model, images[:4])
    section, _ = run("checkpoint", "convert", "theirs", "x.mdl", "--print_model")
    if "image_size" not in section:  # their configuration does not say it
        section = section.replace("num_channels:", "image_size: [32, 32]\n      num_channels:")
    write_run(section)
    said["logits"] = near("logits", our_logits("theirs"), wanted, TOLERANCE)
    run("checkpoint", "convert", "x.mdl", "ours", "--side_files", "theirs")
    near("logits of the folder that leaves", their_logits(reopened(model, "ours"), images[:4]), wanted, TOLERANCE)
    with open("ours/preprocessor_config.json") as file:
        assert json.load(file)["size"] == 16
    said["export"] = True
    if family.train:
        run("start", "run.yaml", "--weights", "theirs", "--no_dashboard")
        losses, expected = our_losses(), their_losses(reopened(model, "theirs"), images, labels)
        assert len(losses) == STEPS, losses
        said["losses"] = max(abs(a - b) / abs(b) for a, b in zip(losses, expected))
        assert said["losses"] <= TOLERANCE, f"losses differ by {said['losses']:.3g}: {losses} {expected}"
        run("checkpoint", "convert", f"run/checkpoint_{STEPS}.mdl", "tuned")
        tuned = their_logits(reopened(model, "tuned"), images[:4])
        assert abs(tuned - wanted).max() > 1e-4, "training has changed nothing"
        near("logits after training", our_logits(f"run/checkpoint_{STEPS}.mdl"), tuned, TOLERANCE)
    return said


def pair_outputs(model, images, tokens):
    with torch.no_grad():
        said = model.eval()(pixel_values=images[:4], input_ids=tokens[:4])
    return torch.stack([said.image_embeds, said.text_embeds], dim=1).flatten(1).numpy(), said.logits_per_image.numpy()


def pair_losses(model, images, tokens):
    model, losses = model.train(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    for step in range(STEPS):
        part = slice(step * BATCH, (step + 1) * BATCH)
        loss = model(pixel_values=images[part], input_ids=tokens[part], return_loss=True).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def near_pairs(model, got, images, tokens):
    """Both outputs, and the logits that they make."""
    wanted, logits = pair_outputs(model, images, tokens)
    worst = near("outputs", got, wanted, TOLERANCE)
    both = got.reshape(4, 2, -1)
    made = numpy.exp(model.logit_scale.item()) * both[:, 0] @ both[:, 1].T
    return max(worst, near("logits", made, logits, TOLERANCE))


def try_pairs(family):
    said = {"name": family.name, "family": family.family}
    torch.manual_seed(9)
    model = randomized(family.model())
    model.save_pretrained("theirs")
    add_preprocessor("theirs")
    count = STEPS * BATCH
    images, tokens = torch.randn(count, CHANNELS, *size_of(model.vision_model)), torch.randint(3, WORDS - 1, (count, TIME))
    for i in range(count):  # a text ends with its largest token, and padding follows
        tokens[i, 3 + i % (TIME - 3) :] = 1
        tokens[i, 3 + i % (TIME - 4)] = WORDS - 1
    numpy.savez("samples.npz", images=images.numpy(), input_ids=tokens.numpy().astype("int32"))
    section, _ = run("checkpoint", "convert", "theirs", "x.mdl", "--print_model")
    write_run(section, "images, input_ids")
    said["logits"] = near_pairs(model, our_logits("theirs"), images, tokens)
    run("checkpoint", "convert", "x.mdl", "ours", "--side_files", "theirs")
    near("outputs of the folder that leaves", pair_outputs(reopened(model, "ours"), images, tokens)[0], pair_outputs(model, images, tokens)[0], TOLERANCE)
    said["export"] = True
    run("start", "run.yaml", "--weights", "theirs", "--no_dashboard")
    losses, expected = our_losses(), pair_losses(reopened(model, "theirs"), images, tokens)
    assert len(losses) == STEPS, losses
    said["losses"] = max(abs(a - b) / abs(b) for a, b in zip(losses, expected))
    assert said["losses"] <= TOLERANCE, f"losses differ by {said['losses']:.3g}: {losses} {expected}"
    run("checkpoint", "convert", f"run/checkpoint_{STEPS}.mdl", "tuned")
    near_pairs(reopened(model, "tuned"), our_logits(f"run/checkpoint_{STEPS}.mdl"), images, tokens)
    return said


if __name__ == "__main__":
    run_families(FAMILIES + PAIRS, lambda family: attempt(family) if family in FAMILIES else try_pairs(family))
