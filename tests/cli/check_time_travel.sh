#!/bin/sh
# Time travel: `inspect` gives the values that a twin of the run kept of each step, with any number
# of processes, and knows whether they are the run's; `bisect` names planted differences; `fork`
# shares the past; bytes that were changed in the chain, in a checkpoint or in the data are found.
set -u
. "${top_srcdir:?}/tests/support/past_runs.sh"
make_table
train() { # NAME ARGUMENTS...
    name=$1
    shift
    train_table "$name" 'batch_size: 32, micro_batch_size: 8' \
        --set "optimizer={AdamW: {lr: 0.01}}" "$@"
}

# ---- any step of the past ----

train run --max_steps 40 --set checkpoint.steps=15 --num_csx 2
train twin --max_steps 40 --set checkpoint.steps=1
for question in '1 1' '7 2' '15 5' '16 1' '29 5' '38 2' '40 1'; do
    step=${question% *}
    replicas=${question#* }
    rm -f seen.safetensors kept.safetensors
    expect 0 "these are the run's bits" inspect run --step "$step" --num_csx "$replicas" \
        --output seen.safetensors
    "$csengine" checkpoint convert "twin/checkpoint_$step.mdl" kept.safetensors --all \
        --map none >out 2>&1 || fail "convert: $(cat out)"
    cmp -s seen.safetensors kept.safetensors ||
        fail "step $step with $replicas processes: not what the twin kept"
done
expect 0 "its chain begins with them" inspect run --step 0 --tensor last_layer.weight
expect 0 '^      18  model.last_layer.bias  *min' inspect run --watch 'model.*bias' --steps 17..19
[ "$(grep -c '^      1[789]  ' out)" -eq 6 ] || fail "watch: $(cat out)"
expect 66 'has done the steps 1 to 40' inspect run --step 41
expect 66 'no state has this name, and .* matches nothing' inspect run --step 3 --tensor nothing
expect 64 'give either --step' inspect run
expect 69 'table.csv: this job may not read it' inspect run --step 3 --confine
expect 0 "these are the run's bits" inspect run --step 3 --confine --data_root "$work" \
    --output_root "$work"
expect 64 'has no effect without --confine' inspect run --step 3 --data_root "$work"
[ -z "$(ls "$TMPDIR")" ] || fail "replays left $(ls "$TMPDIR")"

# ---- steps that are compiled once ----

numbers() { ls -di "$1"/* | sort; } # of the compiled steps in a folder
expect 0 "these are the run's bits" inspect run --step 3 --tensor fc_layers.0.relu
numbers compiled >before
expect 0 "these are the run's bits" inspect run --step 8 --tensor fc_layers.0.relu
numbers compiled | cmp -s before - || fail 'a second question compiled a step'
grep -q . before || fail 'nothing is kept where the run has its compiled steps'
for step in 3 8; do
    expect 0 "these are the run's bits" inspect run --step $step --confine --data_root "$work" \
        --compile_dir own/steps
    numbers own/steps >own.$step
done
cmp -s own.3 own.8 || fail "--compile_dir: $(cat own.3 own.8)"
[ "$(wc -l <own.3)" -eq 1 ] || fail "--compile_dir: $(cat own.3)"
numbers compiled | cmp -s before - || fail '--compile_dir: the steps of the run were used'

# ---- states between questions ----

rm -rf run/replayed
expect 0 'steps 16 to 25 done again$' inspect run --step 25
"$csengine" inspect run --step 28 --json --values 4 >with.json 2>out || fail "with: $(cat out)"
"$csengine" inspect run --step 28 --json --values 4 --kept_states 0 >without.json 2>out ||
    fail "without: $(cat out)"
python3 - <<'END' || fail 'states between questions: the answers differ'
import json

answers = [json.load(open(name)) for name in ("with.json", "without.json")]
begun = [(answer.pop("from"), answer.pop("from_kept")) for answer in answers]
assert begun == [(25, True), (15, False)], begun
assert all(answer.pop("words") for answer in answers)
assert json.dumps(answers[0]) == json.dumps(answers[1])
END
expect 0 'steps 29 to 29 done again, from states that an earlier replay left' inspect run --step 29
for step in 17 18 19; do
    expect 0 "these are the run's bits" inspect run --step $step
done
[ "$(ls run/replayed | wc -l)" -eq 4 ] || fail "kept: $(ls run/replayed)"
printf 'X' | dd of=run/replayed/checkpoint_19.mdl bs=1 seek=9000 conv=notrunc 2>/dev/null
expect 0 'step 19 that an earlier replay had left .* removed' inspect run --step 20
expect 0 "these are the run's bits" inspect run --step 22 --states_dir elsewhere/states
[ "$(ls elsewhere/states)" = checkpoint_22.mdl ] || fail "states_dir: $(ls elsewhere/states)"
cp -r run bare
rm -r bare/replayed
expect 0 'steps 16 to 20 done again$' inspect bare --step 20 --kept_states 0
[ ! -e bare/replayed ] || fail 'kept_states 0: states were kept'

# ---- planted differences ----

expect 0 'equal: the digests of all 40 steps' bisect run twin
train momentum --max_steps 21
train momentum --max_steps 40 --set "optimizer={AdamW: {lr: 0.01, betas: [0.8, 0.999]}}"
expect 1 '^step 22 is the first that differs: the same samples, other states' bisect run momentum
grep -q '^  init.optimizer.AdamW.betas: (none) and \[0.8, 0.999\]' out || fail "betas: $(cat out)"
grep -q '^settings .*: 1$' out || fail "betas: another setting as well: $(cat out)"
grep -q 'exp_avg\[0' out || fail "betas: no first element: $(cat out)"
train epsilon --max_steps 40 --set "optimizer={AdamW: {lr: 0.01, eps: 1.0e-5}}"
expect 1 '^step 1 is the first that differs: the same samples' bisect run epsilon
grep -q '^  init.optimizer.AdamW.eps: (none) and' out || fail "epsilon: $(cat out)"
train order --max_steps 12
train order --max_steps 40 --set train_dataloader.shuffle_seed=7
expect 1 '^step 13 is the first that differs: other samples' bisect run order
grep -q '^  fit.train_dataloader.shuffle_seed: (none) and 7' out || fail "order: $(cat out)"

# A weight with another bit, in weights that a run begins with.
"$csengine" checkpoint convert twin/checkpoint_20.mdl one.safetensors --map none >out 2>&1
python3 - <<'END' || fail "no other bit"
import struct
data = bytearray(open("one.safetensors", "rb").read())
size = struct.unpack("<Q", data[:8])[0]
import json
head = json.loads(data[8:8 + size])
at = 8 + size + head["fc_layers.0.weight"]["data_offsets"][0] + 4 * (5 * 3 + 2)
data[at] ^= 1
open("two.safetensors", "wb").write(data)
END
train one --max_steps 6 --set fit.weights=one.safetensors
train two --max_steps 6 --set fit.weights=two.safetensors
expect 1 '^step 1 is the first that differs' bisect one two
grep -A 1 '^states that differ before the step: 1' out |
    grep -q 'model.fc_layers.0.weight\[5, 2\]: .*; 1 of its elements differ' ||
    fail "flipped bit: $(cat out)"

# ---- forks ----

expect 0 'shares steps 1 to 23 with run: 1 checkpoints as one file' fork run --at 23 \
    --model_dir same --no_dashboard
grep -q "step 23 was done again; these are the run's bits" out || fail "fork: $(cat out)"
expect 0 'equal: the digests of all 40 steps' bisect run same
[ same/checkpoint_15.mdl -ef run/checkpoint_15.mdl ] || fail 'fork: no shared file'
expect 0 '' fork run --at 23 --model_dir changed --no_dashboard --set optimizer.AdamW.lr=0.02
expect 1 '^step 24 is the first that differs: the same samples' bisect run changed
grep -q '^  init.optimizer.AdamW.lr: 0.01 and 0.02' out || fail "fork: $(cat out)"
expect 73 'there is a run already' fork run --at 23 --model_dir changed --no_start
expect 64 'needs --at' fork run --model_dir elsewhere

# Without a sample from its first use on, as a run that never had it.
left=$("$csengine" blame run --step 5 --top 1 --json |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["samples"][0]["sample"])')
expect 0 "^step 5 of run is the first that used one of the samples: $left\$" fork run \
    --without "$left" --model_dir less --no_dashboard --max_steps 12
train never --max_steps 12 --set "train_dataloader.without=[$left]"
expect 0 'equal: the digests of all 12 steps' bisect less never

# ---- proofs ----

HOME=$work/home
export HOME
unset XDG_CONFIG_HOME
mkdir "$HOME"
"$csengine" prove run --output run.proof >out 2>&1 || fail "prove: $(cat out)"
[ "$(stat -c %a "$HOME/.config/csengine/proof.key")" = 600 ] || fail 'the key is not private'
expect 0 'match: the chain of steps 1 to 40 is that of the proof, and 2 stretches' verify \
    run.proof run --steps 2 --num_csx 1
expect 0 'match' verify run.proof same --steps 0
expect 65 'step 2[45]: its chain is not that of the proof' verify run.proof changed --steps 0
sed '0,/[0-9a-f]\{60\}/s/[0-9a-f]\{4\}/0bad/' run.proof >altered.proof
expect 65 'it was changed' verify altered.proof run
expect 65 'no proof of a run' verify table.csv run
expect 73 'it is there' prove run --output run.proof

# ---- what was changed afterwards ----

cp -r run bytes
python3 - <<'END'
import sqlite3
store = sqlite3.connect("bytes/run.db")
states = bytearray(store.execute("SELECT states FROM chain WHERE step = 19").fetchone()[0])
states[3] ^= 1
store.execute("UPDATE chain SET states = ? WHERE step = 19", (bytes(states),))
store.commit()
END
expect 1 'the chain of B is broken at step 19' bisect run bytes --no_replay
expect 65 'its chain is broken at step 19' verify run.proof bytes
expect 65 'its chain is broken at step 19' prove bytes
expect 65 "not the run's bits: step 19 is the first whose states differ" inspect bytes --step 20
grep -q 'had a fault' out || fail "bytes: $(cat out)"

rm -r bytes
cp -r run bytes
printf 'X' | dd of=bytes/checkpoint_30.mdl bs=1 seek=9000 conv=notrunc 2>/dev/null
expect 0 'steps 16 to 32 done again' inspect bytes --step 32 --kept_states 0

sed -i '2s/^0/1/' table.csv
expect 69 'table.csv' inspect run --step 17
[ $failures -eq 0 ]
