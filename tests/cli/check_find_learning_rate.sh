#!/bin/sh
# `find-learning-rate` on a shipped configuration: it leaves model_dir as it is, ends where the loss
# diverges, and its suggestion trains.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
config=${top_srcdir:-.}/configs/synthetic.yaml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "FAIL: $*"
    failed=1
}

timeout 100 "$csengine" find-learning-rate "$config" --json --first 1e-6 --last 1e4 --steps 120 \
    --set model_dir="$work/model_dir" --set 'optimizer={SGD: {lr: 0.1}}' >"$work/lines" \
    2>"$work/errors" ||
    fail "$(cat "$work/errors")"
[ ! -e "$work/model_dir" ] || fail "model_dir was made"
rate=$(python3 - "$work/lines" <<'END'
import json, math, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
points, end = lines[:-1], lines[-1]
assert end["event"] == "end" and end["diverged"] and end["steps"] == len(points) < 120, end
factor = (1e4 / 1e-6) ** (1 / 119)
average = 0
for i, point in enumerate(points):
    assert math.isclose(point["rate"], 1e-6 * factor**i, rel_tol=1e-9), point
    average = 0.9 * average + 0.1 * point["loss"]
    assert math.isclose(point["smoothed"], average / (1 - 0.9 ** (i + 1)), rel_tol=1e-6), point
least = min(points, key=lambda point: point["smoothed"])
assert end["rate_of_least_loss"] == least["rate"], (end, least)
assert end["suggestion"] == end["steepest"] < least["rate"], end
print(end["suggestion"])
END
) || fail "the lines"
loss() {
    timeout 60 "$csengine" start "$config" --no_dashboard --json --num_steps 30 \
        --model_dir "$work/$1" --set "optimizer={SGD: {lr: $1}}" 2>/dev/null | python3 -c '
import json, sys
print([json.loads(line) for line in sys.stdin][-1]["metrics"]["loss"])'
}
python3 -c "import sys; sys.exit(not $(loss "$rate") < 0.5 * $(loss 0.00001))" ||
    fail "the suggestion does not train"

timeout 100 "$csengine" find-learning-rate "$config" --quiet --steps 30 \
    --set 'optimizer={SGD: {lr: 0.1}}' >"$work/text" 2>&1 || fail "$(cat "$work/text")"
grep -q '^Suggestion: ' "$work/text" || fail "no suggestion: $(cat "$work/text")"
"$csengine" find-learning-rate "$config" --first 1 --last 0.1 >"$work/text" 2>&1 &&
    fail "a range backwards"
grep -q 'is not below' "$work/text" || fail "$(cat "$work/text")"
exit $failed
