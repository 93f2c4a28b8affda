#!/bin/sh
# Bad input ends in one clear message and the right exit code, quickly, and leaves nothing behind.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'umount "$work/small" 2>/dev/null; rm -rf "$work"' EXIT
failed=0
config=$work/config.yaml
# Sockets live here, so that what is left of them can be told from other runs'.
mkdir "$work/run"
XDG_RUNTIME_DIR=$work/run
export XDG_RUNTIME_DIR

cat >"$config" <<EOF
trainer:
  init:
    seed: 3
    model_dir: $work/model
    backend: {compile_dir: $work/compiled, cluster_config: {num_csx: 1, num_workers_per_csx: 1}}
    model: {name: fc_mnist, hidden_sizes: [8]}
    optimizer: {SGD: {learning_rate: 0.1}}
    loop: {num_steps: 6}
    checkpoint: {steps: 3}
    logging: {log_steps: 3}
  fit:
    train_dataloader:
      data_processor: idx_images
      data_dir: $work/data
      batch_size: 8
      micro_batch_size: 4
      shuffle: false
EOF

# 16 images of 28 x 28 and their labels, in the idx format.
make_data() {
    rm -rf "$work/data"
    mkdir "$work/data"
    {
        printf '\000\000\010\003\000\000\000\020\000\000\000\034\000\000\000\034'
        head -c 12544 /dev/urandom
    } >"$work/data/train-images-idx3-ubyte"
    {
        printf '\000\000\010\001\000\000\000\020'
        printf '\000\001\002\003\004\005\006\007\010\011\000\001\002\003\004\005'
    } >"$work/data/train-labels-idx1-ubyte"
}

# expect NAME CODE PATTERN COMMAND...: one message that matches, and the exit code. A command that
# begins with `start` is `csengine start` with the configuration.
expect() {
    name=$1 code=$2 pattern=$3
    shift 3
    if [ "$1" = start ]; then
        shift
        set -- "$csengine" start "$config" "$@"
    fi
    timeout 60 "$@" >"$work/out" 2>"$work/err" </dev/null
    got=$?
    if [ "$got" -ne "$code" ]; then
        echo "$name: exit code $got, expected $code"
        cat "$work/err"
        failed=1
    elif ! grep -q "$pattern" "$work/err"; then
        echo "$name: no message like '$pattern':"
        cat "$work/err"
        failed=1
    elif [ "$code" -ne 0 ] && [ "$(grep -c 'error: ' "$work/err")" -ne 1 ]; then
        echo "$name: not one error message:"
        cat "$work/err"
        failed=1
    fi
}

run() { timeout 60 "$csengine" start "$config" "$@" >"$work/out" 2>"$work/err"; }

make_data
run || { echo "the good configuration fails:"; cat "$work/err"; exit 1; }

# Data.
rm "$work/data/train-images-idx3-ubyte"
expect 'missing data file' 66 'train-images-idx3-ubyte' start --model_dir "$work/a"
make_data
truncate -s 5000 "$work/data/train-images-idx3-ubyte"
expect 'truncated data file' 65 'train-images-idx3-ubyte' start --model_dir "$work/a"
make_data
printf '\000\000\010\002' | dd of="$work/data/train-images-idx3-ubyte" conv=notrunc 2>/dev/null
expect 'wrong idx magic' 65 'magic' start --model_dir "$work/a"
make_data
printf '\013' | dd of="$work/data/train-labels-idx1-ubyte" bs=1 seek=12 conv=notrunc 2>/dev/null
expect 'label out of range' 65 'label' start --model_dir "$work/a"
make_data
expect 'a batch that does not divide' 78 'micro_batch_size' \
    start --model_dir "$work/a" --set trainer.fit.train_dataloader.micro_batch_size=3
expect 'a batch larger than the data' 78 'batch_size' \
    start --model_dir "$work/a" --set trainer.fit.train_dataloader.batch_size=64
expect 'shapes that do not fit' 65 '\[.*\]' \
    start --model_dir "$work/a" --set trainer.init.model.input_size=700

# Checkpoints.
newest=$(ls "$work"/model/*.mdl | tail -n 1)
expect 'a checkpoint of another model' 65 'fc_layers' \
    start --model_dir "$work/b" --checkpoint_path "$newest" \
    --set 'trainer.init.model.hidden_sizes=[9]'
head -c 3000 "$newest" >"$work/truncated.mdl"
expect 'a truncated checkpoint' 65 'truncated.mdl' \
    start --model_dir "$work/b" --checkpoint_path "$work/truncated.mdl"
cp "$newest" "$work/flipped.mdl"
middle=$(($(wc -c <"$newest") / 2))
printf '\125\252\125' | dd of="$work/flipped.mdl" bs=1 seek="$middle" conv=notrunc 2>/dev/null
expect 'a bit-flipped checkpoint' 65 'flipped.mdl' \
    "$csengine" checkpoint verify "$work/flipped.mdl"
expect 'no checkpoint there' 66 'nowhere.mdl' \
    start --model_dir "$work/b" --checkpoint_path "$work/nowhere.mdl"

# A full disk: the checkpoint that was there stays whole.
mkdir "$work/small"
if mount -t tmpfs -o size=3m tmpfs "$work/small" 2>/dev/null; then
    run --model_dir "$work/small/model" || { echo "small model:"; cat "$work/err"; failed=1; }
    head -c 4m /dev/zero >"$work/small/filler" 2>/dev/null
    expect 'a full disk' 74 'space\|disk' \
        start --model_dir "$work/small/model" --num_steps 12
    for kept in "$work"/small/model/*.mdl; do
        if ! "$csengine" checkpoint verify "$kept" >/dev/null 2>&1; then
            echo "$kept is damaged"
            failed=1
        fi
    done
    [ -z "$(find "$work/small" -name '*.tmp*')" ] || { echo "a temporary file is left"; failed=1; }
fi

# The cluster.
expect 'a replica that cannot start' 69 'replica\|worker' \
    env CSENGINE_EXECUTABLE=/bin/false "$csengine" start "$config" --model_dir "$work/c"
: >"$work/file"
expect 'a model_dir that cannot be made' 73 "$work/file" start --model_dir "$work/file/model"
sed -e 's/hidden_sizes: \[8\]/hidden_sizes: [8], input_size: 16, activation: gelu/' \
    -e 's/learning_rate: 0.1/learning_rate: 1000000, momentum: 0.9/' \
    -e 's/idx_images/synthetic/' -e 's/data_dir: .*/features: [16]/' \
    "$config" >"$work/diverges.yaml"
expect 'NaN loss' 1 'the loss is' \
    "$csengine" start "$work/diverges.yaml" --model_dir "$work/d" --num_steps 40

# The command line and the configuration.
expect 'an unknown command' 64 'start' "$csengine" strat
expect 'an unknown flag' 64 'num_csx' start --num_csz 2
expect 'an unknown key' 78 'did you mean "seed"' start --set trainer.init.sed=1
expect 'several faults' 78 'error: .*unknown setting "trainer.init.sed"' \
    start --set trainer.init.sed=1 --set optimizer.SGD.momentom=1 --set loop.num_steps=x
for fault in '^  .*loop.num_steps: "x" is not an integer' '^  .*did you mean "momentum"'; do
    grep -q "$fault" "$work/err" || { echo "no line like $fault"; cat "$work/err"; failed=1; }
done
expect 'no configuration there' 66 'none.yaml' "$csengine" start "$work/none.yaml"

left=$(find "$work/run" -name 'csengine-*' 2>/dev/null)
[ -z "$left" ] || { echo "left behind: $left"; failed=1; }
exit $failed
