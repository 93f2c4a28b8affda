#!/bin/sh
# The examples run: the training example reduces its loss and resumes from its own checkpoint, the
# evaluation example finds an accuracy above 0.9, and the example with an update of its own reduces
# its loss and saves its states.
set -eu
: "${top_builddir:?}" "${CSENGINE_EXECUTABLE:?}"
export CSENGINE_EXECUTABLE
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

"$top_builddir/examples/training" >losses
[ "$(wc -l <losses)" -eq 10 ] || { echo "FAIL: ten losses expected:"; cat losses; exit 1; }
awk 'NR == 1 { first = $2 } END { exit !($2 < first / 4) }' losses ||
    { echo "FAIL: the loss did not fall:"; cat losses; exit 1; }
[ -f checkpoint_100.mdl ] && [ -f checkpoint_200.mdl ] ||
    { echo "FAIL: checkpoints are missing"; ls; exit 1; }

# Random data of four classes: guessing gives 0.25.
"$top_builddir/examples/evaluation" checkpoint_200.mdl >evaluation
awk '/Eval Accuracy/ { found = $3 } END { exit !(found > 0.9) }' evaluation ||
    { echo "FAIL: accuracy above 0.9 expected:"; cat evaluation; exit 1; }

"$top_builddir/examples/training" checkpoint_200.mdl >more_losses
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
"$top_builddir/examples/training" checkpoint_400.mdl 0 >losses
[ -f checkpoint_600.mdl ] || { echo "FAIL: training without a scaler did not go on"; exit 1; }
status=0
"$top_builddir/examples/training" checkpoint_600.mdl 2>message || status=$?
[ "$status" -eq 65 ] && grep -q grad_scaler message || {
    echo "FAIL: a checkpoint without a gradient scaler gives exit code 65, not $status:"
    cat message
    exit 1
}

status=0
"$top_builddir/examples/evaluation" no_such_file.mdl 2>message || status=$?
[ "$status" -eq 66 ] && grep -q no_such_file.mdl message || {
    echo "FAIL: a missing checkpoint gives exit code 66 and its name, not $status:"
    cat message
    exit 1
}
echo "examples: trained, evaluated, went on"
