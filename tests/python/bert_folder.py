"""Folders of transformers' BERT, used by csengine for texts with a class.

Run: python3 bert_folder.py CSENGINE FOLDER
"""

import json
import os

import numpy
import torch
from folders import run, transformers
from safetensors.torch import load_file, save_file

torch.manual_seed(3)

TIME = 24
WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] the a cat dog Dog sat ran ##s ##ning on , . ! ' caf\u00e9 cafe e \u00e9"
TEXTS = [
    "The cats, running on the Dog!",
    "a caf\u00e9\tand\na dog's\r\ncat",
    "dogs" * 40,
    " ".join(["cat sat"] * 30),
    "\u4e2dcat\u00a0dog\u200bs",
    "",
]
SIZES = {
    "vocab_size": len(WORDS.split()),
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": TIME,
    "initializer_range": 0.3,
}


def configuration(folder, lower="null"):
    with open("run.yaml", "w") as file:
        file.write(f"""trainer:
  init:
    model_dir: run
    backend: {{compile_dir: compiled}}
    model: {{name: bert/classifier, num_labels: 3, vocab_size: {SIZES["vocab_size"]}, hidden_size: 32,
      num_hidden_layers: 2, num_heads: 4, filter_size: 48, max_position_embeddings: {TIME},
      layer_norm_epsilon: 1e-12, pooler_nonlinearity: tanh}}
    optimizer:
      AdamW: {{lr: 0.001}}
    loop: {{num_steps: 3}}
    checkpoint: {{steps: 3}}
    seed: 1
  fit:
    train_dataloader: {{data_processor: sentences, path: texts.jsonl, vocabulary: {folder}, lower: {lower},
      max_sequence_length: {TIME}, batch_size: 2}}
""")


def tokens_of(tokenizer):
    return tokenizer(
        TEXTS, padding="max_length", truncation=True, max_length=TIME, return_tensors="pt"
    )


def compare(name, folder, checkpoint, model, tokenizer):
    """Logits of the texts; other tokens would make others."""
    configuration(folder)
    run(
        "predict",
        "run.yaml",
        "--checkpoint_path",
        checkpoint,
        "--samples",
        "0",
        "--format",
        "npy",
        "--file",
        f"{name}.npy",
    )
    with torch.no_grad():
        wanted = model.eval()(**tokens_of(tokenizer)).logits.numpy()
    got = numpy.load(f"{name}.npy")
    worst = abs(got - wanted).max()
    print(f"{name}: largest difference {worst:.3g} of {numpy.ptp(wanted):.3g}")
    assert got.shape == wanted.shape and worst <= 2e-5, name
    assert numpy.ptp(wanted, axis=0).min() > 1e-2, "the texts are all alike: that shows nothing"


with open("texts.jsonl", "w") as file:
    for number, text in enumerate(TEXTS):
        file.write(json.dumps({"text": text, "label": number % 3}) + "\n")
config = transformers.BertConfig(**SIZES, num_labels=3)
model = transformers.BertForSequenceClassification(config)
for lowers in True, False:
    folder = f"classifier_{lowers}"
    os.makedirs(folder)
    with open(f"{folder}/vocab.txt", "w", encoding="utf-8") as file:
        file.write("".join(f"{word}\n" for word in WORDS.split()))
    tokenizer = transformers.BertTokenizer(f"{folder}/vocab.txt", do_lower_case=lowers)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    compare(f"vocab.txt, lower {lowers}", folder, folder, model, tokenizer)
    if os.path.exists(f"{folder}/tokenizer.json"):
        os.remove(f"{folder}/vocab.txt")
        compare(f"tokenizer.json, lower {lowers}", folder, folder, model, tokenizer)

# A training that begins with any kind of BERT; the names of the first ones are read, too.
kinds = (
    transformers.BertModel,
    transformers.BertForPreTraining,
    transformers.BertForMaskedLM,
    transformers.BertForSequenceClassification,
)
for kind in kinds:
    name = kind.__name__
    begun = kind(transformers.BertConfig(**SIZES, num_labels=3))
    begun.save_pretrained(name)
    weights = load_file(f"{name}/model.safetensors")
    older = {
        key.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): value
        for key, value in weights.items()
    }
    save_file(older, f"{name}/model.safetensors", metadata={"format": "pt"})
    configuration("classifier_True")
    said = run(
        "start",
        "run.yaml",
        "--weights",
        name,
        "--no_dashboard",
        "--model_dir",
        f"run_{name}",
        "--num_steps",
        "1",
        "--set",
        "trainer.init.optimizer.AdamW.lr=0.0",
    )
    run("checkpoint", "convert", f"run_{name}/checkpoint_1.mdl", f"back_{name}")
    back = load_file(f"back_{name}/model.safetensors")
    same = [key for key in back if key in weights or key.removeprefix("bert.") in weights]
    for key in same:
        assert torch.equal(back[key], weights.get(key, weights.get(key.removeprefix("bert.")))), key
    missing = sorted(set(back) - set(same))
    assert all(key.startswith("classifier.") or "pooler" in key for key in missing), missing
    assert len(missing) == {"BertForSequenceClassification": 0, "BertForMaskedLM": 4}.get(
        name, 2
    ), missing
    assert (len(missing) == 0) == ("keep their initial values" not in said), said

# The trained model in transformers.
run("start", "run.yaml", "--weights", "classifier_True", "--no_dashboard", "--model_dir", "run")
run("checkpoint", "convert", "run/checkpoint_3.mdl", "tuned")
tuned = transformers.BertForSequenceClassification.from_pretrained("tuned")
assert not torch.equal(tuned.classifier.weight, model.classifier.weight), "nothing was learned"
tokenizer = transformers.BertTokenizer.from_pretrained("classifier_True")
compare("tuned", "classifier_True", "run/checkpoint_3.mdl", tuned, tokenizer)
print(f"transformers {transformers.__version__}")
