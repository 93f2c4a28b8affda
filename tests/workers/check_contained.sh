#!/bin/sh
# A confined job in name spaces of its own: the numbers that it tells are those outside, a
# coordinator that is killed has a successor, the job stops and goes on with the process that was
# started, and ends with a checkpoint when that is killed.
set -u
: "${top_srcdir:?}" "${CSENGINE_EXECUTABLE:?}"
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "there is no python3: skipped"; exit 77; }
"$CSENGINE_EXECUTABLE" doctor | grep -q "name spaces of processes" ||
    { echo "users have no name spaces here: skipped"; exit 77; }
work=$(mktemp -d)
process=
trap 'kill -KILL $process 2>/dev/null; rm -rf "$work"' EXIT

complain() {
    echo "$*"
    cat "$work/out"
    exit 1
}

# fact KEY: of the run's store.
fact() {
    "$python" -c "
import sqlite3, sys
store = sqlite3.connect('file:$work/run/run.db?mode=ro', uri=True, timeout=5)
print(store.execute('SELECT value FROM run WHERE key = ?', ['$1']).fetchone()[0])" 2>/dev/null
}

wait_for() {
    for _ in $(seq 600); do
        "$@" && return 0
        sleep 0.1
    done
    return 1
}

coordinator_is_there() { # other than number $1
    number=$(fact pid) && [ -n "$number" ] && [ "$number" != "$1" ] && [ -d "/proc/$number" ]
}

did_steps() {
    "$python" -c "
import sqlite3, sys
store = sqlite3.connect('file:$work/run/run.db?mode=ro', uri=True, timeout=5)
sys.exit(not (store.execute('SELECT max(step) FROM points').fetchone()[0] or 0) > 0)" 2>/dev/null
}

has_state() { # $1 process, $2 letter
    grep -q "^State:.$2" "/proc/$1/status"
}

is_gone() {
    ! kill -0 "$1" 2>/dev/null
}

cat >"$work/config.yaml" <<'END'
trainer:
  init:
    model: { name: fc_mnist, input_size: 2, hidden_sizes: [8], num_classes: 2 }
    optimizer: { SGD: { lr: 0.01 } }
    loop: { num_steps: 1000000000 }
    seed: 1
  fit:
    train_dataloader:
      { data_processor: synthetic, features: [2], classes: 2, samples: 256,
        batch_size: 64, micro_batch_size: 32 }
END
"$CSENGINE_EXECUTABLE" start "$work/config.yaml" --confine --model_dir "$work/run" --quiet \
    >"$work/out" 2>&1 &
process=$!
wait_for coordinator_is_there 0 || complain "no coordinator"
first=$number
[ "$(sed -n 's/^NSpid:\t*//p' "/proc/$first/status" | wc -w)" -ge 2 ] ||
    complain "no name space of its own"
[ "$(sed -n 's/^PPid:\t*//p' "/proc/$first/status")" = "$(fact first_pid)" ] ||
    complain "first_pid"

kill -KILL "$first"
wait_for coordinator_is_there "$first" || complain "no successor"
second=$number

kill -TSTP $process
wait_for has_state "$second" T || complain "the job does not stop"
kill -CONT $process
wait_for has_state "$second" '[SR]' || complain "the job does not go on"

wait_for did_steps || complain "no steps"
kill -KILL $process
wait_for is_gone "$second" || complain "the job outlives the process that was started"
[ -n "$(find "$work/run" -maxdepth 1 -name 'checkpoint_*.mdl')" ] || complain "no checkpoint"
