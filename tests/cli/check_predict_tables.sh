#!/bin/sh
# `csengine predict CONFIG TABLE...`: no column of the answer is needed, columns are found by the
# names that they had in training, classes have names, and all formats have the same columns. Data
# that do not fit are told once, before the first step: labels that are no class, columns of the
# validation in another order, what is wrong in its file, and a metric that no validation has.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "FAIL: $*"
    failed=1
}

cd "$work" || exit 1
cat >flowers.csv <<END
length,width,kind
1.0,0.2,cat
1.2,0.1,cat
3.0,1.4,"a ""dog"", 2"
3.3,1.2,"a ""dog"", 2"
END
config() { # name, input, model and loss, further settings of the run
    cat >"$1.yaml" <<END
trainer:
  init:
    model_dir: $1
    backend: {compile_dir: compiled}
    model: {name: mlp, input_size: 2, hidden_sizes: [4], $3}
    optimizer:
      Adam: {lr: 0.05}
    loop: {num_steps: 60}
    seed: 1
    $4
  fit:
    train_dataloader: {$2, batch_size: 2}
END
}
names="label: kind, class_names: [cat, 'a \"dog\", 2']"
config run "data_processor: csv, path: flowers.csv, $names" "num_classes: 2" ""
"$csengine" start run.yaml --quiet --no_dashboard >out 2>&1 || fail "training: $(cat out)"
predict() { "$csengine" predict run.yaml --quiet "$@"; }
predict --format npy --file own.npy

# The same rows in another order of columns, with others beside, and no answer.
printf 'width,id,length\n0.2,7,1.0\n0.1,8,1.2\n1.4,9,3.0\n1.2,5,3.3\n' >new.csv
predict new.csv --format npy --file new.npy
cmp own.npy new.npy || fail "columns in another order are other predictions"
predict new.csv >table || fail "a table"
grep -q '^SAMPLE  *PLACE  *LABEL  *PREDICTION$' table || fail "heads: $(cat table)"
grep -q '^0  *new.csv:2  *-  *cat (0\.[0-9]*)$' table || fail "a row: $(cat table)"
grep -q '^3  *new.csv:5  *-  *a "dog", 2 (0\.[0-9]*)$' table || fail "a row: $(cat table)"
predict >table
grep -q '^2  *flowers.csv:4  *a "dog", 2  *a "dog", 2 (0\.[0-9]*)$' table ||
    fail "with labels: $(cat table)"
# A column without a name, as that of the rows' numbers: it goes by its number.
printf ',length,width,kind\n0,1.0,0.2,cat\n1,3.0,1.4,"a ""dog"", 2"\n' >numbered.csv
config numbered "data_processor: csv, path: numbered.csv, $names" "num_classes: 2" ""
sed -i 's/input_size: 2/input_size: 3/' numbered.yaml
"$csengine" start numbered.yaml --quiet --no_dashboard >out 2>&1 || fail "training: $(cat out)"
"$csengine" predict numbered.yaml --quiet >out 2>&1 || fail "a column without a name: $(cat out)"
cut -d, -f1-3 numbered.csv >numbered_new.csv
"$csengine" predict numbered.yaml numbered_new.csv --quiet >out 2>&1 || fail "the same: $(cat out)"
# A column of answers that is there, and empty.
printf 'length,width,kind\n1.0,0.2,\n3.0,1.4,cat\n' >empty_answers.csv
predict empty_answers.csv >table || fail "empty answers"
grep -q '^0  *empty_answers.csv:2  *-  *cat (' table && grep -q '^1 .* cat  *a "dog", 2 (' table ||
    fail "empty answers: $(cat table)"
predict new.csv flowers.csv --format csv --top 2 >csv || fail "csv"
predict new.csv flowers.csv --json --top 2 >json || fail "json"
python3 - own.npy <<'CHECK' || fail "what was predicted: $(cat csv json)"
# Probabilities are the softmax of the logits that are written to a file.
import array, csv, json, math, struct
data = open("own.npy", "rb").read()
begin = 10 + struct.unpack("<H", data[8:10])[0]
logits = array.array("f", data[begin:])
names = ["cat", 'a "dog", 2']
want = []
for i in range(4):
    two = logits[2 * i:2 * i + 2]
    both = [math.exp(x - max(two)) for x in two]
    want.append(sorted(zip([x / sum(both) for x in both], names), reverse=True))
rows = list(csv.DictReader(open("csv")))
assert list(rows[0]) == ["sample", "place", "label", "rank", "prediction", "probability"]
assert len(rows) == 16
for n, row in enumerate(rows):
    table, i, rank = n // 8, n % 8 // 2, n % 2
    probability, name = want[i][rank]
    assert row["place"] == f"{('new', 'flowers')[table]}.csv:{i + 2}", row
    assert row["sample"] == str(i) and row["rank"] == str(rank + 1), row
    assert row["label"] == (names[i // 2] if table else ""), row
    assert row["prediction"] == name and abs(float(row["probability"]) - probability) < 1e-6, row
for n, line in enumerate(open("json")):
    line = json.loads(line)
    probability, name = want[n % 4][0]
    assert line["prediction"] == name and abs(line["probability"] - probability) < 1e-6, line
    assert line["classes"][0]["name"] == name and line["sample"] == n % 4, line
    assert line.get("label_name") == (names[n % 4 // 2] if n > 3 else None), line
CHECK

# A number in place of a class.
config number "data_processor: csv, path: number.csv, label: -1, regression: true" \
    "num_classes: 1" ""
printf 'a,b,y\n1,2,0.5\n3,4,-1\n' >number.csv
if "$csengine" start number.yaml --quiet --no_dashboard >out 2>&1; then
    "$csengine" predict number.yaml --quiet --format csv >csv 2>err
    grep -q '^0,number.csv:2,0.5,1,[-0-9.e]*,$' csv || fail "a regression: $(cat csv err)"
    printf 'b,a\n2,1\n' >some.csv
    "$csengine" predict number.yaml some.csv --quiet --format csv >csv 2>err
    grep -q '^0,some.csv:2,,1,[-0-9.e]*,$' csv ||
        fail "a regression without targets: $(cat csv err)"
else
    fail "a regression: $(cat out)"
fi

# ---- what does not fit ----

refused() { # configuration, part of the message
    rm -rf "$1"
    "$csengine" start "$1.yaml" --quiet --no_dashboard >out 2>err && fail "$1 was accepted"
    [ "$(grep -c . err)" -eq 1 ] && grep -q -e "$2" err || fail "$1: $(cat err)"
    [ ! -e "$1/checkpoint_0.mdl" ] || fail "$1: a checkpoint was left"
}
three="label: kind, class_names: [cat, 'a \"dog\", 2', bird]"
config many "data_processor: csv, path: flowers.csv, $three" "num_classes: 2" ""
refused many 'flowers.csv: the data have 3 classes (cat, a "dog", 2, bird), but the model tells 2'
printf 'a,b,y\n1,2,0\n1,2,1\n3,4,5\n' >large.csv
config large "data_processor: csv, path: large.csv, label: y" "num_classes: 2" ""
refused large 'large.csv:4: column 2: label 5; .*set its number of classes to 6'
mkdir -p many_folders/a many_folders/b many_folders/c
python3 - <<'PICTURES'
import struct, zlib
def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
for name in "abc":
    body = zlib.compress(b"\0\7" * 2)
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 2, 8, 0, 0, 0, 0))
    with open(f"many_folders/{name}/1.png", "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", body) + chunk(b"IEND", b""))
PICTURES
pictures="data_dir: many_folders, image_size: [1, 2], channels: 1, flatten: true"
config folders "data_processor: image_folder, $pictures" "num_classes: 2" ""
refused folders 'the data have 3 classes (a, b, c), but the model tells 2'

validate_with() { # name, path and settings
    echo "    val_dataloader: {data_processor: csv, path: $2, batch_size: 1}" >>"$1.yaml"
}

validated() { # name, table, part of the message
    config "$1" "data_processor: csv, path: flowers.csv, $names" "num_classes: 2" ""
    printf '%b' "$2" >"$1.csv"
    validate_with "$1" "$1.csv, $names"
    refused "$1" "$3"
}
validated order 'width,length,kind\n0.2,1.0,cat\n' 'order.csv: feature 0 is column "width"'
validated empty 'length,width,kind\n1.0,,cat\n' \
    'empty.csv:2:5: the field is empty in column "width"'
validated word 'length,width,kind\n1.0,2,bird\n' 'word.csv:2:7: "bird" is none of the 2 class names'
config stops "data_processor: csv, path: flowers.csv, $names" "num_classes: 2" \
    "callbacks: [{EarlyStopping: {monitor: val_lost}}]"
refused stops 'EarlyStopping: .*no validation has a metric "val_lost"; .*there is no val_dataloader'
validate_with stops "flowers.csv, $names"
refused stops 'no validation has a metric "val_lost"; accepted: val_loss, val_accuracy'

# What is rounded, or left out, is told once.
printf 'a,b,y\n16777217,2,0\n1,2,1\n3,,1\n' >told.csv
config told "data_processor: csv, path: told.csv, label: y, missing_values: drop" \
    "num_classes: 2" ""
validate_with told "told.csv, label: y, missing_values: drop"
"$csengine" start told.yaml --no_dashboard >out 2>&1 || fail "told: $(cat out)"
[ "$(grep -c 'told.csv:2: column 0: a whole number is beyond the 24 bits' out)" -eq 1 ] ||
    fail "a rounded number: $(cat out)"
[ "$(grep -c 'told.csv: 1 of 3 samples were left out' out)" -eq 1 ] || fail "left out: $(cat out)"
exit $failed
