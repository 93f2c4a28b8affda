#!/bin/sh
# `verify PROOF CHECKPOINT` where the run itself is gone: a checkpoint of the run matches by its
# chain or by the steps after it, with any number of processes; one of another run, a changed one,
# another configuration and what cannot be known are told apart.
set -u
csengine=$(realpath "${CSENGINE_EXECUTABLE:?}")
config=$(realpath "${top_srcdir:-.}")/configs/synthetic.yaml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
XDG_CONFIG_HOME=$work/config
export XDG_CONFIG_HOME
failed=0

# says EXIT_CODE TEXT ARGUMENTS...
says() {
    wanted=$1 text=$2 status=0
    shift 2
    "$csengine" verify "$work/proof" "$@" >"$work/out" 2>&1 || status=$?
    [ "$status" -eq "$wanted" ] && grep -qe "$text" "$work/out" && return
    echo "FAIL: verify $*: exit code $status, wanted $wanted and '$text': $(cat "$work/out")"
    failed=1
}
train() { # model_dir, options
    directory=$1
    shift
    "$csengine" start "$config" --no_dashboard --quiet --model_dir "$directory" --num_steps 101 \
        --compile_dir "$work/compiled" "$@" >"$work/out" 2>&1 ||
        { cat "$work/out"; exit 1; }
}

# 101 steps: the proof has each second one, those with odd numbers.
train "$work/run" --set checkpoint.steps=20 --set checkpoint.keep=null
train "$work/other" --set checkpoint.steps=40 --set seed=8
"$csengine" prove "$work/run" >"$work/proof" || failed=1
mv "$work/run/checkpoint_40.mdl" "$work/run/checkpoint_101.mdl" "$work"
rm -r "$work/run"

says 0 'the steps 41 to 45 lead to the chain of the proof' "$work/checkpoint_40.mdl" \
    --config "$config"
says 0 'the steps 41 to 101 lead' "$work/checkpoint_40.mdl" --config "$config" --steps 1000 \
    --num_csx 3
says 0 '"stretches":1,"steps":1' "$work/checkpoint_40.mdl" --config "$config" --steps 1 --json
says 66 'has no chain of its step, 40: .*--config CONFIG.yaml' "$work/checkpoint_40.mdl"
says 0 'chain of step 101; its states were not checked' "$work/checkpoint_101.mdl"
says 0 'chain of step 101; its states were not checked' "$work/checkpoint_101.mdl" \
    --config "$config"
says 64 'config goes with a checkpoint' "$work/other" --config "$config"

# Other settings, another run, one changed byte, a proof that was changed.
sed 's/momentum: 0.9/momentum: 0.8/' "$config" >"$work/momentum.yaml"
says 65 'the steps 41 to 41 lead to another chain' "$work/checkpoint_40.mdl" \
    --config "$work/momentum.yaml"
sed 's/seed: 1/seed: 8/' "$config" >"$work/other.yaml"
says 65 'the steps 41 to 41 lead to another chain' "$work/other/checkpoint_40.mdl" \
    --config "$work/other.yaml"
says 65 'its chain of step 101 is not that of the proof' "$work/other/checkpoint_101.mdl"
size=$(wc -c <"$work/checkpoint_40.mdl")
cp "$work/checkpoint_40.mdl" "$work/changed.mdl"
byte=$(od -An -tu1 -j $((size / 2)) -N 1 "$work/changed.mdl" | tr -d ' ')
# shellcheck disable=SC2059 # an octal number
printf "\\$(printf %o $((byte ^ 1)))" |
    dd of="$work/changed.mdl" bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
says 65 'changed.mdl' "$work/changed.mdl" --config "$config"
sed -i '0,/"[0-9a-f]\{64\}"/s/"[0-9a-f]/"x/' "$work/proof"
says 65 'proof' "$work/checkpoint_40.mdl" --config "$config"
[ "$failed" -eq 0 ] && echo 'all as proven'
exit $failed
