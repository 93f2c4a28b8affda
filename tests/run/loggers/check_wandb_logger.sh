#!/bin/sh
# The file of an offline run of Weights & Biases: its frames across blocks, and its values beside
# those of JSONLLogger in the same run; a run that goes on has the same id. Where CSE_WANDB_PYTHON
# names a Python with the package wandb, the records are parsed by its protocol buffers as well.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
config=${top_srcdir:-.}/configs/synthetic.yaml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "FAIL: $*"
    failed=1
}

start() {
    timeout 60 "$csengine" start "$config" --no_dashboard --model_dir "$work/run" --log_steps 1 \
        --num_steps "$1" --set 'loggers=[JSONLLogger, {WandbLogger: {project: p, name: "a b",
 config: [lr=0.1, kind=a "word"]}}]' >"$work/out" 2>&1 || fail "$(cat "$work/out")"
}
start 250
start 50
cat >"$work/read.py" <<'END'
import glob, json, struct, sys, zlib

def frames(data):
    assert struct.unpack("<4sHB", data[:7]) == (b":W&B", 0xBEE1, 0)
    at, out = 7, b""
    while at < len(data):
        left = 32768 - at % 32768
        if left < 7:
            assert data[at:at + left] == bytes(left)
            at += left
            continue
        crc, length, kind = struct.unpack("<IHB", data[at:at + 7])
        body = data[at + 7:at + 7 + length]
        assert len(body) == length <= left - 7 and zlib.crc32(bytes([kind]) + body) == crc
        at += 7 + length
        out = body if kind in (1, 2) else out + body
        if kind in (1, 4):
            yield out

def fields(data):
    at = 0
    def varint():
        nonlocal at
        number, shift = 0, 0
        while True:
            byte = data[at]
            at += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2
            size = varint()
            yield key >> 3, data[at:at + size]
            at += size

def items(data, field=1):
    for number, body in fields(data):
        if number == field:
            one = dict(fields(body))
            yield one[1].decode(), json.loads(one[16])

runs = sorted(glob.glob(sys.argv[1] + "/wandb/offline-run-*/run-*.wandb"))
assert len(runs) == 2 and runs[0].split("run-")[-1] == runs[1].split("run-")[-1], runs
history, configs, resumed = [], [], []
for path in runs:
    data = open(path, "rb").read()
    records = [dict(fields(one)) for one in frames(data)]
    assert [one[1] for one in records] == list(range(1, len(records) + 1))
    assert 21 in records[0] and 17 in records[1] and 3 in records[-2] and 18 in records[-1]
    run = dict(fields(records[1][17]))
    assert run[3] == b"p" and run[8] == b"a b", run
    configs.append(dict(items(run[4])))
    resumed.append(run.get(18, 0))
    last = {}
    for record in records[2:-2]:
        values = dict(items(record[2]))
        assert dict(fields(dict(fields(record[2]))[2]))[1] == values["_step"]
        history.append(values)
        last.update((k, v) for k, v in values.items() if not k.startswith("_"))
    assert dict(items(records[-2][3])) == last
assert configs == [{"lr": 0.1, "kind": 'a "word"'}] * 2 and resumed == [0, 1], (configs, resumed)
assert max(len(open(path, "rb").read()) for path in runs) > 32768
lines = [json.loads(line) for line in open(sys.argv[1] + "/metrics.jsonl")]
wanted = {(one["name"], one["step"]): one["value"] for one in lines}
found = {(name, one["_step"]): value for one in history for name, value in one.items()
         if not name.startswith("_")}
assert found == wanted, (len(found), len(wanted))
steps = [one["_step"] for one in history]
assert steps == sorted(set(steps)), steps
END
python3 "$work/read.py" "$work/run" || fail "the file"

if [ -n "${CSE_WANDB_PYTHON:-}" ]; then
    cat >>"$work/read.py" <<'END'
from wandb.proto import wandb_internal_pb2 as pb
names = set()
for path in runs:
    for raw in frames(open(path, "rb").read()):
        record = pb.Record()
        record.ParseFromString(raw)
        names.add(record.WhichOneof("record_type"))
        if record.WhichOneof("record_type") == "history":
            values = {one.key: json.loads(one.value_json) for one in record.history.item}
            assert record.history.step.num == values["_step"]
assert names == {"header", "run", "history", "summary", "exit"}, names
END
    "$CSE_WANDB_PYTHON" "$work/read.py" "$work/run" || fail "by wandb's protocol buffers"
fi
exit $failed
