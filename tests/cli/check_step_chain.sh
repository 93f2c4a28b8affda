#!/bin/sh
# The chain of digests of a run's steps: the same for any number of processes, for a run that was
# stopped and resumed, whose replica or coordinator was killed; another one from the first step on
# that differs; in each checkpoint; and off by a setting, which changes no weight.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
config=${top_srcdir:-.}/configs/synthetic.yaml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
steps=3000

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}
train() { # NAME ARGUMENTS...
    name=$1
    shift
    "$csengine" start "$config" --quiet --no_dashboard --model_dir "$work/$name" \
        --compile_dir "$work/compiled" --set fit.val_dataloader=null \
        --set loop.num_steps=null "$@" >"$work/$name.out" 2>&1
}
cat >"$work/chain.py" <<'END'
import sqlite3, sys
rows = sqlite3.connect(sys.argv[1] + "/run.db").execute(
    "SELECT step, states, samples, chain FROM chain ORDER BY step").fetchall()
assert all(len(a) == 16 and len(b) == 16 and len(c) == 32 for _, a, b, c in rows)
for row in rows:
    print(row[0], row[1].hex(), row[2].hex(), row[3].hex())
END
chain() { # NAME: a line a step
    python3 "$work/chain.py" "$work/$1" >"$work/$1.chain" || fail "$1: no chain"
    [ "$(wc -l <"$work/$1.chain")" -eq $steps ] || fail "$1: $(wc -l <"$work/$1.chain") steps"
}
# Kills a process of a run, once it has done more than so many steps.
kill_in() { # NAME replica|coordinator STEPS
    python3 - "$work/$1" "$2" "$3" <<'END'
import os, signal, sqlite3, subprocess, sys, time
for _ in range(4000):
    time.sleep(0.005)
    try:
        keys = dict(sqlite3.connect(f"file:{sys.argv[1]}/run.db?mode=ro", uri=True).execute(
            "SELECT key, value FROM run").fetchall())
    except sqlite3.Error:
        continue
    if int(keys.get("last_step") or 0) > int(sys.argv[3]):
        break
pid = int(keys["pid"])
if sys.argv[2] == "replica":
    children = open(f"/proc/{pid}/task/{pid}/children").read().split()
    pid = int(children[0])
os.kill(pid, signal.SIGKILL)
END
}

train one --max_steps $steps --num_csx 1 || fail "one: $(cat "$work/one.out")"
chain one
for replicas in 2 5; do
    train csx$replicas --max_steps $steps --num_csx $replicas ||
        fail "$(cat "$work/csx$replicas.out")"
    chain csx$replicas
    cmp -s "$work/one.chain" "$work/csx$replicas.chain" || fail "another chain: $replicas replicas"
done
train resumed --max_steps 700 --num_csx 2
train resumed --max_steps $steps || fail "resumed: $(cat "$work/resumed.out")"
chain resumed
cmp -s "$work/one.chain" "$work/resumed.chain" || fail "another chain when it is resumed"

# At the first steps nothing of the chain is in the run store, nor in a checkpoint.
for killed in 'replica 100' 'coordinator 100' 'coordinator 0'; do
    victim=${killed% *} at=${killed#* }
    train "killed-$victim-$at" --max_steps $steps --num_csx 2 --set checkpoint.steps=500 &
    kill_in "killed-$victim-$at" "$victim" "$at" || fail "$victim: nothing was killed"
    wait $! || fail "killed $victim: $(cat "$work/killed-$victim-$at.out")"
    chain "killed-$victim-$at"
    cmp -s "$work/one.chain" "$work/killed-$victim-$at.chain" ||
        fail "another chain, $victim killed at step $at"
done

# Checkpoints have the chain after their step.
for name in one killed-coordinator-100; do
    stored=$("$csengine" checkpoint info "$work/$name/checkpoint_$steps.mdl" |
        sed -n 's/^chain: *//p')
    [ "$stored" = "$steps $(tail -n 1 "$work/one.chain" | cut -d' ' -f4)" ] ||
        fail "$name: its checkpoint has the chain '$stored'"
done

# From the first step on that differs.
train other --max_steps $steps --checkpoint_path "$work/resumed/checkpoint_700.mdl" \
    --set optimizer.SGD.learning_rate=0.0625
python3 - "$work/one.chain" "$work/other" <<'END' || fail "another learning rate: see above"
import sqlite3, sys
first = [line.split() for line in open(sys.argv[1])]
other = {step: (states.hex(), samples.hex(), chain.hex()) for step, states, samples, chain in
         sqlite3.connect(sys.argv[2] + "/run.db").execute(
             "SELECT step, states, samples, chain FROM chain")}
assert min(other) == 701 and len(other) >= 2300, (min(other), len(other))
assert other[701][1] == first[700][2], "the samples are the same"
assert all(other[step][0] != first[step - 1][1] for step in (701, 702, 3000)), "states differ"
assert all(other[step][2] != first[step - 1][3] for step in (701, 702, 3000)), "the chains differ"
END

train off --max_steps $steps --set step_digests=false || fail "off: $(cat "$work/off.out")"
python3 "$work/chain.py" "$work/off" | grep -q . && fail 'off: there is a chain'
weights() { sed -n 's/^Weights digest: //p' "$work/$1.out"; }
[ -n "$(weights one)" ] && [ "$(weights one)" = "$(weights off)" ] ||
    fail "off: other weights: $(weights one) $(weights off)"

[ $failures -eq 0 ]
