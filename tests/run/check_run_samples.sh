#!/bin/sh
# What people see of a run's data and of its model: it changes no bit of the run, holds the samples
# that the data loader has, predictions and texts of each validation, and the records that could not
# be read; the order of samples that the server answers is that of `csengine data samples`.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"; kill "${server:-0}" 2>/dev/null' EXIT
failed=0

fail() {
    echo "FAIL: $*"
    failed=1
}

python3 - "$work" <<'PICTURES'
import os, struct, sys, zlib
def png(path, level):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + \
            struct.pack(">I", zlib.crc32(kind + body))
    body = b"".join(b"\0" + bytes((level + 7 * x + y) % 256 for x in range(8)) for y in range(8))
    with open(path, "wb") as file:
        header = struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
                   + chunk(b"IDAT", zlib.compress(body)) + chunk(b"IEND", b""))
for name, level in ("dark", 0), ("bright", 120):
    os.makedirs(f"{sys.argv[1]}/data/{name}")
    for i in range(20):
        png(f"{sys.argv[1]}/data/{name}/{i:02}.png", level + i)
open(f"{sys.argv[1]}/data/dark/05.png", "w").write("no picture")
PICTURES
cat >"$work/pictures.yaml" <<END
trainer:
  init:
    model_dir: $work/run
    backend: {compile_dir: $work/compiled}
    model: {name: fc_mnist, input_size: 64, hidden_sizes: [8], num_classes: 2, dropout: 0.2}
    optimizer:
      Adam: {lr: 0.01}
    loop: {num_epochs: 10, eval_frequency: 20}
    seed: 3
  fit:
    train_dataloader: &data {data_processor: image_folder, data_dir: $work/data,
      image_size: [8, 8], channels: 1, flatten: true, batch_size: 10, micro_batch_size: 5,
      shuffle: true, on_bad_record: skip}
    val_dataloader: *data
END
yes 'the quick brown fox jumps over the lazy dog; ' | head -n 60 >"$work/text.txt"
cat >"$work/text.yaml" <<END
trainer:
  init:
    model_dir: $work/text
    backend: {compile_dir: $work/compiled}
    model: {name: gpt2, hidden_size: 16, num_layers: 1, num_heads: 2, vocab_size: 256,
      max_position_embeddings: 32, dropout: 0.1}
    optimizer:
      AdamW: {lr: 0.01}
    loop: {num_steps: 20, eval_frequency: 10, eval_steps: 1}
    samples: {count: 2, prompts: [the, a lazy], max_new_tokens: 8}
  fit:
    train_dataloader: &data {data_processor: text_bytes, path: $work/text.txt,
      sequence_length: 32, batch_size: 4, shuffle: true}
    val_dataloader: *data
END
digest() { # settings...: of a training
    "$csengine" start --no_dashboard "$@" >"$work/out" 2>&1 || fail "$*: $(cat "$work/out")"
    sed -n 's/^Weights digest: //p' "$work/out"
}
for kind in pictures text; do
    with=$(digest "$work/$kind.yaml")
    without=$(digest "$work/$kind.yaml" --model_dir "$work/$kind.without" \
        --set trainer.init.samples.count=0)
    [ -n "$with" ] && [ "$with" = "$without" ] || fail "$kind: other bits: $with, $without"
done
"$csengine" predict "$work/pictures.yaml" --samples 0 --json --top 2 --quiet >"$work/predicted"
"$csengine" data samples "$work/pictures.yaml" --step 7 --json >"$work/order"
"$csengine" serve --run "$work/run" --listen 127.0.0.1:0 >"$work/served" 2>&1 &
server=$!
for _ in $(seq 600); do
    grep -q token= "$work/served" && break
    sleep 0.1
done
python3 - "$work" <<'CHECK' || fail "what is shown"
import base64, json, re, sqlite3, sys, urllib.request
work = sys.argv[1]
address, token = re.search(r"(http://\S+)/\?token=(\S+)", open(f"{work}/served").read()).groups()

def get(path):
    request = urllib.request.Request(f"{address}/api/v1/jobs/run/{path}",
                                     headers={"Authorization": f"Bearer {token}"})
    return json.load(urllib.request.urlopen(request))

samples, data = get("samples"), get("data?step=7")
predicted = [json.loads(line) for line in open(f"{work}/predicted")]
# Where a look took long, since the machine does other things, the next validation is passed over.
looked = [v["step"] for v in samples["validations"]]
assert looked in ([20, 40], [20]), samples["validations"]
shown = samples["pictures"]
assert [one["sample"] for one in shown] == [5 * i for i in range(8)], shown
assert {one["name"] for one in shown} == {"dark", "bright"}
assert shown[0]["place"].endswith("data/bright/00.png"), shown[0]
pixels = base64.b64decode(shown[0]["picture"]["pixels"])
assert len(pixels) == 64 and pixels[0] == 0 and pixels[-1] == 255, list(pixels)
for one, classes in zip(shown, samples["validations"][-1]["predictions"] if 40 in looked else []):
    there = predicted[one["sample"]]["classes"]
    assert [c["class"] for c in classes] == [c["class"] for c in there]
    assert abs(classes[0]["probability"] - there[0]["probability"]) < 1e-5
    assert classes[0]["name"] == there[0]["name"]
order = json.load(open(f"{work}/order"))
numbers = [[s["sample"] if isinstance(s, dict) else s for s in m["samples"]]
           for m in order["microbatches"]]
assert data["step_samples"] == numbers, (data["step_samples"], order)
assert data["samples"] == 40 and data["steps_per_epoch"] == 4, data
assert len(data["examples"]) == 5, len(data["examples"])
bad = data["bad_records"]
assert 1 <= bad["count"] <= 60, bad # reading ahead counts, too
assert "data/dark/05.png: it is neither" in bad["first"][0]["message"], bad
assert bad["first"][0]["role"] == "input_worker", bad
text = sqlite3.connect(f"{work}/text/run.db").execute(
    "SELECT content FROM artefacts WHERE name = 'samples.json'").fetchone()[0]
text = json.loads(text)
looked = [v["step"] for v in text["validations"]]
assert text["prompts"] == ["the", "a lazy"] and looked in ([10, 20], [10]), text
open(f"{work}/texts_looked", "w").write(str(looked[-1]))
assert all(len(t) == 8 for v in text["validations"] for t in v["texts"]), text
CHECK
said=$("$csengine" generate "$work/text.yaml" -p the --greedy --max_new_tokens 8 --quiet)
[ "$(cat "$work/texts_looked")" -eq 10 ] ||
    grep -aq "\"$(printf '%s' "$said" | tail -c +4)\"" "$work/text/run.db" ||
    fail "the text of the last validation is not that of generate: $said"
exit $failed
