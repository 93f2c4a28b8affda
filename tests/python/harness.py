"""Tasks of data sets: log likelihoods and measures as the lm-evaluation-harness finds them, of made-up
rows and small random models, with tokenizers that put a token before each text or do not.

python3 harness.py CSENGINE FOLDER
"""

import importlib.util
import json
import os
import random
import subprocess
import sys

sys.modules.setdefault("torchvision", None)

import lm_eval  # noqa: E402
import tokenizers  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
import yaml  # noqa: E402
from lm_eval.api.task import ConfigurableTask  # noqa: E402
from lm_eval.models.huggingface import HFLM  # noqa: E402

csengine = os.path.abspath(sys.argv[1])
TASKS = os.path.join(os.path.dirname(lm_eval.__file__), "tasks")
FILES = {
    "hellaswag": "hellaswag/hellaswag.yaml",
    "piqa": "piqa/piqa.yaml",
    "arc_easy": "arc/arc_easy.yaml",
    "arc_challenge": "arc/arc_challenge.yaml",
    "lambada_openai": "lambada/lambada_openai.yaml",
    "mmlu": "mmlu/default/_default_template_yaml",
}
WORDS = "the a dog runs over lazy green [step] House über  tree [title] and walks, slowly. naïve to bake [substeps] cake École".split(" ")
SUBJECTS = ("abstract_algebra", "world_history")


def words(rng, count):
    return " ".join(rng.choice(WORDS) for _ in range(count)).strip() or "x"


def row_of(task, rng):
    if task == "hellaswag":
        return {"activity_label": words(rng, 2), "ctx_a": words(rng, 6), "ctx_b": words(rng, rng.randint(0, 3)) if rng.random() < 0.7 else "",
                "endings": [words(rng, rng.randint(2, 8)) + " end" for _ in range(4)], "label": str(rng.randrange(4))}
    if task == "piqa":
        return {"goal": words(rng, 5), "sol1": words(rng, 4), "sol2": words(rng, 7), "label": rng.randrange(2)}
    if task.startswith("arc"):
        labels = rng.choice([["A", "B", "C", "D"], ["1", "2", "3"], ["A", "B", "C", "D", "E"]])
        return {"question": words(rng, 8), "choices": {"text": [words(rng, rng.randint(1, 5)) for _ in labels], "label": labels}, "answerKey": rng.choice(labels)}
    if task == "lambada_openai":
        return {"text": words(rng, 9) + " " + rng.choice(["dog", "naïve", "tree.", "house"])}
    return {"question": " " + words(rng, 8) + "\n", "subject": rng.choice(SUBJECTS), "choices": [words(rng, 3) for _ in range(4)], "answer": rng.randrange(4)}


def write_rows(name, rows):
    with open(name, "w") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return os.path.abspath(name)


def make_model(folder, begins):
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=320, special_tokens=["<s>", "</s>"], initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator([words(random.Random(5), 400)], trainer)
    if begins:
        tokenizer.post_processor = tokenizers.processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")
    fast.save_pretrained(folder)
    torch.manual_seed(3)
    config = transformers.LlamaConfig(
        vocab_size=320, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=96, bos_token_id=0, eos_token_id=1, initializer_range=0.5,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return HFLM(pretrained=folder, batch_size=1, device="cpu", dtype="float32", tokenizer=folder)


def load_config(task):
    path = os.path.join(TASKS, FILES[task])

    class Loader(yaml.SafeLoader):
        pass

    def function(loader, node):
        module, name = node.value.split(".")
        spec = importlib.util.spec_from_file_location(module, os.path.join(os.path.dirname(path), module + ".py"))
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
        return getattr(loaded, name)

    Loader.add_constructor("!function", function)
    with open(path) as file:
        config = yaml.load(file, Loader)
    if "include" in config:
        with open(os.path.join(os.path.dirname(path), config.pop("include"))) as file:
            config = {**yaml.load(file, Loader), **config}
    return config


def theirs(task, model, path, examples, shots, description=None):
    config = load_config(task)
    for key in ("dataset_name", "tag", "test_split", "validation_split", "training_split", "fewshot_split", "fewshot_config"):
        config.pop(key, None)
    config.update(task=task, dataset_path="json", dataset_kwargs={"data_files": {"test": path, "dev": examples}}, test_split="test",
                  fewshot_split="dev", fewshot_config={"sampler": "first_n"}, num_fewshot=shots)
    if description:
        config["description"] = description
    found = lm_eval.evaluate(model, {task: ConfigurableTask(config=config)}, log_samples=True, bootstrap_iters=0)
    sums = 0
    for sample in found["samples"][task]:
        gold = 0 if task == "lambada_openai" else int(sample["target"])
        sums += float(sample["filtered_resps"][gold][0])
    return {name.split(",")[0]: value for name, value in found["results"][task].items()}, sums


def ours(task, folder, path, examples, shots):
    more = ("--num_fewshot", str(shots), "--fewshot_data", f"{task}={examples}") if shots else ()
    result = subprocess.run(
        [csengine, "eval", folder, "--tasks", f"{task}={path}", "--json", "--model_dir", "run", "--compile_dir", "compiled", *more],
        capture_output=True, text=True,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    return [json.loads(line) for line in result.stdout.splitlines()]


def compare(task, got, wanted, sums):
    assert abs(got["log_likelihood"] - sums) <= 1e-5 * abs(sums), (task, got, sums)
    for name in ("acc", "acc_norm", "perplexity"):
        if name in wanted:
            assert abs(got[name] - wanted[name]) <= 1e-5 * max(1, abs(wanted[name])), (task, name, got, wanted)
    count = got["questions"]
    error = (got["acc"] * (1 - got["acc"]) / (count - 1)) ** 0.5
    assert abs(got["acc_stderr"] - error) < 1e-6, got


def try_task(task, folder, model, shots):
    rng = random.Random(f"{task} {shots}")
    rows, examples = ([row_of(task, rng) for _ in range(count)] for count in (24, 12))
    path, before = write_rows(f"{task}.jsonl", rows), write_rows(f"{task}_dev.jsonl", examples)
    lines = ours(task, folder, path, before, shots)
    if task != "mmlu":
        wanted, sums = theirs(task, model, path, before, shots)
        compare(task, lines[-1], wanted, sums)
        return
    assert len(lines) == 3 and "group" not in lines[-1], lines
    for line in lines[:-1]:
        subject = line["group"]
        some = write_rows("some.jsonl", [row for row in rows if row["subject"] == subject])
        dev = write_rows("some_dev.jsonl", [row for row in examples if row["subject"] == subject])
        about = f"The following are multiple choice questions (with answers) about {subject.replace('_', ' ')}.\n\n"
        wanted, sums = theirs(task, model, some, dev, shots, about)
        compare(task, line, wanted, sums)
    assert lines[-1]["questions"] == sum(line["questions"] for line in lines[:-1])


def main():
    transformers.utils.logging.set_verbosity_error()
    os.chdir(sys.argv[2])
    os.environ["HF_HUB_OFFLINE"] = os.environ["HF_DATASETS_OFFLINE"] = "1"
    os.environ["HF_HOME"] = os.path.abspath("cache")
    for begins in (False, True):
        folder = "begins" if begins else "plain"
        model = make_model(folder, begins)
        for task in FILES:
            for shots in (0, 2):
                try_task(task, folder, model, shots)
                print(task, shots, folder, "OK", flush=True)


main()
