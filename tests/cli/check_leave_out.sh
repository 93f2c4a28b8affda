#!/bin/sh
# Leave some out: `fork --without` begins right before the first use of a sample, its batches are
# those of the run less the sample, its weights move by the mean of the other gradients, and it has
# the bits of a run that never had the sample, for any number of processes and after stops.
set -u
. "${top_srcdir:?}/tests/support/past_runs.sh"
make_table
train() { # NAME ARGUMENTS...
    name=$1
    shift
    train_table "$name" 'batch_size: 16, micro_batch_size: 4' --set "model.hidden_sizes=[24]" \
        --set "schedulers=[]" --set "optimizer={SGD: {lr: 0.125, momentum: 0}}" --max_steps 20 "$@"
}

# Twelve steps are an epoch, which leaves eight samples over.
train run --set checkpoint.steps=5 --num_csx 2
"$csengine" data samples "$source/configs/synthetic.yaml" --step 9 --json \
    --set model.input_size=3 --set "fit.train_dataloader={data_processor: csv, path: table.csv, \
label: label, batch_size: 16, micro_batch_size: 4, shuffle: true}" >step9.json 2>err ||
    fail "data samples: $(cat err)"
pick() { # MICROBATCH PLACE
    python3 -c "import json
print(json.load(open('step9.json'))['microbatches'][$1]['samples'][$2])"
}
left=$(pick 1 2)
other=$(pick 3 0)

# ---- from right before the first use, with the bits of a run from the start ----

expect 0 "^step 9 of run is the first that used one of the samples: $left\$" fork run \
    --without "$left" --model_dir less --no_dashboard
grep -q 'less shares steps 1 to 8 with run: 1 checkpoints as one file' out || fail "$(cat out)"
grep -q "step 8 was done again; these are the run's bits" out || fail "$(cat out)"
train begun --set "train_dataloader.without=[$left]" --set checkpoint.steps=7 --num_csx 1
expect 0 'equal: the digests of all 20 steps' bisect less begun
expect 1 '^step 9 is the first that differs: other samples' bisect run less
grep -q "^  fit.train_dataloader.without: (none) and \[$left\]" out || fail "$(cat out)"
for steps in 8 9 15; do
    train stopped --set "train_dataloader.without=[$left]" --max_steps $steps --num_csx 3
done
train stopped --set "train_dataloader.without=[$left]"
expect 0 'equal: the digests of all 20 steps' bisect stopped begun
expect 0 "these are the run's bits" inspect less --step 12 --num_csx 2

# ---- the batches, and how far the weights move ----

for step in 8 9 10 20; do
    "$csengine" blame run --step $step --top 99 --json >of_run.json 2>err || fail "$(cat err)"
    "$csengine" blame less --step $step --top 99 --json >of_fork.json 2>err || fail "$(cat err)"
    python3 - "$left" $step <<'EOF' || fail "step $step: other samples than it should have"
import json, sys

run, fork = ([s["sample"] for s in json.load(open(f"of_{name}.json"))["samples"]]
             for name in ("run", "fork"))
left = int(sys.argv[1])
assert (left in run) == (len(fork) < 16), (run, fork)
assert sys.argv[2] != "9" or left in run
assert sorted(fork) == sorted(s for s in run if s != left), (run, fork)
EOF
done
train single --set checkpoint.steps=8 --set train_dataloader.micro_batch_size=1 --max_steps 9
"$csengine" fork single --at 8 --without "$left" --model_dir single_out --no_dashboard \
    >out 2>&1 || fail "$(cat out)"
see() { # FILE ARGUMENTS...: of the run
    file=$1
    shift
    "$csengine" inspect "$@" --output "$file" >out 2>&1 || fail "$*: $(cat out)"
    grep -q "these are the run's bits" out || fail "$*: $(cat out)"
}
see before.safetensors single_out --step 8
see after.safetensors single_out --step 9
m=0
while [ $m -lt 16 ]; do
    see gradient$m.safetensors single --step 9 --tensor '.*gradient' --microbatch $m
    m=$((m + 1))
done
cat >tensors.py <<'EOF'
import json, struct


def read(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            first, end = (8 + size + at for at in entry["data_offsets"])
            tensors[name] = struct.unpack(f"<{(end - first) // 4}f", data[first:end])
    return tensors
EOF
python3 - <<'EOF' || fail 'the weights do not move by the mean of the other gradients'
from tensors import read

before, after = read("before.safetensors"), read("after.safetensors")
gradients = [read(f"gradient{m}.safetensors") for m in range(16)]
out = 1 * 4 + 2  # its microbatch where each has one sample
assert len(gradients[0]) == 4
for name in gradients[0]:
    state = name.removesuffix(".gradient")
    for i in range(len(before[state])):
        mean = sum(g[name][i] for m, g in enumerate(gradients) if m != out) / 15
        moved = before[state][i] - 0.125 * mean
        assert abs(moved - after[state][i]) <= 1e-6 * (1 + abs(moved)), (name, i, moved)
EOF

# ---- several samples, also of the first step, and a fork of a fork ----

train two --set "train_dataloader.without=[$other, $left]" --num_csx 2
expect 0 'shares steps 1 to 8' fork run --without "$left,$other" --model_dir both --no_dashboard \
    --num_csx 1
expect 0 'equal: the digests of all 20 steps' bisect both two
expect 0 'shares steps 1 to 8' fork less --without "$other" --model_dir again --no_dashboard
expect 0 'equal: the digests of all 20 steps' bisect again two
first=$("$csengine" blame run --step 1 --top 1 --json | python3 -c \
    'import json, sys; print(json.load(sys.stdin)["samples"][0]["sample"])')
train one --set "train_dataloader.without=[$first]"
expect 0 'begin_one shares no step with run' fork run --without "$first" --model_dir begin_one \
    --no_dashboard
expect 0 'equal: the digests of all 20 steps' bisect begin_one one

# ---- what is refused ----

expect 64 "sample $left was used in step 9 already: .* give --at 8" fork run --at 12 \
    --without "$left" --model_dir refused --no_start
expect 64 'accepted are numbers of samples' fork run --without 3,x --model_dir refused
expect 78 'without: there is no sample 200: the data have 200' fork run --without 200 \
    --model_dir refused
expect 78 'without: sample 7 comes twice' fork run --without 7,9,7 --model_dir refused
expect 78 "without: sample $left comes twice" fork less --without "$left" --model_dir refused
expect 78 'it names all 200 samples' fork run --without "$(seq -s , 0 199)" --model_dir refused
train short --max_steps 3 --set checkpoint.steps=2
expect 64 'no step of short, 1 to 3, has used any' fork short --without "$left" \
    --model_dir refused --no_start
[ ! -e refused ] || fail 'a fork that was refused left a folder'
expect 0 'shares steps 1 to 2' fork short --at 2 --without "$left" --model_dir later --no_start
"$csengine" start "$source/configs/synthetic.yaml" --quiet --no_dashboard --model_dir empty \
    --set "train_dataloader={data_processor: synthetic, features: [16], classes: 4, samples: 9, \
batch_size: 1, without: [4]}" --max_steps 9 >out 2>&1 && fail 'a batch without samples'
grep -q 'without leaves out all samples of the batch of step 5: at least one' out ||
    fail "an empty batch: $(cat out)"

# ---- what measures steps, and validations ----

"$csengine" plan "$source/configs/synthetic.yaml" --set fit.val_dataloader=null \
    --set "fit.train_dataloader={data_processor: synthetic, features: [16], classes: 4, \
samples: 64, batch_size: 16, micro_batch_size: 4, without: [3]}" >out 2>&1 ||
    fail "a plan of a step that lacks a sample: $(cat out)"
validate() { # SETTINGS OF THE DATA: the figures
    "$csengine" eval "$source/configs/synthetic.yaml" --model_dir run --compile_dir compiled \
        --checkpoint_path run/checkpoint_20.mdl --set model.input_size=3 \
        --set "model.hidden_sizes=[24]" --set fit.val_dataloader=null \
        --set "validate.val_dataloader={data_processor: csv, label: label, batch_size: 32, \
micro_batch_size: 8, $1}" 2>err |
        grep -e '^Avg Eval Loss' -e '^accuracy'
}
awk 'NR != 8' table.csv >rest.csv
rest=$(validate 'path: rest.csv')
[ -n "$rest" ] || fail "eval: $(cat err)"
[ "$rest" = "$(validate 'path: table.csv, without: [6]')" ] || fail 'a validation without a sample'
[ "$rest" != "$(validate 'path: table.csv')" ] || fail 'the sample makes no difference'
[ -z "$(ls "$TMPDIR")" ] || fail "replays left $(ls "$TMPDIR")"

[ "$failures" -eq 0 ] && echo 'all as expected'
exit $((failures > 0))
