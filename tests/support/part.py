"""Which part of a campaign a run of the tests takes. CSE_TEST_PART is a number, of which a campaign of N parts
takes that modulo N, or `all`. .ci/run counts it up from commit to commit, so that N commits have all parts;
without it the part is the first. What was taken is printed, with the value that takes it again."""
import os
import sys


def wanted():
    return os.environ.get("CSE_TEST_PART") or "0"


def of(things, parts, what):
    """Every parts-th of `things`, from the chosen one on."""
    text, things = wanted(), list(things)
    if text == "all":
        return things
    if not (text.isascii() and text.isdigit()):
        sys.exit(f"CSE_TEST_PART={text}: accepted is a number from 0 on, or all")
    part = int(text) % parts
    print(f"{what}: part {part} of {parts} (CSE_TEST_PART={part} repeats it, all takes every part)", flush=True)
    return things[part::parts]
