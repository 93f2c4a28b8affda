#!/bin/sh
# Loggers of a real run: the event file is read by an independent parser and holds, bit for bit, the
# losses that the run printed; the CSV file holds the same numbers; a resumed run appends to them.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
source=${top_srcdir:-.}
python=
for choice in ${PYTHON:-} python3 /usr/bin/python3; do
    "$choice" -c 'import struct' 2>/dev/null && python=$choice && break
done
[ -n "$python" ] || { echo "python3 is not there: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

# start STEPS ARGUMENTS...: JSON lines in $work/out.
start() {
    steps=$1
    shift
    timeout 100 "$csengine" start "$source/configs/synthetic.yaml" --json --model_dir "$work/run" \
        --compile_dir "$work/compiled" --set loop.num_steps=null --max_steps "$steps" \
        "$@" >"$work/out" 2>"$work/errors"
}

# The losses that the program printed: "step bits".
printed() {
    sed -n 's/.*"step","step":\([0-9]*\),.*"loss_bits":"\([0-9a-f]*\)".*/\1 \2/p' "$work/out"
}

read_events() { "$python" "$source/tests/reference/read_event_file.py" "$1"; }

before=$(date +%s)
start 30 --set 'loggers=[{TensorBoardLogger: {}}, CSVLogger]' || fail "start: $(cat "$work/errors")"
set -- "$work"/run/events/events.out.tfevents.*
[ -f "$1" ] && [ $# = 1 ] || fail "event files: $*"
read_events "$1" >"$work/events" || fail "the event file cannot be read"
printed >"$work/losses"
[ "$(wc -l <"$work/losses")" = 3 ] || fail "printed losses: $(cat "$work/losses")"
awk '$2 == "loss" { print $1, $3 }' "$work/events" | cmp -s - "$work/losses" ||
    fail "losses of the event file: $(cat "$work/events"), printed: $(cat "$work/losses")"
grep -q '^30 val_loss ' "$work/events" && grep -q '^30 val_accuracy ' "$work/events" ||
    fail "no validation at step 30: $(cat "$work/events")"
grep -q '^10 samples_per_second ' "$work/events" || fail "no rate: $(cat "$work/events")"
grep -q '^10 lr/0 3dcccccd ' "$work/events" || fail "the learning rate is not 0.1"
awk -v from="$before" -v to="$(($(date +%s) + 1))" \
    '$4 < from || $4 > to { bad = 1 } END { exit bad }' "$work/events" ||
    fail "wall times: $(cat "$work/events")"

# The same values in the CSV file.
"$python" - "$work/events" "$work/run/metrics.csv" <<'PYTHON' || fail "the CSV file differs"
import csv
import struct
import sys

events = [line.split()[:3] for line in open(sys.argv[1])]
with open(sys.argv[2], newline="") as file:
    rows = list(csv.DictReader(file))
assert list(rows[0]) == ["step", "time_s", "name", "value"], rows[0]
lines = [[row["step"], row["name"], struct.pack(">f", float(row["value"])).hex()] for row in rows]
assert lines == events, (lines, events)
PYTHON

# Going on: a further event file, the same CSV file without a second head.
start 60 --set 'loggers=[{TensorBoardLogger: {}}, CSVLogger]' || fail "again: $(cat "$work/errors")"
set -- "$work"/run/events/events.out.tfevents.*
[ $# = 2 ] || fail "event files of two starts: $*"
for file in "$@"; do read_events "$file"; done | awk '$2 == "loss" { print $1 }' | sort -n |
    tr '\n' ' ' | grep -qx '10 20 30 40 50 60 ' || fail "steps of two starts"
[ "$(grep -c '^step,' "$work/run/metrics.csv")" = 1 ] || fail "heads of the CSV file"
[ "$(grep -c ',loss,' "$work/run/metrics.csv")" = 6 ] || fail "lines of the CSV file"

wrong() {
    timeout 100 "$csengine" start "$work/wrong.yaml" --model_dir "$work/wrong" \
        >/dev/null 2>"$work/errors"
}

# A place that cannot be made is found before training; a wrong setting names its line.
touch "$work/file"
start 90 --set "loggers=[{TensorBoardLogger: {summary_dir: $work/file/x}}]" &&
    fail "a file as a folder"
grep -q 'TensorBoardLogger: summary_dir .*/file/x' "$work/errors" || fail "$(cat "$work/errors")"
sed 's/^    seed: 1$/    loggers:\n      - CSVLogger: {pth: x}/' "$source/configs/synthetic.yaml" \
    >"$work/wrong.yaml"
wrong
[ $? = 78 ] || fail "exit code of a wrong setting"
grep -q 'wrong.yaml:[0-9]*:21: .*"pth".*did you mean "path"' "$work/errors" ||
    fail "wrong setting: $(cat "$work/errors")"
sed -i 's/CSVLogger: .*/CVSLogger/' "$work/wrong.yaml"
wrong
[ $? = 78 ] && grep -q 'wrong.yaml:[0-9]*:.*CVSLogger.*did you mean.*CSVLogger' "$work/errors" ||
    fail "wrong name: $(cat "$work/errors")"

# A full disk does not end the training.
if [ "${CSE_SANITIZE:-no}" = no ]; then
    start 61 --set "loggers=[{CSVLogger: {path: /dev/full}}]" || fail "full: $(cat "$work/errors")"
    grep -q 'CSVLogger: /dev/full cannot be written.*goes on without it' "$work/errors" ||
        fail "no warning of the full disk: $(cat "$work/errors")"
fi
[ "$failures" = 0 ]
