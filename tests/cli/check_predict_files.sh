#!/bin/sh
# `csengine predict CONFIG PICTURE...`: pictures given by name have the bits of the same pictures in
# the folder of the validation, names of classes come from the training and outlive its data, and a
# file that is no picture is told while the others are predicted.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
tree=${top_srcdir:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "FAIL: $*"
    failed=1
}

python3 - "$tree" "$work" <<'PICTURES'
# Dark and bright pictures of 9 x 7, as PNG; one JPEG; and what is no picture.
import os, random, re, struct, sys, zlib
tree, work = sys.argv[1:]
def png(path, level):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + \
            struct.pack(">I", zlib.crc32(kind + body))
    row = lambda: b"\0" + bytes(random.randrange(level, level + 60) for _ in range(27))
    body = b"".join(row() for _ in range(7))
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 9, 7, 8, 2, 0, 0, 0)) \
        + chunk(b"IDAT", zlib.compress(body)) + chunk(b"IEND", b"")
    open(path, "wb").write(data)
    return data
random.seed(1)
for name, level in ("a dark one", 0), ("bright", 190):
    os.makedirs(f"{work}/data/{name}")
    for i in range(20):
        data = png(f"{work}/data/{name}/{i:02}.png", level)
text = open(f"{tree}/tests/samples/inputs/image_folder.h").read()
text = re.search(r"jpeg_picture\[\] =(.*?);\n", text, re.S).group(1)
text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text))
open(f"{work}/photo.jpg", "wb").write(text.encode().decode("unicode_escape").encode("latin-1"))
open(f"{work}/short.png", "wb").write(data[:len(data) // 2])
open(f"{work}/text.png", "w").write("no picture")
huge = bytearray(data)
huge[16:24] = struct.pack(">II", 1 << 15, 1 << 15)
huge[29:33] = struct.pack(">I", zlib.crc32(bytes(huge[12:29])))
open(f"{work}/huge.png", "wb").write(huge)
PICTURES
cat >"$work/run.yaml" <<END
trainer:
  init:
    model_dir: $work/run
    backend: {compile_dir: $work/compiled}
    model: {name: fc_mnist, input_size: 48, hidden_sizes: [8], num_classes: 2, dropout: 0.0}
    optimizer:
      Adam: {lr: 0.02}
    loop: {num_steps: 30}
  fit:
    train_dataloader: {data_processor: image_folder, data_dir: $work/data, image_size: [4, 4],
      flatten: true, random_resized_crop: true, horizontal_flip: true,
      batch_size: 10, shuffle: true}
    val_dataloader: {data_processor: image_folder, data_dir: $work/data, image_size: [4, 4],
      resize: 5, flatten: true, batch_size: 10}
END
"$csengine" start "$work/run.yaml" --quiet --no_dashboard >"$work/out" 2>&1 ||
    fail "training: $(cat "$work/out")"
printf 'a dark one\nbright\n' | cmp - "$work/run/classes.txt" || fail "classes.txt"
predict() { "$csengine" predict "$work/run.yaml" --quiet "$@"; }
predict --format npy --file "$work/loader.npy"
mv "$work/data" "$work/moved"
predict "$work/moved" --format npy --file "$work/files.npy"
cmp "$work/loader.npy" "$work/files.npy" || fail "files have other bits than the data loader's"
predict "$work/moved/bright/03.png" "$work/photo.jpg" "$work/moved/a dark one" >"$work/table" ||
    fail "a table"
[ "$(wc -l <"$work/table")" -eq 23 ] || fail "rows: $(cat "$work/table")"
grep -q '/bright/03.png  *-  *bright (' "$work/table" || fail "bright: $(cat "$work/table")"
[ "$(grep -c '/a dark one/.*  -  *a dark one (' "$work/table")" -eq 20 ] ||
    fail "dark: $(cat "$work/table")"
printf 'night\n' >"$work/names"
predict "$work/moved/bright/03.png" --classes "$work/names" --top 2 --json >"$work/json"
grep -q '"classes":\[{"class":1,"probability":.*"class":0,"name":"night"' "$work/json" ||
    fail "names of one's own: $(cat "$work/json")"
# A checkpoint that was taken elsewhere, with the names beside it.
mkdir "$work/taken"
cp "$work/run/classes.txt" "$work/taken/"
mv "$work/run/checkpoint_30.mdl" "$work/taken/"
predict --model_dir "$work/empty" --checkpoint_path "$work/taken/checkpoint_30.mdl" \
    "$work/moved/bright/03.png" | grep -q 'bright (' || fail "a checkpoint that was moved"
mv "$work/taken/checkpoint_30.mdl" "$work/run/"

# What is no picture is told, and the rest is predicted.
predict "$work/short.png" "$work/moved/bright/03.png" "$work/text.png" "$work/huge.png" --json \
    >"$work/json" 2>"$work/err"
[ $? -eq 65 ] || fail "exit code of bad files"
for part in 'short.png: a PNG that is not whole' 'text.png: it is neither JPEG nor PNG' \
    'huge.png: .*accepted are sides'; do
    grep -q "error: $work/$part" "$work/err" || fail "$part: $(cat "$work/err")"
    grep -q "\"error\":\"$work/$part" "$work/json" || fail "$part: $(cat "$work/json")"
done
grep -q '03.png","classes"' "$work/json" || fail "the good one: $(cat "$work/json")"

refused() { # exit code, part of the message, arguments...
    code=$1 part=$2
    shift 2
    "$csengine" predict "$work/run.yaml" "$@" >"$work/out" 2>"$work/err" </dev/null
    got=$?
    [ $got -eq "$code" ] && grep -q -e "$part" "$work/err" ||
        fail "$*: exit code $got, $(cat "$work/err")"
}
refused 66 'No such file' "$work/nothing.jpg"
refused 65 'holds no .jpg' "$work/taken"
refused 65 'neither JPEG' "$work/text.png" --format npy --file "$work/no.npy"
[ ! -e "$work/no.npy" ] || fail "a file of bad pictures stayed"
refused 64 'given by name' "$work/photo.jpg" --first 1
refused 66 'cannot open' "$work/photo.jpg" --classes "$work/nothing"
refused 64 'data loader of pictures' "$work/photo.jpg" --set \
    "trainer.fit.val_dataloader={data_processor: synthetic, features: [48], batch_size: 2}"
exit $failed
