#!/bin/sh
# The examples run: the training example reduces its loss and resumes from its own checkpoint, the
# evaluation example finds an accuracy above 0.9, both with the input function of a library and with
# the bits of the same training as a configuration; and the example with an update of its own
# reduces its loss and saves its states.
set -eu
: "${top_srcdir:?}" "${top_builddir:?}" "${CSENGINE_EXECUTABLE:?}"
export CSENGINE_EXECUTABLE
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
library=$top_builddir/examples/outside/.libs/custom_training.so
[ -f "$library" ] || { echo "FAIL: $library was not built"; exit 1; }

"$top_builddir/examples/training" "$library" >losses
[ "$(wc -l <losses)" -eq 10 ] || { echo "FAIL: ten losses expected:"; cat losses; exit 1; }
awk 'NR == 1 { first = $2 } END { exit !($2 < first / 4) }' losses ||
    { echo "FAIL: the loss did not fall:"; cat losses; exit 1; }
[ -f checkpoint_100.mdl ] && [ -f checkpoint_200.mdl ] ||
    { echo "FAIL: checkpoints are missing"; ls; exit 1; }

# Circles that are nearer to each other than those of the training: guessing gives 0.5.
"$top_builddir/examples/evaluation" "$library" checkpoint_200.mdl >evaluation
awk '/Eval Accuracy/ { found = $3 } END { exit !(found > 0.9) }' evaluation ||
    { echo "FAIL: accuracy above 0.9 expected:"; cat evaluation; exit 1; }

# The same as a configuration.
cp "$library" custom_training.so
"$CSENGINE_EXECUTABLE" start "$top_srcdir/examples/training.yaml" --no_dashboard --json >started
"$CSENGINE_EXECUTABLE" validate "$top_srcdir/examples/training.yaml" --json >validated
digest=$("$CSENGINE_EXECUTABLE" checkpoint digest checkpoint_200.mdl)
other=$("$CSENGINE_EXECUTABLE" checkpoint digest model_dir/training/checkpoint_200.mdl)
[ "${digest%% *}" = "${other%% *}" ] ||
    { echo "FAIL: the program's weights: $digest, the configuration's: $other"; exit 1; }
sed -n 's/.*"event":"end".*"loss":\([0-9.e-]*\),"accuracy":\([0-9.e-]*\).*/\1 \2/p' validated |
    awk '{ printf "Eval Loss: %g\nEval Accuracy: %g\n", $1, $2 }' >expected
cmp -s expected evaluation || { echo 'FAIL: validate:'; cat expected evaluation; exit 1; }

"$top_builddir/examples/training" "$library" checkpoint_200.mdl >more_losses
[ -f checkpoint_400.mdl ] || { echo "FAIL: training did not go on from step 200"; ls; exit 1; }

# Its own Lion and the library's SGD, in one step.
"$top_builddir/examples/own_update" >losses
awk 'NR == 1 { first = $2 + 0 } END { exit !(NR == 10 && $2 + 0 < first / 4) }' losses ||
    { echo "FAIL: the loss of own_update did not fall:"; cat losses; exit 1; }
"$CSENGINE_EXECUTABLE" checkpoint info own_update.mdl >info
grep -q 'lion.first' info && grep -q 'optimizer.last.bias.momentum_buffer' info ||
    { echo "FAIL: own_update.mdl lacks a state:"; cat info; exit 1; }

# The run of each program is recorded where it ran.
"$CSENGINE_EXECUTABLE" report . -o run.html >/dev/null && [ -s run.html ] ||
    { echo "FAIL: no report of the programs' runs"; exit 1; }

# Without a gradient scaler, from a checkpoint that has one.
"$top_builddir/examples/training" "$library" checkpoint_400.mdl 0 >losses
[ -f checkpoint_600.mdl ] || { echo "FAIL: training without a scaler did not go on"; exit 1; }
status=0
"$top_builddir/examples/training" "$library" checkpoint_600.mdl 2>message || status=$?
[ "$status" -eq 65 ] && grep -q grad_scaler message || {
    echo "FAIL: a checkpoint without a gradient scaler gives exit code 65, not $status:"
    cat message
    exit 1
}

status=0
"$top_builddir/examples/evaluation" "$library" no_such_file.mdl 2>message || status=$?
[ "$status" -eq 66 ] && grep -q no_such_file.mdl message || {
    echo "FAIL: a missing checkpoint gives exit code 66 and its name, not $status:"
    cat message
    exit 1
}
echo "examples: trained, evaluated, went on"
