"""Encoders with decoders of the T5 kind: logits, training, folders, and texts that are generated."""

import json

import torch
import transformers
from safetensors.torch import load_file, save_file
from trial import BATCH, RATE, STEPS, TOLERANCE, Family, near, numpy, our_losses, randomized, reopened, run, run_families

TIME, LABELS, WORDS = 12, 8, 40
SIZES = dict(
    vocab_size=WORDS,
    d_model=24,
    d_kv=6,
    d_ff=40,
    num_layers=2,
    num_heads=3,
    relative_attention_num_buckets=8,
    relative_attention_max_distance=10,
    dropout_rate=0.0,
    decoder_start_token_id=0,
)


def tied(**changes):
    return transformers.T5ForConditionalGeneration(transformers.T5Config(**{**SIZES, **changes}))


def untied(kind=transformers.T5ForConditionalGeneration, config=transformers.T5Config, **changes):
    model = kind(config(**{**SIZES, "feed_forward_proj": "gated-gelu", **changes}))
    model.lm_head.weight = torch.nn.Parameter(torch.randn_like(model.lm_head.weight))
    return model


def as_older(folder):
    """As the first folders were: the weight under all of its names, and few keys."""
    weights = load_file(f"{folder}/model.safetensors")
    for name in ("lm_head.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight"):
        weights[name] = weights["shared.weight"].clone()
    save_file(weights, f"{folder}/model.safetensors", {"format": "pt"})
    with open(f"{folder}/config.json") as file:
        config = json.load(file)
    for key in ("tie_word_embeddings", "scale_decoder_outputs", "dense_act_fn", "is_gated_act", "feed_forward_proj"):
        config.pop(key)
    config.update(n_positions=512, output_past=True, task_specific_params={"summarization": {"num_beams": 4}})
    with open(f"{folder}/config.json", "w") as file:
        json.dump(config, file)


def as_flan(folder):
    """As the folders of Flan-T5 say that the logits have a weight of their own."""
    with open(f"{folder}/config.json") as file:
        config = json.load(file)
    config.pop("scale_decoder_outputs")
    config["tie_word_embeddings"] = False
    with open(f"{folder}/config.json", "w") as file:
        json.dump(config, file)


FAMILIES = [
    Family("t5", tied, family="T5"),
    Family("t5_older", tied, family="T5", alter=as_older),
    Family("t5_deeper_decoder", lambda: tied(num_decoder_layers=3), family="T5"),
    Family("flan_t5", lambda: untied(tie_word_embeddings=False), family="Flan-T5"),
    Family("flan_t5_hub", lambda: untied(tie_word_embeddings=False), family="Flan-T5", alter=as_flan),
    Family("flan_t5_silu", lambda: untied(tie_word_embeddings=False, feed_forward_proj="gated-silu"), family="Flan-T5"),
    Family(
        "mt5",
        lambda: untied(transformers.MT5ForConditionalGeneration, transformers.MT5Config),
        family="mT5",
    ),
]


def make_samples(count):
    """Texts of several lengths: padding of the encoder is 0, that of labels -100."""
    inputs = torch.randint(2, WORDS, (count, TIME))
    labels = torch.randint(2, WORDS, (count, LABELS))
    for i in range(count):
        inputs[i, 5 + i % (TIME - 4) :] = 0
        labels[i, 3 + i % (LABELS - 2) :] = -100
    return inputs, (inputs != 0).long(), labels


def write_samples(inputs, mask, labels):
    arrays = {"input_ids": inputs, "attention_mask": mask, "labels": labels}
    numpy.savez("samples.npz", **{name: value.numpy().astype("int32") for name, value in arrays.items()})


def write_run(section):
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
    train_dataloader: {{data_processor: arrays, path: samples.npz, arrays: [input_ids, attention_mask, labels], batch_size: {BATCH}, shuffle: false}}
""")


def our_logits(checkpoint):
    run("predict", "run.yaml", "--checkpoint_path", checkpoint, "--samples", "4", "--format", "npy", "--file", "x.npy")
    return numpy.load("x.npy").reshape(4, LABELS, -1)


def their_logits(model, batch):
    with torch.no_grad():
        return model(input_ids=batch[0], attention_mask=batch[1], labels=batch[2]).logits.numpy()


def their_losses(model, samples):
    model, losses = model.train(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    for step in range(STEPS):
        inputs, mask, labels = (part[step * BATCH : (step + 1) * BATCH] for part in samples)
        loss = model(input_ids=inputs, attention_mask=mask, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def try_texts(model, folder):
    """Greedy texts of prompts of several lengths, token by token."""
    count = 0
    for length in (3, 7, 20):
        prompt = torch.randint(2, WORDS, (1, length))
        wanted = model.generate(prompt, max_new_tokens=15, do_sample=False, num_beams=1, use_cache=False)[0, 1:].tolist()
        said, _ = run(
            "generate", "run.yaml", "--checkpoint_path", folder, "--numbers", "--greedy", "--quiet", "--max_new_tokens", "15",
            "--prompt", ",".join(map(str, prompt[0].tolist())), "--json",
        )
        tokens = json.loads(said)["tokens"]
        assert tokens == [token for token in wanted if token != 1], (tokens, wanted)
        count += len(tokens)
    end = wanted[-1]  # a text ends with what ends it
    with open(f"{folder}/config.json") as file:
        config = json.load(file)
    with open(f"{folder}/config.json", "w") as file:
        json.dump({**config, "eos_token_id": end}, file)
    said, _ = run(
        "generate", "run.yaml", "--checkpoint_path", folder, "--numbers", "--greedy", "--quiet", "--max_new_tokens", "15",
        "--prompt", ",".join(map(str, prompt[0].tolist())), "--json", "--set", f"trainer.init.model.eos_token_id={end}",
    )
    assert json.loads(said)["tokens"] == wanted[: wanted.index(end)], (said, wanted, end)
    return count


def attempt(family):
    said = {"name": family.name, "family": family.family}
    torch.manual_seed(9)
    model = randomized(family.model())
    model.save_pretrained("theirs")
    if family.alter:
        family.alter("theirs")
    samples = make_samples(STEPS * BATCH)
    first = [part[:4] for part in samples]
    write_samples(*samples)
    wanted = their_logits(model, first)
    section, _ = run("checkpoint", "convert", "theirs", "x.mdl", "--print_model")
    write_run(section)
    said["logits"] = near("logits", our_logits("theirs"), wanted, TOLERANCE)
    run("checkpoint", "convert", "x.mdl", "ours")
    near("logits of the folder that leaves", their_logits(reopened(model, "ours"), first), wanted, TOLERANCE)
    said["export"] = True
    run("start", "run.yaml", "--weights", "theirs", "--no_dashboard")
    losses, expected = our_losses(), their_losses(reopened(model, "theirs"), samples)
    assert len(losses) == STEPS, losses
    said["losses"] = max(abs(a - b) / abs(b) for a, b in zip(losses, expected))
    assert said["losses"] <= TOLERANCE, f"losses differ by {said['losses']:.3g}: {losses} {expected}"
    run("checkpoint", "convert", f"run/checkpoint_{STEPS}.mdl", "tuned")
    tuned = their_logits(reopened(model, "tuned"), first)
    assert abs(tuned - wanted).max() > 1e-4, "training has changed nothing"
    near("logits after training", our_logits(f"run/checkpoint_{STEPS}.mdl"), tuned, TOLERANCE)
    said["tokens"] = try_texts(model, "theirs")
    return said


if __name__ == "__main__":
    run_families(FAMILIES, attempt)
