"""Encoders of text with every head that transformers gives them: the same predictions for samples
with padding and two segments, the same losses while they train, and folders that open again."""

import json

import numpy
import pyarrow
import torch
import transformers
from trial import BATCH, RATE, STEPS, TOLERANCE, Family, near, our_losses, randomized, reopened, run, run_families

TIME, CHOICES, LABELS, PADDING = 24, 3, 3, 1
SIZES = dict(
    vocab_size=96,
    hidden_size=32,
    intermediate_size=40,
    num_hidden_layers=3,
    num_attention_heads=4,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
    pad_token_id=PADDING,
)
HEADS = {
    "Model": "base",
    "ForMaskedLM": "masked",
    "ForPreTraining": "pretraining",
    "ForNextSentencePrediction": "next_sentence",
    "ForSequenceClassification": "sequence",
    "ForTokenClassification": "tokens",
    "ForQuestionAnswering": "span",
    "ForMultipleChoice": "choice",
}


def head_of(model):
    return next(head for end, head in HEADS.items() if type(model).__name__.endswith(end))


def texts(count, segments):
    """Samples of different lengths, the first of which is full."""
    lengths = torch.randint(6, TIME + 1, (count, 1))
    lengths[0] = TIME
    mask = (torch.arange(TIME) < lengths).long()
    tokens = torch.where(mask > 0, torch.randint(4, 96, (count, TIME)), PADDING)
    made = {"input_ids": tokens, "attention_mask": mask}
    if segments:
        made["token_type_ids"] = (torch.arange(TIME) >= lengths // 2).long() * mask
    return made


def samples(model, count):
    """Inputs of transformers for so many samples."""
    head, segments = head_of(model), getattr(model.config, "type_vocab_size", 0) > 1
    made = texts(count * (CHOICES if head == "choice" else 1), segments)
    if head == "choice":
        made = {name: value.reshape(count, CHOICES, TIME) for name, value in made.items()}
    mask = made["attention_mask"]
    if head in ("masked", "pretraining"):
        chosen = (torch.rand(count, TIME) < 0.3) & (mask > 0)
        chosen[:, 1] = True
        made["labels"] = torch.where(chosen, torch.randint(4, 96, (count, TIME)), -100)
    if head == "pretraining":
        made["next_sentence_label"] = torch.randint(0, 2, (count,))
    if head == "tokens":
        made["labels"] = torch.where(mask > 0, torch.randint(0, LABELS, (count, TIME)), -100)
    if head in ("next_sentence", "sequence", "choice"):
        made["labels"] = torch.randint(0, {"next_sentence": 2}.get(head, LABELS), (count,))
    if head == "sequence" and model.config.problem_type == "regression":
        made["labels"] = torch.randn(count)
    if head == "sequence" and model.config.problem_type == "multi_label_classification":
        made["labels"] = torch.randint(0, 2, (count, LABELS)).float()
    if head == "span":
        made["start_positions"] = torch.randint(0, TIME, (count,))
        made["end_positions"] = torch.randint(0, TIME, (count,))
    return made


def write_samples(made, path="samples.arrow"):
    """A row a sample; several texts of one are joined."""
    columns = {}
    for name, value in made.items():
        rows = value if value.dim() < 3 else value.flatten(1)
        kind = pyarrow.float32() if value.is_floating_point() else pyarrow.int32()
        columns[name] = pyarrow.array(rows.tolist(), pyarrow.list_(kind) if rows.dim() == 2 else kind)
    table = pyarrow.table(columns)
    with pyarrow.OSFile(path, "wb") as file, pyarrow.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def with_loss_of_transformers(section, head):
    """A section that is printed, with what a folder does not say."""
    more = {"masked": "mlm_loss_scaling: num_masked", "pretraining": "mlm_loss_scaling: num_masked", "choice": f"num_choices: {CHOICES}"}
    if head == "masked" and "name: bert" not in section:
        more = {}
    place = section.index("      vocab_size:")
    return section[:place] + (f"      {more[head]}\n" if head in more else "") + section[place:]


def write_run(section, batch=BATCH):
    text = section + f"""    model_dir: run
    backend: {{compile_dir: ../compiled}}
    optimizer: {{SGD: {{learning_rate: {RATE}}}}}
    loop: {{num_steps: {STEPS}}}
    checkpoint: {{steps: {STEPS}}}
    logging: {{log_steps: 1}}
    loggers: [CSVLogger]
    seed: 1
  fit:
    train_dataloader: {{data_processor: arrow, path: samples.arrow, batch_size: {batch}, shuffle: false}}
"""
    with open("run.yaml", "w") as file:
        file.write(text)


def their_predictions(model, made):
    """What our predictions are: of a span both logits of each token, of base its vectors."""
    inputs = {k: v for k, v in made.items() if k in ("input_ids", "attention_mask", "token_type_ids")}
    with torch.no_grad():
        said = model.eval()(**inputs)
    if head_of(model) == "base":
        return said.last_hidden_state.numpy()
    if head_of(model) == "pretraining":
        return said.prediction_logits.numpy()
    if head_of(model) == "span":
        return torch.stack((said.start_logits, said.end_logits), -1).numpy()
    return said.logits.numpy()


def compared(name, checkpoint, wanted, made, tolerance):
    """Padding is compared with nothing: no loss reads it."""
    run("predict", "run.yaml", "--checkpoint_path", checkpoint, "--samples", "0", "--format", "npy", "--file", f"{name}.npy")
    got = numpy.load(f"{name}.npy").reshape(wanted.shape)
    if wanted.ndim == 3:
        seen = made["attention_mask"].numpy() > 0
        got, wanted = got[seen], wanted[seen]
    return near(name, got, wanted, tolerance)


def their_losses(model, made):
    model = model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    losses = []
    for step in range(STEPS):
        batch = {name: value[step * BATCH : (step + 1) * BATCH] for name, value in made.items()}
        loss = model(**batch).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def try_training(family, model, made, said):
    run("start", "run.yaml", "--weights", "theirs", "--no_dashboard")
    begun = reopened(model, "theirs")
    losses, expected = our_losses(), their_losses(begun, made)
    assert len(losses) == STEPS, losses
    said["losses"] = max(abs(a - b) / abs(b) for a, b in zip(losses, expected))
    assert said["losses"] <= TOLERANCE, f"losses differ by {said['losses']:.3g}: {losses} {expected}"
    run("checkpoint", "convert", f"run/checkpoint_{STEPS}.mdl", "tuned")
    tuned = reopened(model, "tuned")
    moved = max(abs(a - b).max().item() for a, b in zip(tuned.parameters(), model.parameters()))
    assert moved > 1e-4, "training has changed nothing"
    for (name, a), b in zip(tuned.named_parameters(), begun.parameters()):
        assert abs(a - b).max() <= 1e-5 * max(1, abs(b).max()), name
    near("after training", their_predictions(tuned, made), their_predictions(begun, made), family.tolerance)
    compared("tuned", f"run/checkpoint_{STEPS}.mdl", their_predictions(tuned, made), made, family.tolerance)


def try_encoder(family):
    said = {"name": family.name, "family": family.family or family.name}
    torch.manual_seed(9)
    model = randomized(family.model())
    model.save_pretrained("theirs")
    if family.alter:
        family.alter("theirs")
    made = samples(model, STEPS * BATCH)
    write_samples(made)
    wanted = their_predictions(model, made)
    section, _ = run("checkpoint", "convert", "theirs", "x.mdl", "--print_model")
    write_run(with_loss_of_transformers(section, head_of(model)))
    said["logits"] = compared("logits", "theirs", wanted, made, family.tolerance)
    run("checkpoint", "convert", "x.mdl", "ours")
    near("the folder that leaves", their_predictions(reopened(model, "ours"), made), wanted, family.tolerance)
    said["export"] = True
    if family.train:
        try_training(family, model, made, said)
    return said


def family_of(kind, config, sizes, heads, also=None):
    """One entry for each head; `also`: settings of a head."""
    made = []
    for end in heads:
        name = f"{kind}{end}"
        more = {"num_labels": LABELS} if end in ("ForSequenceClassification", "ForTokenClassification") else {}
        more.update((also or {}).get(end, {}))
        made.append(
            Family(
                name,
                lambda name=name, more=more: getattr(transformers, name)(config(**{**sizes, **more})),
                family=config.model_type,
                train=end != "Model",
            )
        )
    return made


SHARED = ["Model", "ForMaskedLM", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering", "ForMultipleChoice"]
BERT = dict(SIZES, max_position_embeddings=TIME)
ROBERTA = dict(SIZES, max_position_embeddings=TIME + PADDING + 1, type_vocab_size=1)
DISTILBERT = dict(
    vocab_size=96,
    dim=32,
    hidden_dim=40,
    n_layers=3,
    n_heads=4,
    max_position_embeddings=TIME,
    pad_token_id=PADDING,
    dropout=0.0,
    attention_dropout=0.0,
    qa_dropout=0.0,
    seq_classif_dropout=0.0,
)
MODERNBERT = dict(
    vocab_size=96,
    hidden_size=32,
    intermediate_size=40,
    num_hidden_layers=5,
    num_attention_heads=4,
    max_position_embeddings=TIME,
    pad_token_id=PADDING,
    bos_token_id=2,
    eos_token_id=3,
    cls_token_id=2,
    sep_token_id=3,
    local_attention=8,
)


def as_the_hub_has_it(folder):
    """The keys of the first program that wrote ModernBERT."""
    with open(f"{folder}/config.json") as file:
        config = json.load(file)
    del config["layer_types"], config["rope_parameters"]
    config |= {"global_attn_every_n_layers": 3, "global_rope_theta": 160000.0, "local_rope_theta": 10000.0}
    config |= {"position_embedding_type": "absolute", "layer_norm_eps": 1e-05, "repad_logits_with_grad": False}
    with open(f"{folder}/config.json", "w") as file:
        json.dump(config, file)


def variants():
    """Settings that none of the others has."""
    sequence = transformers.BertForSequenceClassification
    modern = {"hidden_activation": "silu", "classifier_activation": "relu", "decoder_bias": False, "classifier_bias": True}
    modern |= {"attention_bias": True, "mlp_bias": True, "norm_bias": True, "tie_word_embeddings": True}
    modern |= {"layer_types": ["full_attention", "sliding_attention"] * 2 + ["full_attention"]}
    mean = {"classifier_pooling": "mean", "num_labels": LABELS}
    roberta = {"num_labels": 1, "problem_type": "regression"}
    several = {"num_labels": LABELS, "problem_type": "multi_label_classification"}
    return [
        Family("BertActivation", lambda: transformers.BertForTokenClassification(transformers.BertConfig(**BERT, hidden_act="gelu_new", num_labels=LABELS))),
        Family("BertSeveral", lambda: sequence(transformers.BertConfig(**{**BERT, **several}))),
        Family("RobertaNumber", lambda: transformers.RobertaForSequenceClassification(transformers.RobertaConfig(**{**ROBERTA, **roberta}))),
        Family("ModernBertBiases", lambda: transformers.ModernBertForMaskedLM(transformers.ModernBertConfig(**{**MODERNBERT, **modern}))),
        Family("ModernBertMean", lambda: transformers.ModernBertForSequenceClassification(transformers.ModernBertConfig(**{**MODERNBERT, **mean}))),
        Family("ModernBertHub", lambda: transformers.ModernBertForMaskedLM(transformers.ModernBertConfig(**MODERNBERT)), alter=as_the_hub_has_it),
    ]


FAMILIES = [
    *family_of("Bert", transformers.BertConfig, BERT, [*SHARED, "ForPreTraining", "ForNextSentencePrediction"]),
    *family_of("Roberta", transformers.RobertaConfig, ROBERTA, SHARED),
    *family_of("XLMRoberta", transformers.XLMRobertaConfig, ROBERTA, SHARED),
    *family_of("DistilBert", transformers.DistilBertConfig, DISTILBERT, SHARED),
    *family_of("ModernBert", transformers.ModernBertConfig, MODERNBERT, SHARED),
    *variants(),
]

if __name__ == "__main__":
    run_families(FAMILIES, try_encoder)
