#!/bin/sh
# The confusion matrix of a validation: counts beside those of the predictions of the same samples,
# names of classes, CSV and JSON, and the run store.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "FAIL: $*"
    failed=1
}

# Points of two classes and a third that lies on both: some are confused.
awk 'BEGIN { print "x,y,kind"; srand(7); split("red green blue", n, " ")
    for (i = 0; i < 240; i++) {
        c = i % 3; printf "%.3f,%.3f,%d\n", (c == 1) + rand(), (c == 0) + rand(), c } }' \
    >"$work/points.csv"
cat >"$work/config.yaml" <<END
trainer:
  init:
    model_dir: $work/model_dir
    model: {name: fc_mnist, input_size: 2, hidden_sizes: [8], num_classes: 3}
    optimizer:
      SGD: {lr: 0.3}
    loop: {num_steps: 60}
    metrics: [{confusion_matrix: {num_classes: 3}}]
    seed: 1
  fit:
    train_dataloader: &data {data_processor: csv, path: $work/points.csv, label: kind,
      batch_size: 24, shuffle: true}
    val_dataloader: {data_processor: csv, path: $work/points.csv, label: kind, batch_size: 100,
      micro_batch_size: 20}
END
timeout 60 "$csengine" start "$work/config.yaml" --no_dashboard --num_csx 2 >"$work/out" 2>&1 ||
    fail "$(cat "$work/out")"
grep -q 'val_confusion_matrix, rows are labels' "$work/out" || fail "no matrix: $(cat "$work/out")"

timeout 60 "$csengine" validate "$work/config.yaml" --confusion_csv "$work/cells.csv" --json \
    2>"$work/errors" >"$work/end" || fail "$(cat "$work/end")"

# By the predictions of `predict`, sample by sample.
timeout 60 "$csengine" predict "$work/config.yaml" "$work/points.csv" --top 1 --json \
    2>"$work/errors" |
    python3 -c '
import collections, csv, json, sys
work = sys.argv[1]
labels = [int(row["kind"]) for row in csv.DictReader(open(f"{work}/points.csv"))]
found = [json.loads(line) for line in sys.stdin]
found = [one["classes"][0]["class"] for one in found]
assert len(found) == len(labels), f"{len(found)} predictions"
wanted = collections.Counter(zip(labels, found))
cells = {(int(r["label"]), int(r["prediction"])): int(r["count"])
         for r in csv.DictReader(open(f"{work}/cells.csv"))}
end = [json.loads(line) for line in open(f"{work}/end")][-1]
matrix = end["confusion"][0]
assert matrix["name"] == "confusion_matrix" and matrix["step"] == 60, matrix
for label in range(3):
    for prediction in range(3):
        count = wanted[label, prediction]
        assert cells[label, prediction] == count, (label, prediction, cells, wanted)
        assert matrix["counts"][label][prediction] == count, matrix
assert sum(cells.values()) == 240 and sum(cells[i, i] for i in range(3)) < 240
share = sum(cells[i, i] for i in range(3)) / 240
assert abs(end["metrics"]["confusion_matrix"] - share) < 1e-6, end["metrics"]
' "$work" || fail "counts: $(cat "$work/errors")"

python3 - "$work/model_dir" <<'END' || fail "confusion.json of the run store"
import glob, json, sqlite3, sys
[path] = glob.glob(f"{sys.argv[1]}/*.db") or glob.glob(f"{sys.argv[1]}/**/*.db", recursive=True)
asked = "select content from artefacts where name = 'confusion.json'"
rows = sqlite3.connect(path).execute(asked).fetchall()
matrix = json.loads(rows[-1][0])["matrices"][0]
assert matrix["step"] == 60 and sum(map(sum, matrix["counts"])) == 240, matrix
END
timeout 60 "$csengine" validate "$work/config.yaml" --set metrics=null \
    --confusion_csv "$work/none" >"$work/out" 2>&1 && fail "a matrix that nobody counts"
grep -q 'metrics: \[{confusion_matrix' "$work/out" || fail "$(cat "$work/out")"
exit $failed
