#!/bin/sh
# A value that both the forward and the backward pass use is computed in the forward pass: no
# forward op reads a backward one.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo 'skipped: no python'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$csengine" compile "${top_srcdir:-.}/configs/gpt2_tiny.yaml" --compile_dir "$work" \
    --set model.num_layers=1 --set model.hidden_size=32 --print_after=numerics --json \
    >"$work/graphs" 2>"$work/output" || { cat "$work/output"; exit 1; }
"$python" - "$work/graphs" <<'END'
import json
import sys

REPLICA = 1
with open(sys.argv[1]) as file:
    nodes = json.loads(file.readline())["nodes"]
wrong = [
    f"{node['op']} in {node.get('scope')} reads the gradient's {nodes[i]['op']}"
    for node in nodes
    if node["part"] == REPLICA and not node["backward"]
    for i in node["inputs"]
    if nodes[i]["backward"]
]
print(f"{len(nodes)} nodes, {len(wrong)} wrong", *wrong, sep="\n")
sys.exit(bool(wrong) or not any(node["backward"] for node in nodes))
END
