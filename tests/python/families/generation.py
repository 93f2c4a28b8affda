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
    tokens = tokens[len(PROMPT) :]
    end = model.generation_config.eos_token_id
    return tokens[: tokens.index(end)] if end in tokens else tokens


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


# Positions that are scaled by the length of the text: here by that which is asked for, from the
# first token on; in transformers otherwise once it is reached.
BY_LENGTH = ("llama_dynamic", "llama_longrope", "phi3_longrope", "phi3_old")

if __name__ == "__main__":
    families = [*gpt_like.FAMILIES, *llama_like.FAMILIES]
    run_families([one for one in families if one.name not in BY_LENGTH], try_generation)
