#!/bin/sh
# `csengine bisect` names the line of the generated C that computes the first value that differs,
# also where several layers share one function.
set -u
. "${top_srcdir:?}/tests/support/past_runs.sh"
make_table
for rate in 0 0.1; do
    train_table "dropout$rate" 'batch_size: 16, micro_batch_size: 4' --max_steps 2 \
        --set "model.hidden_sizes=[24, 24, 24]" --set "model.dropout=$rate"
done
line() { # OP: of the two runs in "$@"
    "$csengine" bisect "$2" "$3" --json >found.json 2>err
    [ $? -eq 1 ] || fail "bisect $2 $3: $(cat err)"
    python3 - "$1" <<'EOF' || fail "bisect $2 $3: $(cat found.json)"
import json, sys

value = json.load(open("found.json"))["first_value"]
line = value["generated"]
text = open(line["file"]).read().split("\n")[line["line"] - 1]
assert line["text"] and line["text"] in text, (line, text)
assert value["op"] == sys.argv[1], value
EOF
}
line relu dropout0 dropout0.1
grep -q '"text": *"v[0-9]* = relu v[0-9]* : float32 \[4, 24\]  model.fc_layers' found.json ||
    fail "not the line of relu: $(cat found.json)"
train_table half 'batch_size: 16, micro_batch_size: 8' --max_steps 2 \
    --set "model.hidden_sizes=[24, 24, 24]" --set model.dropout=0
"$csengine" bisect dropout0 half >out 2>&1
grep -q 'generated code: .*/step\.c:[0-9]*: ' out || fail "no line of code: $(cat out)"

[ "$failures" -eq 0 ] && echo 'all as expected'
exit $((failures > 0))
