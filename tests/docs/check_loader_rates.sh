#!/bin/sh
# docs/loader_rates.md is what the script makes of docs/loader_rates.json; the schema refuses what
# is no such result; rows below twice the other side's rate, or behind it, are named.
set -u
source=$(cd "${top_srcdir:-.}" && pwd)
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

"$python" "$source/scripts/write_loader_rates_page.py" "$source/docs/loader_rates.json" \
    >"$work/page.md" || fail "no page can be made"
diff "$source/docs/loader_rates.md" "$work/page.md" ||
    fail "docs/loader_rates.md is old: make loader_rates_page"

"$python" - "$source" <<'PYTHON' || fail "the schema, or the page of changed results"
import copy
import json
import sys

sys.dont_write_bytecode = True
source = sys.argv[1]
sys.path[:0] = [f"{source}/bench", f"{source}/scripts"]
import write_loader_rates_page as writer
from loader_rates_schema import faults

with open(f"{source}/docs/loader_rates.json") as file:
    good = json.load(file)
assert faults(good) == []


def changed(change):
    document = copy.deepcopy(good)
    change(document)
    return document


for change, said in (
    (lambda d: d.pop("rows"), "document.rows: missing"),
    (lambda d: d.update(more=1), "document.more: not known"),
    (lambda d: d["rows"][0].update(ratio="2"), "document.rows[0].ratio: '2' is not of type"),
    (lambda d: d["rows"][0]["ours"].pop("workers"), "document.rows[0].ours.workers: missing"),
    (lambda d: d.update(format=0), "document.format: 0, this program reads 1"),
):
    found = faults(changed(change))
    assert any(fault.startswith(said) for fault in found), (said, found)

# A row that is slow is said to be, in the table and in words; a failure is named.
def slower(d):
    d["rows"][0].update(ratio=0.5, ratio_range=[0.4, 0.6])
    d["rows"][1].update(ratio=1.5, ratio_range=[1.4, 1.6])
    for row in d["rows"][2:]:
        row.update(ratio=3.0)
    d["failures"]["nothing"] = "no such data"

text = writer.page(changed(slower))
first, second = (row["row"] for row in good["rows"][:2])
assert "**0.50 (0.40..0.60)**" in text
assert f"Less than twice as fast: `{first}` (0.50), `{second}` (1.50). Behind: " in text
assert f"Behind: `{first}` (0.50)." in text
assert "`nothing` failed: no such data" in text
PYTHON
[ "$failures" = 0 ] && echo "all as expected"
