#!/bin/sh
# docs/performance.md is what the script makes of docs/performance.json, and performance_amx.md of
# its own; the schema refuses what is no such result; a short run of bench/performance.py without
# PyTorch gives one.
set -u
source=$(cd "${top_srcdir:-.}" && pwd)
csengine=${CSENGINE_EXECUTABLE:-./csengine}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

python=
for choice in ${PYTHON:-} python3 /usr/bin/python3; do
    "$choice" -c 'import json' 2>/dev/null && python=$choice && break
done
[ -n "$python" ] || { echo 'skipped: no Python'; exit 77; }

write_page() { # JSON
    "$python" "$source/scripts/write_performance_page.py" "$1"
}

for page in performance performance_amx; do
    write_page "$source/docs/$page.json" >"$work/page.md" || fail "no page can be made"
    diff "$source/docs/$page.md" "$work/page.md" ||
        fail "docs/$page.md is old: make performance_page"
done

"$python" - "$source" <<'PYTHON' || fail "the schema, or the page of changed results"
import copy
import json
import sys

sys.dont_write_bytecode = True
source = sys.argv[1]
sys.path[:0] = [f"{source}/bench", f"{source}/scripts"]
import write_performance_page as writer
from performance_schema import faults, faults_of

with open(f"{source}/docs/performance.json") as file:
    good = json.load(file)
assert faults(good) == []


def changed(change):
    document = copy.deepcopy(good)
    change(document)
    return document


# What is missing, unknown, or of another type is refused with its place.
for change, said in (
    (lambda d: d.pop("steps"), "document.steps: missing"),
    (lambda d: d.update(more=1), "document.more: not known"),
    (lambda d: d.update(quick=1), "document.quick: 1 is not of type bool"),
    (lambda d: d.update(rounds=True), "document.rounds: True is not of type int"),
    (lambda d: d["steps"][0].update(cores="one"),
     "document.steps[0].cores: 'one' is not of type int"),
    (lambda d: d.update(format=0), "document.format: 0, this program reads 1"),
):
    found = faults(changed(change))
    assert said in found, (said, found)
assert faults_of([1, None], [(int, None)], "x") == []
assert faults_of({"a": 1}, {str: int}, "x") == []

# A row that is behind is said to be, in the table and in words; a gap is named.
def slower(d):
    row = d["steps"][0]
    row["ratio"] = 0.5
    row["entries"] = [dict(row["entries"][0], name="csengine", ms=2.0),
                      dict(row["entries"][0], name="PyTorch", ms=1.0)]
    d["failures"]["W9"] = "no such work"

text = writer.page(changed(slower))
name = good["steps"][0]["row"]
assert "**behind: 2.00 times slower**" in text
assert f"Behind PyTorch: `{name}` (2.00 times slower than PyTorch)" in text
assert "`W9` failed: no such work" in text

# Without PyTorch, and without the longer sections, there is a page all the same.
def alone(d):
    for row in d["steps"]:
        row["entries"] = [one for one in row["entries"] if one["name"] == "csengine"]
        row.update(ratio=None, losses={})
    d.update(products=None, roofline=None, compile=None, scaling=[])
    d["versions"]["torch"] = None

document = changed(alone)
assert faults(document) == []
assert "PyTorch was not there" in writer.page(document)

# Where PyTorch ran with the fast path of its library and without, both stand on the page, and the
# first one counts.
def twice(d):
    row = d["steps"][0]
    row["entries"] = [dict(row["entries"][0], name=name, ms=ms) for name, ms in
                      (("csengine", 2.0), ("PyTorch", 3.0), ("PyTorch, as installed", 5.0))]
    row.update(ratio=1.5, ratio_as_installed=2.5)
    for product in d["products"]["products"]:
        for dtype in ("float32", "bfloat16"):
            product[dtype]["torch_as_installed"] = product[dtype]["torch"] / 2

document = changed(twice)
assert faults(document) == []
text = writer.page(document)
assert "| 3.00 (PyTorch) | 1.50 times faster | 5.00 (PyTorch) | 2.50 times faster |" in text
assert "float32: ours | oneDNN | PyTorch | PyTorch as installed |" in text

# Each kind of machine names the page of the other.
assert "(performance_amx.md)" in writer.page(good)
with_units = changed(lambda d: d["machine"]["instruction_sets"].append("amx_bf16"))
assert "A processor with matrix units" in writer.page(with_units)
assert "(performance.md)" in writer.page(with_units)

# Words for ratios.
assert writer.times(1.3) == "1.30 times faster" and writer.times(1.01) == "equal (1.01)"
assert writer.times(0.8) == "**behind: 1.25 times slower**"
PYTHON

# A whole run, of the shortest row: no row is measured by sanitized code.
measure() { # program rows
    "$python" "$source/bench/performance.py" --csengine "$1" --rows "$2" --rounds 1 --quick \
        --python none --output "$work/result.json" >"$work/out" 2>"$work/errors"
}

if [ "${CSE_SANITIZE:-no}" = no ]; then
    measure "$csengine" small-fp32,compile || fail "a run: $(cat "$work/out" "$work/errors")"
    grep -q '^small-fp32  *csengine [0-9.]* ms$' "$work/out" || fail "no row: $(cat "$work/out")"
    write_page "$work/result.json" >"$work/own.md" || fail "no page of the run"
    grep -q '^| small | .* | fp32 | 1 | ' "$work/own.md" || fail "the page has no such row"
    grep -q '^| 12 | [0-9.]* | [0-9]* | [0-9.]* |$' "$work/own.md" || fail "no time of compiling"
    measure /nothing small-fp32 && fail "a failed row is no failure"
    grep -q '^small-fp32  *FAILED: ' "$work/errors" ||
        fail "the failure is not told: $(cat "$work/errors")"
fi
[ "$failures" = 0 ] && echo "all as expected"
