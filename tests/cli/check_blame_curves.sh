#!/bin/sh
# `csengine blame --curves`: the step of a poisoned sample is where curves of the loss and of the
# norms of gradients jump, or are first not finite; the figures are those that Python finds in the
# points of the run store; what has no effect is refused.
set -u
. "${top_srcdir:?}/tests/support/past_runs.sh"
# Without shuffling, row 1415 is in step 15, as a batch has 100 rows.
table() { # WHAT THE ROW HAS
    awk -v planted="$1" 'BEGIN {
        print "a,b,c,label"
        for (i = 0; i < 4000; i++) {
            a = (i * 37 % 101) / 50 - 1; b = (i * 53 % 97) / 48 - 1
            if (i == 1415) print planted "," planted ",0,1"
            else print a "," b "," (i * 3 % 13) / 13 "," (a + b > 0)
        }
    }'
}
train() { # NAME CODE ARGUMENTS...
    name=$1
    code=$2
    shift 2
    "$csengine" start "$source/configs/synthetic.yaml" --quiet --no_dashboard --model_dir "$name" \
        --compile_dir compiled --set fit.val_dataloader=null --set loop.num_steps=null \
        --set model.input_size=3 --set model.num_classes=2 --set "model.hidden_sizes=[8]" \
        --set "optimizer={SGD: {lr: 0.1, momentum: 0}}" --set precision.max_gradient_norm=0.5 \
        --set "callbacks=[{ComputeNorm: {grad_norm: true, per_layer_grad_norm: true}}]" \
        --set "fit.train_dataloader={data_processor: csv, path: $name.csv, label: label, \
batch_size: 100, micro_batch_size: 25, shuffle: false}" "$@" >"$name.out" 2>&1
    found=$?
    [ $found -eq "$code" ] || fail "$name: exit code $found, not $code: $(cat "$name.out")"
}
curves() { # RUN
    "$csengine" blame "$1" --curves --json >curves.json 2>err || fail "$1: $(cat err)"
    "$csengine" sql "$1" --format csv "SELECT name, step, value FROM points JOIN series ON \
points.series = series.id ORDER BY step" >points.csv 2>err || fail "$1: $(cat err)"
    python3 - "$1" <<'END_OF_PYTHON' || fail "$1: $(cat curves.json)"
import csv
import json
import math
import sys

named = {}
for row in csv.DictReader(open("points.csv")):
    value = float(row["value"]) if row["value"] not in ("", "NULL") else math.nan
    named.setdefault(row["name"], []).append((int(row["step"]), value))


def median(values):
    return sorted(values)[len(values) // 2]


def largest(points):
    """(deviations, from, step, value, median) of the largest jump; None where there is none."""
    best, before, begun = None, [], None
    for step, value in points:
        if len(before) >= 8:
            window = before[-32:]
            middle = median(window)
            spread = median([abs(v - middle) for v in window])
            above = (value - middle) / max(spread, abs(middle) / 100, 1e-30)
            begun = (begun or step) if above > 8 else None
            if begun and (best is None or above > best[0]):
                best = (above, begun, step, value, middle)
        before.append(value)
    return best


answer = {curve["name"]: curve for curve in json.load(open("curves.json"))["curves"]}
expected = {name for name in named if name == "loss" or "grad_norm" in name}
assert len(expected) >= 4 and set(answer) == expected, (sorted(answer), sorted(named))
for name, curve in answer.items():
    bad = [step for step, value in named[name] if not math.isfinite(value)]
    assert curve["points"] == len(named[name]) and curve["not_finite"] == len(bad), curve
    assert curve["first_not_finite"] == (bad[0] if bad else None), curve
    jump = largest([point for point in named[name] if math.isfinite(point[1])])
    if jump is None:
        assert curve["jump"] is None, (curve, jump)
        continue
    told = [curve["jump"][key] for key in ("deviations", "from", "step", "value", "median")]
    assert told[1:3] == list(jump[1:3]), (curve, jump)
    for mine, theirs in zip(jump, told):
        assert abs(mine - theirs) <= 1e-9 * abs(mine), (curve, jump)
loss = answer["loss"]
if sys.argv[1] == "jump":
    assert loss["jump"]["from"] == answer["grad_norm"]["jump"]["from"] == 15, answer
elif sys.argv[1] == "huge":
    assert answer["grad_norm"]["first_not_finite"] == 15, answer
else:
    assert not any(curve["jump"] or curve["not_finite"] for curve in answer.values()), answer
END_OF_PYTHON
}

table 4000 >jump.csv
table 0.5 >calm.csv
table 3e38 >huge.csv
train jump 0 --max_steps 40
train calm 0 --max_steps 40
train huge 0 --max_steps 40
curves jump
curves calm
curves huge
expect 0 '^loss: the largest jump begins at step 15, at step 15 it is ' blame jump --curves
expect 0 '^all points of these curves are finite, to step 40$' blame calm --curves
expect 0 '^loss: no jump: none of 40 finite points' blame calm --curves
expect 0 '^grad_norm: not finite at 1 of 40 points, first at step 15$' blame huge --curves
expect 0 '^csengine numerics huge: which tensor' blame huge --curves

cp calm.csv short.csv
train short 0 --max_steps 8
expect 0 '^loss: 8 finite points are too few to tell a jump, it needs 9$' blame short --curves
expect 64 '--step has no effect with --curves' blame calm --curves --step 5
expect 64 '--gradients has no effect with --curves' blame calm --curves --gradients
expect 66 'nothing' blame nothing --curves
expect 64 'needs --step S, from 1, or --curves' blame calm

[ "$failures" -eq 0 ] && echo 'all as expected'
exit $((failures > 0))
