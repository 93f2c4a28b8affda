#!/bin/sh
# The fine-tuning example, in fewer steps: the weights of a language model that was trained on one
# text are all taken, and give a lower loss on another text than random ones. A second start goes on
# from the run's own checkpoint, and not from the weights again.
set -eu
: "${top_srcdir:?}" "${CSENGINE_EXECUTABLE:?}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
source=$(cd "$top_srcdir" && pwd)
cd "$folder"
fail() {
    echo "FAIL: $*"
    exit 1
}
csengine() { "$CSENGINE_EXECUTABLE" "$@" --no_dashboard --set model.num_layers=2; }
last_loss() { # file
    grep -o 'Loss=[0-9.]*' "$1" | tail -n 1 | cut -d = -f 2
}
weights=model_dir/gpt2_tiny/checkpoint_150.mdl
tune() { csengine start "$source/examples/fine_tune.yaml" --set logging.log_steps=5 "$@"; }

csengine start "$source/configs/gpt2_tiny.yaml" --num_steps 150 >trained
tune --num_steps 20 --weights "$weights" >tuned
grep -q "loaded weights $weights: \([0-9]*\) of \1 parameters" tuned || fail "$(cat tuned)"
tune --num_steps 20 --model_dir random >random.out
echo "loss after 20 batches: $(last_loss tuned), from random weights $(last_loss random.out)"
awk -v tuned="$(last_loss tuned)" -v random="$(last_loss random.out)" \
    'BEGIN { exit !(tuned > 0 && tuned + 0.3 < random) }' || fail 'the weights are of no use'

tune --num_steps 30 --weights "$weights" >again
if ! grep -q 'Step=25,' again || grep -q 'Step=20,' again; then
    fail "it does not go on from step 20: $(cat again)"
fi
