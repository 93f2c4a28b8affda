"""Beam search, and rules that change logits: the same tokens and scores as transformers'."""

import json

import gpt_like
import llama_like
import t5_like
import torch
from trial import STEPS, randomized, run, run_families, write_run

PROMPT, TOKENS = [5, 17, 30, 3, 28, 21, 9], 14
SEARCHES = [
    dict(num_beams=2),
    dict(num_beams=4, num_return_sequences=4, length_penalty=0.0),
    dict(num_beams=3, num_return_sequences=2, length_penalty=2.0, early_stopping=True),
    dict(num_beams=3, num_return_sequences=3, early_stopping="never", length_penalty=1.5),
    dict(num_beams=5, num_return_sequences=5, early_stopping="never", length_penalty=-1.0),
    dict(num_beams=3, num_return_sequences=3, repetition_penalty=1.4, no_repeat_ngram_size=2),
    dict(num_beams=3, min_new_tokens=6, length_penalty=-2.0, early_stopping=True),
]
GREEDY = [
    dict(repetition_penalty=1.3),
    dict(repetition_penalty=0.7, no_repeat_ngram_size=3),
    dict(no_repeat_ngram_size=1),
    dict(min_new_tokens=9),
]


def asked(settings):
    words = []
    for name, value in settings.items():
        words += [f"--{name}", str(value).lower() if isinstance(value, bool) else str(value)]
    return words


def ours(settings):
    how = [] if "num_beams" in settings else ["--greedy"]
    said, _ = run(
        *("generate", "run.yaml", "--checkpoint_path", "theirs", "--numbers", "--quiet", "--json", *how),
        *("--prompt", ",".join(map(str, PROMPT)), "--max_new_tokens", str(TOKENS), *asked(settings)),
    )
    return [json.loads(line) for line in said.splitlines()]


def theirs(model, ends, settings):
    made = model.generate(
        torch.tensor([PROMPT]), attention_mask=torch.ones(1, len(PROMPT), dtype=torch.long),
        max_new_tokens=TOKENS, do_sample=False, return_dict_in_generate=True, output_scores=True,
        eos_token_id=ends, pad_token_id=ends[0], **settings,
    )
    before = 1 if model.config.is_encoder_decoder else len(PROMPT)
    texts = []
    for row in made.sequences[:, before:].tolist():
        end = next((i for i, token in enumerate(row) if token in ends), len(row))
        texts.append(row[:end])
    scores = made.sequences_scores.tolist() if "num_beams" in settings else [None] * len(texts)
    return list(zip(texts, scores))


def compare(model, ends, settings):
    got, wanted = ours(settings), theirs(model, ends, settings)
    assert [one["tokens"] for one in got] == [tokens for tokens, _ in wanted], (settings, got, wanted)
    for one, (_, score) in zip(got, wanted):
        assert score is None or abs(one["score"] - score) <= 1e-5 * max(1, abs(score)), (settings, one, score)
    return sum(len(tokens) < TOKENS for tokens, _ in wanted)


def try_beams(family):
    torch.manual_seed(9)
    model = randomized(family.model())
    pairs = model.config.is_encoder_decoder
    found = model.generate(torch.tensor([PROMPT]), max_new_tokens=TOKENS, num_beams=3, do_sample=False, eos_token_id=None, pad_token_id=0)
    row = found[0, (1 if pairs else len(PROMPT)) :].tolist()
    ends = [row[2]] if pairs else [row[5], row[8]]
    model.config.eos_token_id = ends[0]
    model.generation_config.eos_token_id = ends[0] if pairs else ends
    model.generation_config.pad_token_id = ends[0]
    model.save_pretrained("theirs")
    section, _ = run("checkpoint", "convert", "theirs", "x.mdl", "--print_model")
    if pairs:
        t5_like.write_samples(*t5_like.make_samples(STEPS * t5_like.BATCH))
        t5_like.write_run(section)
    else:
        write_run(family, section)
        with open("text.bin", "wb") as file:
            file.write(bytes(STEPS * 2 * family.time + 1))
    ended = sum(compare(model, ends, settings) for settings in SEARCHES + GREEDY)
    assert ended > 0, "hardly a text has ended by its end token"
    return {"name": family.name, "searches": len(SEARCHES), "ended": ended}


NAMES = ("gpt2", "gpt_neox", "llama", "t5", "flan_t5")

if __name__ == "__main__":
    families = [*gpt_like.FAMILIES, *llama_like.FAMILIES, *t5_like.FAMILIES]
    run_families([one for one in families if one.name in NAMES], try_beams)
