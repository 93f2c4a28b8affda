"""Random conversations by `csengine data conversations` and by transformers: the same tokens, and the
same of them count (return_assistant_tokens_mask); of templates without {% generation %} as many as
of the same with it; rows of Parquet as those of JSON lines.

Usage: conversations_of_transformers.py CSENGINE TREE FOLDER"""
import json
import os
import random
import subprocess
import sys

import pyarrow
import pyarrow.parquet
import tokenizers
import transformers

program, tree, folder = sys.argv[1:]
words = "Hi héllo wörld 2+2 日本 😀 <|im_end|> yes\n\n no, thanks. \tTab the a".split(" ")
chance = random.Random(1)


def text():
    return " ".join(chance.choice(words) for _ in range(chance.randint(1, 8)))


def conversation():
    messages = [{"role": "system", "content": text()}] if chance.random() < 0.3 else []
    for _ in range(chance.randint(1, 4)):
        messages += [{"role": "user", "content": text()}, {"role": "assistant", "content": text()}]
    return messages + ([{"role": "user", "content": text()}] if chance.random() < 0.2 else [])


def make_tokenizer():
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<|im_start|>", "<|im_end|>"], show_progress=False,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet())
    made.train_from_iterator([text() for _ in range(500)], trainer)
    whole = transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|im_end|>")
    whole.save_pretrained(folder)
    return whole


def shown(data, template):
    command = [program, "data", "conversations", data, "--tokenizer", folder, "--first", "1000",
               "--json", "--chat_template", f"{tree}/tests/dataloader/chat/templates/{template}.jinja"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["conversations"]


def main():
    tokenizer = make_tokenizer()
    rows = [{"messages": conversation()} for _ in range(300)]
    with open(f"{folder}/rows.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=chance.random() < 0.5) + "\n" for row in rows)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), f"{folder}/rows.parquet")
    for template in "chatml_generation", "smollm3_generation":
        path = f"{tree}/tests/dataloader/chat/templates/{template}.jinja"
        with open(path, encoding="utf-8") as file:
            source = file.read()
        for row, ours in zip(rows, shown(f"{folder}/rows.jsonl", template), strict=True):
            theirs = tokenizer.apply_chat_template(row["messages"], chat_template=source,
                                                   return_dict=True, return_assistant_tokens_mask=True)
            assert ours["ids"] == theirs["input_ids"], (template, row, ours)
            assert ours["counts"] == theirs["assistant_masks"], (template, row, ours)
    marked = shown(f"{folder}/rows.jsonl", "chatml_generation")
    plain = shown(f"{folder}/rows.jsonl", "chatml")
    of_parquet = shown(f"{folder}/rows.parquet", "chatml")
    for a, b, c in zip(marked, plain, of_parquet, strict=True):
        assert a["counts"] == b["counts"] == c["counts"] and a["ids"] == b["ids"] == c["ids"], (a, b)
    print(len(rows), "conversations, 2 templates: the same tokens, and the same of them count")


os.environ["OMP_NUM_THREADS"] = "1"
main()
