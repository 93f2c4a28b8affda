#!/bin/sh
# A linear layer's bias of bfloat16 is added by the product; with tensor statistics, which tell of
# the rounded product too, by a loop. Both train to the same weights.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo 'skipped: no python'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
config=${top_srcdir:-.}/configs/gpt2_tiny.yaml

# NAME SETTING...
train() {
    name=$1
    shift
    set -- "$config" --model_dir "$work/$name" --compile_dir "$work/compiled" \
        --set model.num_layers=1 --set model.hidden_size=32 --set precision.fp16_type=bfloat16 \
        --set precision.graphamp.preset=mp2 "$@"
    "$csengine" compile "$@" --print_after=numerics --json >"$work/$name.json" \
        2>"$work/output" || { cat "$work/output"; exit 1; }
    "$csengine" start "$@" --num_steps 3 >"$work/output" 2>&1 ||
        { cat "$work/output"; exit 1; }
    grep -i 'weights digest' "$work/output" >"$work/$name.digest" ||
        { echo 'FAIL: no digest'; cat "$work/output"; exit 1; }
}
train plain
train statistics --set numerics.every=2
cmp "$work/plain.digest" "$work/statistics.digest" || { echo 'FAIL: other weights'; exit 1; }
"$python" - "$work/plain.json" "$work/statistics.json" <<'END'
import json
import sys

LIBRARY = 2


def added_by_products(path):
    """Of the additions of a bias to a product of bfloat16: all, and those within its group."""
    with open(path) as file:
        graph = json.loads(file.readline())
    nodes, groups = graph["nodes"], graph["groups"]
    found = []
    for node in nodes:
        if node["op"] != "add" or node["dtype"] != "bfloat16" or node["backward"]:
            continue
        read = [nodes[i] for i in node["inputs"]]
        read = [nodes[n["inputs"][0]] if n["op"] == "reshape" else n for n in read]
        if sorted(n["op"] for n in read) == ["broadcast_to", "matmul"]:
            found.append(groups[node["group"]]["kind"] == LIBRARY)
    return len(found), sum(found)


plain, statistics = (added_by_products(path) for path in sys.argv[1:])
print("additions, and those of products:", plain, "with statistics:", statistics)
sys.exit(not (plain[0] >= 4 and plain[0] == plain[1] and statistics == (plain[0], 0)))
END
