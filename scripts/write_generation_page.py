"""Writes docs/generation.md from a result of bench/generation_rates.py.

    write_generation_page.py RESULT.json >docs/generation.md

Everything on the page comes from the JSON file; what is behind stands there, too.
"""

import json
import os
import sys

sys.dont_write_bytecode = True  # the tree may be read-only
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, os.pardir, "bench"), HERE]
from generation_schema import faults
from write_performance_page import milliseconds, table, times

BUSY = 1.5  # a load beyond this is told: times that went by are not those of a machine at rest
MODELS = {
    "real": "SmolLM2-135M",
    "wide": "random weights, 12 layers of 768",
}


def clock_of(document):
    """Which times count: those that went by, or on a busy machine those of the processors."""
    return "processor_ms" if document["machine"]["load"] > BUSY else "ms"


def best(entries, name, key):
    """The least time of the sides whose name begins so; None: there is none."""
    found = [one[key] for side, one in entries.items() if side.startswith(name)]
    return min(found) if found else None


def behind(document, phase):
    key = f"{phase}_{clock_of(document)}"
    lines = []
    for row in document["rows"]:
        ours = row["entries"]["csengine"][key]
        for peer in ("llama.cpp", "transformers"):
            theirs = best(row["entries"], peer, key)
            if theirs is not None and theirs < 0.98 * ours:
                lines.append(
                    f"{row['packing']}, {row['texts']} texts, {row['threads']} threads: "
                    f"{ours / theirs:.2f} times slower than {peer}"
                )
    return lines


def said(value):
    return milliseconds(value) if value is not None else ""


def tokens_said(row):
    words = []
    for peer, found in row["tokens"].items():
        if peer == "transformers, static":
            continue
        name = peer.partition(",")[0]
        if found["equal"] == found["texts"]:
            words.append(f"{name}: equal")
        else:
            words.append(
                f"{name}: {found['equal']} of {found['texts']} equal, the first other token is "
                f"{found['first_token'] + 1} of text {found['first_text'] + 1}"
            )
    return "; ".join(words)


def decode_table(document, threads):
    key = f"pass_{clock_of(document)}"
    read = document["memory"][str(threads)]["read"]
    lines = []
    for row in document["rows"]:
        if row["threads"] != threads:
            continue
        ours = row["entries"]["csengine"][key]
        llama, hugging = (best(row["entries"], p, key) for p in ("llama.cpp", "transformers"))
        rate = row["megabytes"] / ours
        lines.append(
            [row["packing"], str(row["texts"]), said(ours), said(llama), said(hugging)]
            + [times(llama / ours) if llama else "", times(hugging / ours) if hugging else ""]
            + [f"{rate:.1f} ({rate / read:.0%})"]
        )
    titles = ["Packing", "Texts", "Ours, ms", "llama.cpp, ms", "transformers, ms"]
    return table(titles + ["Beside llama.cpp", "Beside transformers", "Weights, GB/s"], lines)


def prompt_table(document, threads):
    key = f"prompt_{clock_of(document)}"
    lines = []
    for row in document["rows"]:
        if row["threads"] != threads:
            continue
        tokens = row["texts"] * document["prompt_tokens"]
        ours = row["entries"]["csengine"][key]
        llama, hugging = (best(row["entries"], p, key) for p in ("llama.cpp", "transformers"))
        rates = [f"{tokens / one * 1e3:.0f}" if one else "" for one in (ours, llama, hugging)]
        ratios = [times(one / ours) if one else "" for one in (llama, hugging)]
        lines.append([row["packing"], str(row["texts"]), *rates, *ratios, tokens_said(row)])
    titles = ["Packing", "Texts", "Ours, tokens/s", "llama.cpp", "transformers"]
    return table(titles + ["Beside llama.cpp", "Beside transformers", "Tokens"], lines)


def memory_line(document):
    rates = [
        f"{threads} thread{'s' if int(threads) > 1 else ''} read {one['read']:.1f} GB/s and copy "
        f"{one['copy']:.1f} GB/s"
        for threads, one in sorted(document["memory"].items())
    ]
    return "Memory beside it, in the same run: " + "; ".join(rates) + "."


def page(document):
    machine, versions = document["machine"], document["versions"]
    others = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    models = {row["model"] for row in document["rows"]}
    lines = [
        "# Rates of generated text",
        "",
        "Written by `scripts/write_generation_page.py` from `docs/generation.json`, a result of",
        "`bench/generation_rates.py`, which says what is measured and how. Greedy texts of "
        f"{document['new_tokens']} tokens after",
        f"prompts of {document['prompt_tokens']} tokens; medians of {document['rounds']} rounds, "
        "each side in turn on the same cores.",
        "",
        f"{machine['processor']}, {machine['cores']} cores; {others}. "
        + "; ".join(f"{MODELS[model]} for {', '.join(names_of(document, model))}"
                    for model in MODELS if model in models) + ".",
        "",
        memory_line(document),
        "",
    ]
    if clock_of(document) == "processor_ms":
        lines += [
            f"The machine was busy (load {machine['load']}): told are times of the processors, "
            "those of all threads together. They are",
            "no time that a user waits, and say who computes less.",
            "",
        ]
    for threads in sorted({row["threads"] for row in document["rows"]}):
        word = "thread" if threads == 1 else "threads"
        lines += [f"## A token of each text, {threads} {word}", ""]
        lines += decode_table(document, threads)
        lines += [f"## Prompts, {threads} {word}", ""]
        lines += prompt_table(document, threads)
    lines += ["## Behind", ""]
    slow = {"A token of each text": behind(document, "pass"), "Prompts": behind(document, "prompt")}
    for what, found in slow.items():
        lines += [f"- {what}: " + ("; ".join(found) if found else "nothing") + "."]
    for name, why in document["failures"].items():
        lines.append(f"- `{name}` failed: {why}")
    lines += [
        "",
        "llama.cpp rounds what it multiplies with packed weights to 8 bits, so that its tokens may "
        "be others; ours have the bits of an",
        "evaluation with the unpacked weights.",
        "",
    ]
    return "\n".join(lines)


def names_of(document, model):
    return list(dict.fromkeys(row["packing"] for row in document["rows"] if row["model"] == model))


def main():
    with open(sys.argv[1]) as file:
        document = json.load(file)
    found = faults(document)
    if found:
        sys.exit("\n".join(found))
    print(page(document), end="")


if __name__ == "__main__":
    main()
