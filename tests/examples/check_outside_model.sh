#!/bin/sh
# A model in a shared object of its own trains by `model: {library: ..., name: ...}`; a library
# without the model, and a missing library, are reported by name.
set -eu
: "${top_builddir:?}" "${CSENGINE_EXECUTABLE:?}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
library=$top_builddir/examples/outside/.libs/linear_model.so
[ -f "$library" ] || { echo "FAIL: $library was not built"; exit 1; }

cat >"$folder/config.yaml" <<END
trainer:
  init:
    model_dir: $folder/model_dir
    model: {library: $library, name: linear_model, input_size: 16, num_classes: 4}
    optimizer:
      SGD: {lr: 0.5}
    loop: {num_steps: 60}
    logging: {log_steps: 10}
    seed: 1
  fit:
    train_dataloader: {data_processor: synthetic, features: [16], classes: 4, samples: 1024,
      batch_size: 64, micro_batch_size: 32, shuffle: true}
    val_dataloader: {data_processor: synthetic, features: [16], classes: 4, samples: 256,
      batch_size: 64, micro_batch_size: 32}
END
"$CSENGINE_EXECUTABLE" start "$folder/config.yaml" --json >"$folder/out" ||
    { echo "FAIL: training ended with $?"; cat "$folder/out"; exit 1; }
# The data are separable by a linear model; guessing gives 0.25.
tail -n 1 "$folder/out" | sed 's/.*"accuracy":\([0-9.]*\).*/\1/' |
    awk '{ exit !($1 > 0.8) }' ||
    { echo "FAIL: accuracy above 0.8 expected"; cat "$folder/out"; exit 1; }

fails_with() { # exit code, word in the message, --set path=value
    status=0
    "$CSENGINE_EXECUTABLE" start "$folder/config.yaml" --set "$3" >"$folder/out" 2>&1 || status=$?
    [ "$status" -eq "$1" ] && grep -q "$2" "$folder/out" || {
        echo "FAIL: $3: exit code $1 and '$2' expected, got $status:"
        cat "$folder/out"
        exit 1
    }
}
fails_with 66 'cannot be opened' "model.library=$folder/none.so"
fails_with 78 "no model 'linear_mode' (did you mean 'linear_model'?)" model.name=linear_mode
echo "outside model: trained; mistakes named"
