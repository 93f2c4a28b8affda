#!/bin/sh
# The curves update_ratio/NAME against learning rate, gradients and weights that a replay tells:
# with SGD the ratio is lr * |gradient| / |weight|. The same bits with any number of processes, and
# none without numerics.
set -eu
csengine=${CSENGINE_EXECUTABLE:-./csengine}
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "there is no python3: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/run.yaml" <<EOF
trainer:
  init:
    backend: {compile_dir: $work/compiled}
    model: {name: fc_mnist, input_size: 16, hidden_sizes: [32], num_classes: 4}
    optimizer: {SGD: {lr: 0.01}}
    loop: {max_steps: 4}
    checkpoint: {steps: 1}
    logging: {log_steps: 100}
  fit:
    train_dataloader: {data_processor: synthetic, features: [16], classes: 4, samples: 1024,
                       batch_size: 64, micro_batch_size: 16, shuffle: true}
EOF
run() {
    name=$1
    shift
    "$csengine" start "$work/run.yaml" --model_dir "$work/$name" --no_dashboard --quiet "$@" \
        >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
}
run one --set numerics.every=2
run three --set numerics.every=2 --num_csx 3
run off
"$csengine" inspect "$work/one" --step 1 --json --values 4096 >"$work/before.json"
"$csengine" inspect "$work/one" --step 2 --json --values 4096 >"$work/after.json"
"$csengine" inspect "$work/one" --step 2 --all --json --values 0 >"$work/step.json"
"$python" - "$work" <<'EOF'
import json, math, os, sqlite3, sys

work = sys.argv[1]


def ratios(run):
    db = sqlite3.connect(os.path.join(work, run, "run.db"))
    rows = db.execute("SELECT name, step, value FROM points JOIN series ON series.id = series "
                      "WHERE name LIKE 'update_ratio/%' ORDER BY name, step").fetchall()
    db.close()
    return rows


def read(file):
    with open(os.path.join(work, file)) as f:
        answer = json.load(f)
    return answer, {one["name"]: one for one in answer["tensors"]}


def norm(values):
    return math.sqrt(math.fsum(x * x for x in values))


one = ratios("one")
assert len(one) == 8 and {step for _, step, _ in one} == {2, 4}, one
assert ratios("three") == one, (ratios("three"), one)
assert ratios("off") == [], ratios("off")
(_, before), (_, after), (facts, gradients) = map(read, ("before.json", "after.json", "step.json"))
for name, step, value in one:
    if step != 2:
        continue
    weight = name.split("/", 1)[1]
    old, new = before[weight]["values"], after[weight]["values"]
    assert len(old) == math.prod(before[weight]["shape"]), len(old)
    moved = norm(b - a for a, b in zip(old, new)) / norm(old)
    assert abs(value / moved - 1) < 1e-6, (name, value, moved)
    # The gradient is the sum over microbatches, of each of which the loss is a mean.
    gradient = gradients[f"{weight}.gradient"]["norm"] / facts["microbatches"]
    wanted = 0.01 * gradient / norm(old)
    assert abs(value / wanted - 1) < 1e-4, (name, value, wanted)
print(f"{len(one)} ratios")
EOF
