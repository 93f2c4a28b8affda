#!/bin/sh
# The worst samples of a validation, its calibration, and precision over recall: beside those that
# Python finds from the predictions of the same samples, the same for any number of processes, of
# tokens with the loss of the validation as their mean; and nothing where it is switched off.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "FAIL: $*"
    failed=1
}

# Points of two classes and a third that lies on both, each five times: losses are equal, also where
# the list of the worst ends.
awk 'BEGIN { print "x,y,kind"; srand(7)
    for (i = 0; i < 50; i++) {
        c = i % 3; row[i] = sprintf("%.3f,%.3f,%d", (c == 1) + rand(), (c == 0) + rand(), c) }
    for (i = 0; i < 250; i++) print row[i % 50] }' >"$work/points.csv"
cat >"$work/points.yaml" <<END
trainer:
  init:
    model_dir: $work/one
    backend: {compile_dir: $work/compiled}
    model: {name: fc_mnist, input_size: 2, hidden_sizes: [8], num_classes: 3}
    optimizer:
      SGD: {lr: 0.3}
    loop: {num_steps: 60}
    logging: {log_steps: 50}
    seed: 1
  fit:
    train_dataloader: {data_processor: csv, path: $work/points.csv, label: kind, batch_size: 20,
      micro_batch_size: 5, shuffle: true}
    val_dataloader: {data_processor: csv, path: $work/points.csv, label: kind, batch_size: 100,
      micro_batch_size: 20}
END
# Bytes, sixteen sequences of them, so that every sample is among the worst.
yes 'the quick brown fox jumps over the lazy dog; ' | head -c 528 >"$work/text.txt"
cat >"$work/text.yaml" <<END
trainer:
  init:
    model_dir: $work/text
    backend: {compile_dir: $work/compiled}
    model: {name: gpt2, hidden_size: 16, num_layers: 1, num_heads: 2, vocab_size: 256,
      max_position_embeddings: 32}
    optimizer:
      AdamW: {lr: 0.01}
    loop: {num_steps: 10}
    samples: {worst: 32}
  fit:
    train_dataloader: &data {data_processor: text_bytes, path: $work/text.txt,
      sequence_length: 32, batch_size: 4, micro_batch_size: 2}
    val_dataloader: *data
END
train() {
    timeout 60 "$csengine" start --no_dashboard "$@" >"$work/out" 2>&1 ||
        fail "$*: $(cat "$work/out")"
}
digest() {
    sed -n 's/^Weights digest: //p' "$work/out"
}
train "$work/points.yaml"
with=$(digest)
train "$work/points.yaml" --model_dir "$work/three" --num_csx 3
train "$work/points.yaml" --model_dir "$work/shuffled" \
    --set trainer.fit.val_dataloader.shuffle=true
train "$work/points.yaml" --model_dir "$work/off" --set trainer.init.samples.worst=0
[ -n "$with" ] && [ "$with" = "$(digest)" ] || fail "other bits: $with, $(digest)"
train "$work/points.yaml" --model_dir "$work/many" --set trainer.init.model.num_classes=20
train "$work/points.yaml" --model_dir "$work/numbers" --set trainer.init.model.num_classes=1 \
    --set trainer.fit.train_dataloader.regression=true \
    --set trainer.fit.val_dataloader.regression=true
train "$work/text.yaml" --num_csx 2
loss=$(sed -n 's/^Avg Eval Loss: //p' "$work/out" | tail -1)
timeout 60 "$csengine" predict "$work/points.yaml" "$work/points.csv" --top 3 --json \
    >"$work/predicted" 2>"$work/errors" || fail "$(cat "$work/errors")"

python3 - "$work" "$loss" <<'END' || fail "what was kept"
import csv, json, math, sqlite3, sys
work = sys.argv[1]

def kept(run):
    asked = "select content from artefacts where name = 'validation.json'"
    rows = sqlite3.connect(f"{work}/{run}/run.db").execute(asked).fetchall()
    return json.loads(rows[-1][0]) if rows else None

one = kept("one")
assert kept("off") is None
assert kept("three") == one
assert one["step"] == 60 and one["samples"] == 250 and one["loss"] == "label", one

labels = [int(row["kind"]) for row in csv.DictReader(open(f"{work}/points.csv"))]
probabilities = []
for line in open(f"{work}/predicted"):
    by_class = {c["class"]: c["probability"] for c in json.loads(line)["classes"]}
    probabilities.append([by_class[c] for c in range(3)])
assert len(probabilities) == 250

# ---- the worst ----
losses = [-math.log(p[label]) for p, label in zip(probabilities, labels)]
# The five of a point are equal to the bit: by the point's first number.
order = sorted(range(250), key=lambda i: (-losses[i % 50], i))[:8]
assert [w["sample"] for w in one["worst"]] == order, (one["worst"], order)
assert {w["sample"] for w in kept("shuffled")["worst"]} == set(order)
for worst in one["worst"]:
    number = worst["sample"]
    assert abs(worst["loss"] - losses[number]) < 1e-4, (worst, losses[number])
    assert worst["label"] == labels[number] and len(worst["values"]) == 2
    for predicted in worst["predicted"]:
        assert abs(predicted["probability"] - probabilities[number][predicted["class"]]) < 1e-5

# ---- calibration ----
EDGE = 1e-5
bins = [[] for _ in range(15)]
near = 0
for p, label in zip(probabilities, labels):
    confidence = max(p)
    at = confidence * 15
    near += abs(at - round(at)) < 15 * EDGE
    bins[math.ceil(at) - 1].append((confidence, p.index(confidence) == label))
error = 0
for there, samples in zip(one["calibration"]["bins"], bins):
    if not samples:
        assert there is None or near, there
        continue
    confidence = sum(c for c, _ in samples) / len(samples)
    accuracy = sum(right for _, right in samples) / len(samples)
    error += len(samples) / 250 * abs(accuracy - confidence)
    if not near:
        assert there["count"] == len(samples), (there, samples)
        assert abs(there["confidence"] - confidence) < 1e-5
        assert abs(there["accuracy"] - accuracy) < 1e-6
assert near or abs(one["calibration"]["error"] - error) < 1e-5, (one["calibration"], error)
assert 0 < error < 0.5

# ---- precision and recall ----
checked = 0
assert [c["class"] for c in one["precision"]] == [0, 1, 2]
for curve in one["precision"]:
    c = curve["class"]
    of_class = sum(label == c for label in labels)
    assert curve["samples"] == of_class
    assert curve["points"][-1][2] == 1
    for threshold, precision, recall in curve["points"]:
        if any(abs(p[c] - threshold) < EDGE for p in probabilities):
            continue
        found = [label == c for p, label in zip(probabilities, labels) if p[c] >= threshold]
        assert abs(precision - sum(found) / len(found)) < 1e-6, (curve, threshold)
        assert abs(recall - sum(found) / of_class) < 1e-6, (curve, threshold)
        checked += 1
    # At equal probabilities the order is anyone's: within the limits, which are not far apart.
    ranked = sorted(range(250), key=lambda i: (-probabilities[i % 50][c], i))
    hits = average = 0
    for rank, i in enumerate(ranked, 1):
        if labels[i] == c:
            hits += 1
            average += hits / rank / of_class
    assert curve["least"] - 1e-6 <= average <= curve["greatest"] + 1e-6, (curve, average)
    assert curve["greatest"] - curve["least"] < 0.05, curve
assert checked > 60, checked

# ---- tokens ----
text = kept("text")
assert text["loss"] == "tokens" and text["samples"] == 16, text
assert sorted(w["sample"] for w in text["worst"]) == list(range(16))
source = open(f"{work}/text.txt").read()
for worst in text["worst"]:
    said = [t["loss"] for t in worst["tokens"] if t["loss"] is not None]
    assert len(said) == 32 and worst["tokens"][0]["loss"] is None
    assert abs(sum(said) / 32 - worst["loss"]) < 1e-4, worst
    assert "".join(t["text"] for t in worst["tokens"]) in source, worst
    assert worst["loss"] <= text["worst"][0]["loss"]
mean = sum(w["loss"] for w in text["worst"]) / 16
assert abs(mean - float(sys.argv[2])) < 1e-4, (mean, sys.argv[2])

# ---- more classes than have curves, and numbers ----
many = kept("many")
assert many["samples"] == 250 and "precision" not in many and len(many["worst"]) == 8, many
counted = [b["count"] for b in many["calibration"]["bins"] if b]
assert sum(counted) == 250 and len(many["worst"][0]["predicted"]) == 1, many
numbers = kept("numbers")
assert numbers["loss"] == "squares" and "calibration" not in numbers, numbers
for worst in numbers["worst"]:
    assert abs((worst["target"] - worst["output"]) ** 2 - worst["loss"]) < 1e-5, worst
END
exit $failed
