#!/bin/sh
# 64 and 128 replicas, each with an input worker, on the few processors of this machine: the weights
# are those of one replica, bound or not, and nothing is left behind: no process, no shared memory,
# no folder of sockets.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
config=${top_srcdir:-.}/configs/synthetic.yaml
export TMPDIR="$work/tmp" XDG_RUNTIME_DIR="$work/tmp"
mkdir -m 700 "$work/tmp"

fail() {
    echo "FAIL: $1"
    failed=1
}

# 128 microbatches of one sample.
train() { # NAME, options...: prints the digest of the weights
    name=$1
    shift
    "$csengine" start "$config" --model_dir "$work/$name" --compile_dir "$work/compiled" \
        --set fit.train_dataloader.batch_size=128 --set fit.train_dataloader.micro_batch_size=1 \
        --num_steps 3 --no_dashboard "$@" >"$work/out" 2>&1 ||
        fail "$name: $(tail -n 5 "$work/out")"
    sed -n 's/^Weights digest: //p' "$work/out"
}

one=$(train one --num_csx 1)
[ -n "$one" ] || fail "no digest of one replica"
for replicas in 64 128; do
    began=$(date +%s)
    many=$(train "many$replicas" --num_csx "$replicas")
    [ "$many" = "$one" ] || fail "$replicas replicas: other weights: $many, not $one"
    if grep -i 'restart\|lost\|frozen' "$work/out"; then
        fail "$replicas replicas: a worker was lost"
    fi
    echo "$replicas replicas: $(($(date +%s) - began)) s"
done
bound=$(train bound --num_csx 64 --set backend.cluster_config.binding=cores \
    --set backend.cluster_config.max_wgt_servers=2)
[ "$bound" = "$one" ] || fail "64 bound replicas: other weights: $bound, not $one"

left=$(ls -A "$work/tmp")
[ -z "$left" ] || fail "left behind: $left"
if pgrep -f "$work" >/dev/null; then
    fail "processes are left: $(pgrep -af "$work")"
fi
exit "$failed"
