#!/bin/sh
# docs/cerebras_api.md is what its rows say, and each row is true: what it names exists, the tests
# exist and are about it, and what differs has a reason. Rows that are not true are refused.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
source=${top_srcdir:-.}
build=${top_builddir:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
command -v python3 >/dev/null || { echo "python3 is missing: skipped"; exit 77; }

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

fill() {
    python3 "$source/scripts/cerebras_api.py" "$csengine" "$1" "$build/dashboard/openapi.json"
}

fill "$source" >"$work/filled.md" || fail "rows that are not true"
sh "$source/scripts/fill_tables.sh" "$csengine" "$work/filled.md" >"$work/document.md"
diff "$source/docs/cerebras_api.md" "$work/document.md" >"$work/difference" ||
    fail "docs/cerebras_api.md is old: make cerebras_api; $(head -n 5 "$work/difference")"

# refuses ROW WHAT: a row that is not true. All of them stand in one tree behind the true ones; each
# must be refused, by its line and for its reason.
mkdir -p "$work/tree/scripts" "$work/tree/docs"
for part in include tests; do
    ln -s "$(cd "$source/$part" && pwd)" "$work/tree/$part"
done
cp "$source/docs/cerebras_api.md" "$work/tree/docs/"
cp "$source/scripts/cerebras_api.txt" "$work/tree/scripts/"
line=$(wc -l <"$source/scripts/cerebras_api.txt")
refuses() {
    line=$((line + 1))
    printf '%s\n' "$1" >>"$work/tree/scripts/cerebras_api.txt"
    printf '%s\t%s\n' "cerebras_api.txt:$line: " "$2" >>"$work/expected"
}
test=tests/run/job/check_job.c
refuses "x | call | same | \`cse_nothing\` | $test:cse_run |" '`cse_nothing` does not exist'
refuses "x | call | same | \`cse_clip.max_num_csx\` | $test:cse_run |" 'does not exist'
refuses "x | key | same | \`loop.num_step\` | $test:cse_run |" '`loop.num_step` does not exist'
refuses "x | flag | same | \`--num_cs\` | $test:cse_run |" '`--num_cs` does not exist'
refuses "x | class | same | \`optimizer SGDD\` | $test:cse_run |" 'does not exist'
refuses "x | key | same | \`optimizer SGD: lrr\` | $test:cse_run |" 'does not exist'
refuses "x | class | same | \`csengine strat\` | $test:cse_run |" 'does not exist'
refuses "x | route | same | \`GET /api/v1/job\` | $test:cse_run |" 'does not exist'
refuses "x | call | same | \`cse_run\` | tests/run/check_jobb.c |" \
    'there is no tests/run/check_jobb.c'
refuses "x | call | same | \`cse_argmax\` | tests/store/check_phase.c |" 'mentions none of'
refuses "x | call | same | \`cse_run\` | |" 'no test holds it'
refuses "x | call | different | \`cse_run\` | $test |" 'it gives no reason'
refuses "x | call | not yet | | |" 'it gives no reason'
refuses "x | call | nearly | \`cse_run\` | $test |" '"nearly" is none of'
refuses "x | call | same | | $test:cse_run |" 'it does not say what it is here'
fill "$work/tree" >"$work/out" 2>"$work/err" && fail "rows that are not true are accepted"
while IFS="$(printf '\t')" read -r where what; do
    grep -F "$where" "$work/err" | grep -qF "$what" || fail "$where$what: $(cat "$work/err")"
done <"$work/expected"
[ "$(grep -c . "$work/err")" -eq "$(grep -c . "$work/expected")" ] ||
    fail "other rows are refused, too: $(cat "$work/err")"
[ "$failures" = 0 ]
