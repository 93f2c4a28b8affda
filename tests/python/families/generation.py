"""Texts of decoders: the same tokens as transformers', where each is the most likely one."""

import gpt_like
import llama_like
import torch
from trial import STEPS, randomized, run, run_families, write_run

PROMPT, TOKENS = [5, 17, 40, 3, 88, 21, 9], 24


def most_likely(model):
    """Of the logits of the whole text each time, not by the keys and values that are kept."""
    tokens = list(PROMPT)
    with torch.no_grad():
        for _ in range(TOKENS):
            tokens.append(int(model(torch.tensor([tokens]), use_cache=False).logits[0, -1].argmax()))
    return tokens[len(PROMPT) :]


def try_generation(family):
    torch.manual_seed(9)
    model = randomized(family.model())
    model.save_pretrained("theirs")
    section, _ = run("checkpoint", "convert", "theirs", "x.mdl", "--print_model")
    write_run(family, section)
    with open("text.bin", "wb") as file:
        file.write(bytes(STEPS * 2 * family.time + 1))
    text, _ = run(
        *("generate", "run.yaml", "--checkpoint_path", "theirs", "--greedy", "--numbers", "--quiet"),
        *("--prompt", ",".join(map(str, PROMPT)), "--max_new_tokens", str(TOKENS)),
    )
    got = [int(token) for token in text.replace(",", " ").split()]
    got = got[len(PROMPT) :] if got[: len(PROMPT)] == PROMPT else got
    wanted = most_likely(model)
    assert got == wanted, (got, wanted)
    return {"name": family.name, "tokens": len(wanted), "different": len(set(wanted))}


if __name__ == "__main__":
    run_families([*gpt_like.FAMILIES, *llama_like.FAMILIES], try_generation)
