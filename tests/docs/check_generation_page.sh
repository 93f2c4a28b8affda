#!/bin/sh
# docs/generation.md is what the script makes of docs/generation.json; the schema refuses what is no
# such result; what is slower, other and failed is said.
set -u
source=$(cd "${top_srcdir:-.}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=
for choice in ${PYTHON:-} python3 /usr/bin/python3; do
    "$choice" -c 'import json' 2>/dev/null && python=$choice && break
done
[ -n "$python" ] || { echo 'skipped: no Python'; exit 77; }
failures=0
"$python" "$source/scripts/write_generation_page.py" "$source/docs/generation.json" \
    >"$work/page.md" || failures=1
diff "$source/docs/generation.md" "$work/page.md" ||
    { echo 'FAIL: docs/generation.md is old: make generation_page'; failures=1; }
"$python" - "$source" <<'PYTHON' || { echo 'FAIL: the schema, or changed results'; failures=1; }
import copy
import json
import sys

sys.dont_write_bytecode = True
source = sys.argv[1]
sys.path[:0] = [f"{source}/bench", f"{source}/scripts"]
import write_generation_page as writer
from generation_schema import faults

with open(f"{source}/docs/generation.json") as file:
    good = json.load(file)
assert faults(good) == []


def changed(change):
    document = copy.deepcopy(good)
    change(document)
    return document


for change, said in (
    (lambda d: d.pop("memory"), "document.memory: missing"),
    (lambda d: d["rows"][0].update(texts="1"), "document.rows[0].texts: '1' is not of type int"),
    (lambda d: d["rows"][0].update(more=1), "document.rows[0].more: not known"),
    (lambda d: d.update(format=0), "document.format: 0, this program reads 1"),
):
    found = faults(changed(change))
    assert said in found, (said, found)


def slower(d):
    d["machine"]["load"] = 0.1
    d["rows"] = d["rows"][:1]
    row = d["rows"][0]
    row.update(packing="Q9", texts=4, threads=int(next(iter(d["memory"]))))
    one = row["entries"]["csengine"]
    row["entries"] = {
        "csengine": dict(one, pass_ms=3.0, prompt_ms=9.0),
        "llama.cpp": dict(one, pass_ms=2.0, prompt_ms=18.0),
    }
    row["tokens"] = {"llama.cpp": dict(texts=4, equal=3, first_text=2, first_token=6)}
    d["failures"]["Q8"] = "no such model"


text = writer.page(changed(slower))
assert "Q9, 4 texts, " in text and "1.50 times slower than llama.cpp" in text, text
assert "2.00 times faster" in text and "- Prompts: nothing." in text
assert "3 of 4 equal, the first other token is 7 of text 3" in text
assert "`Q8` failed: no such model" in text
assert "was busy" not in text and "was busy" in writer.page(changed(
    lambda d: d["machine"].update(load=9.0)))
PYTHON
[ "$failures" -eq 0 ] && echo 'all as expected'
