#!/bin/sh
# `csengine tune-precision` and `sweep-precision` with the extreme tolerances: all layers get the
# lowest level, or all stay in float32. The written configuration can be started and has the trials
# in comments; no temporary files remain, and no existing file is overwritten.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
config=$(cd "${top_srcdir:-.}" && pwd)/configs/synthetic.yaml
mkdir "$work/tmp"
export TMPDIR="$work/tmp"
cd "$work" || exit 70

fail() {
    echo "FAIL: $1"
    failed=1
}

layers=$("$csengine" compile "$config" --model_dir "$work/model" --print_precision \
    --set precision.fp16_type=bfloat16 2>/dev/null |
    grep '^matmul' | grep -v backward | sed 's/.* \(model[^ ]*\)  *#.*/\1/' | sort -u)
count=$(echo "$layers" | wc -l)
[ "$count" -ge 2 ] || fail "the configuration has $count layers; two are needed here"

# Any loss is within ten times the loss; none is within nothing, since the rounding of a product's
# operands to 8 bits shows in it.
"$csengine" tune-precision "$config" --tolerance 10 --steps 10 --output low.yaml 2>err ||
    fail "tolerance 10: $(cat err)"
[ "$(grep -c '^# POL 2  model' low.yaml)" = "$count" ] || fail "not all at POL 2: $(cat low.yaml)"
# One training in float32 and one of everything lowered.
[ "$(grep -c 'kept$' low.yaml)" = 1 ] || fail "more than one trial was needed: $(cat low.yaml)"
"$csengine" tune-precision "$config" --tolerance 0 --steps 10 --output high.yaml 2>err ||
    fail "tolerance 0: $(cat err)"
[ "$(grep -c '^# fp32   model' high.yaml)" = "$count" ] || fail "not all fp32: $(cat high.yaml)"

for found in low high; do
    "$csengine" start $found.yaml --num_steps 3 --model_dir "$work/$found" >/dev/null 2>err ||
        fail "$found.yaml cannot be started: $(cat err)"
done
# All layers in float32 is the training in float32, to the bit.
digest() {
    rm -rf "$work/d"
    "$csengine" start "$@" --num_steps 5 --model_dir "$work/d" --set fit.ckpt_path=null |
        grep 'Weights digest'
}
[ "$(digest "$config")" = "$(digest high.yaml)" ] || fail "all at fp32 is not float32"

"$csengine" tune-precision "$config" --output low.yaml >/dev/null 2>err &&
    fail "an existing file was overwritten"
grep -q 'low.yaml is there already' err || fail "existing file: $(cat err)"
for wrong in '--tolerance x' '--tolerance -1' '--steps 0' '--fp16_type half' '--preset mp0'; do
    # shellcheck disable=SC2086 # two words
    "$csengine" tune-precision "$config" $wrong --output other.yaml >/dev/null 2>err
    [ $? -eq 64 ] || fail "$wrong: $(cat err)"
    grep -q 'accepted: ' err || fail "$wrong does not say what is accepted: $(cat err)"
done
[ ! -e other.yaml ] || fail "a file was written in spite of wrong options"

[ -z "$(ls "$work/tmp")" ] || fail "left behind: $(ls "$work/tmp")"
# For programs: a line for each trial when it is done, and the result. Never mixed with the file.
"$csengine" tune-precision "$config" --tolerance 0 --steps 5 --output json.yaml --json \
    >lines 2>err || fail "--json: $(cat err)"
[ ! -s err ] || fail "--json writes to stderr: $(cat err)"
[ "$(grep -c '^{"event":"start","layers":2,' lines)" = 1 ] || fail "no start: $(cat lines)"
trials=$(grep -c '^{"event":"trial",.*"most_trials_left":[0-9]*,.*"most_seconds_left":' lines)
[ "$trials" -ge 3 ] && [ "$trials" = "$(grep -c 'refused$' json.yaml)" ] ||
    fail "$trials trials: $(cat lines json.yaml)"
tail -n 1 lines | grep -q '^{"event":"end","output":"json.yaml",.*"layers":{"model.*":"fp32"' ||
    fail "no end: $(tail -n 1 lines)"
"$csengine" tune-precision "$config" --json --output - >lines 2>err
[ $? -eq 64 ] || fail "--json with --output -: $(cat lines err)"
"$csengine" tune-precision "$config" --tolerance 9 --steps 5 --output quiet.yaml -q 2>err ||
    fail "-q: $(cat err)"
[ "$(cat err)" = 'Written: quiet.yaml' ] || fail "-q: $(cat err)"

[ "${CSE_SANITIZE:-no}" = no ] || exit $failed # 25 more trainings show nothing new of memory
"$csengine" sweep-precision "$config" --steps 3 >table.md 2>err || fail "sweep: $(cat err)"
# The time left, after each row.
[ "$(grep -cE '^row [0-9]+ done of 25, [0-9]+:[0-9]{2} left$' err)" = 25 ] ||
    fail "sweep: $(cat err)"
tail -n 1 err | grep -q '^row 25 done of 25, 0:00 left$' || fail "sweep's end: $(tail -n 1 err)"
# Each row comes when it is done: the first one, while the others train.
"$csengine" sweep-precision "$config" --steps 3 --json 2>err | head -n 1 >first
grep -q '^{.*"format":"fp32",.*"row":1,"rows":25,"seconds_left":[0-9.]*}$' first ||
    fail "the first row: $(cat first err)"
[ "$(grep -c '^| ' table.md)" = 26 ] || fail "the table has not its 25 rows: $(cat table.md)"
grep -q '| - |' table.md && grep -v '^| fp32' table.md | grep -q '| - |' &&
    fail "a row did not train: $(cat table.md)"
# mp0 is float32; scales are powers of two.
[ "$(grep -c '| mp0 | .* | +0.000 % |' table.md)" = 3 ] || fail "mp0: $(cat table.md)"

[ -z "$(ls "$work/tmp")" ] || fail "left behind: $(ls "$work/tmp")"
exit $failed
