#!/bin/sh
# Averages of weights in runs with real processes: they change no bit of what is trained, are the
# same for any number of replicas and in a run that goes on, and are what validations, `validate`,
# exports and predictions take.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "FAIL: $*"
    failed=1
}

cat >"$work/config.yaml" <<'END'
trainer:
  init:
    model: {name: fc_mnist, input_size: 16, hidden_sizes: [8], num_classes: 3}
    optimizer:
      SGD: {lr: 0.1, momentum: 0.9}
    ema: {decay: 0.9}
    loop: {max_steps: 20}
    seed: 1
  fit:
    train_dataloader: {data_processor: synthetic, features: [16], classes: 3, samples: 90,
      batch_size: 12, micro_batch_size: 4, shuffle: true}
    val_dataloader: {data_processor: synthetic, features: [16], classes: 3, samples: 90,
      batch_size: 30}
END

# run COMMAND FOLDER [OPTION...]
run() {
    command=$1 folder=$2
    shift 2
    timeout 60 "$csengine" "$command" "$work/config.yaml" --model_dir "$work/$folder" \
        --compile_dir "$work/compiled" "$@" 2>>"$work/errors"
}
loss() { sed -n 's/^Avg Eval Loss: //p'; }
# The digest of what a checkpoint is exported as.
exported() {
    [ -e "$work/$1.npz" ] ||
        "$csengine" checkpoint convert "$work/$1/checkpoint_20.mdl" "$work/$1.npz" >/dev/null
    sha256sum <"$work/$1.npz"
}

with=$(run start with --no_dashboard)
without=$(run start without --no_dashboard --set ema.decay=null)
run start plain --no_dashboard --set ema.evaluate=false >/dev/null
[ "$(exported plain)" = "$(exported without)" ] || fail "averages change the weights"
[ "$(echo "$with" | loss)" != "$(echo "$without" | loss)" ] || fail "validated without averages"

[ "$(run validate with | loss)" = "$(echo "$with" | loss)" ] || fail "validate takes others"
[ "$(run validate with --set ema.evaluate=false | loss)" = "$(echo "$without" | loss)" ] ||
    fail "evaluate: false takes averages"
run validate without >/dev/null
grep -q 'has no averages of weights (ema)' "$work/errors" || fail "a checkpoint without averages"

run start parts --no_dashboard --num_csx 3 --num_steps 7 >/dev/null
run start parts --no_dashboard >/dev/null
[ "$(exported with)" = "$(exported parts)" ] || fail "a run that goes on has other averages"
[ "$(exported with)" != "$(exported without)" ] || fail "the export has no averages"

# Averages that begin later: the first update copies the weights.
run start later --no_dashboard --num_steps 7 --set ema.decay=null >/dev/null
run start later --no_dashboard >/dev/null || fail "averages cannot begin later"
grep -q . "$work/errors" && grep -i 'error' "$work/errors" && failed=1
run start wrong --no_dashboard --set ema.decays=1 >/dev/null
grep -q 'did you mean "decay"' "$work/errors" || fail "an unknown key: $(tail -1 "$work/errors")"
exit $failed
