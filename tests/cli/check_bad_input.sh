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
    elif [ -n "$pattern" ] && ! grep -q "$pattern" "$work/err"; then
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

# A full disk: the last checkpoint waits for room until it is given up, and the one that was there
# stays whole.
give_up_without_room() {
    "$csengine" start "$config" --model_dir "$work/small/model" --num_steps 12 2>"$work/waiting" &
    waiting=$!
    tries=0
    until grep -q 'waits for room' "$work/waiting" || [ $tries -ge 500 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    kill -INT $waiting
    wait $waiting
}
mkdir "$work/small"
if mount -t tmpfs -o size=3m tmpfs "$work/small" 2>/dev/null; then
    run --model_dir "$work/small/model" || { echo "small model:"; cat "$work/err"; failed=1; }
    head -c 4m /dev/zero >"$work/small/filler" 2>/dev/null
    give_up_without_room >"$work/out"
    code=$?
    if [ $code -ne 74 ] || ! grep -q 'ended before there was room' "$work/waiting"; then
        echo "a full disk: exit code $code, expected 74"
        cat "$work/waiting"
        failed=1
    fi
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
sed 's/cluster_config: {num_csx: 1,/cluster_config: {num_csx: 1, hosts: [a, "b c"],/' \
    "$config" >"$work/hosts.yaml"
expect 'a wrong name of a host' 78 'hosts.yaml:5:[0-9]*: "b c": it is no name of a host' \
    "$csengine" start "$work/hosts.yaml"
expect 'a host given twice' 78 'hosts: --hosts:1:3: "a": the host is in the list twice' \
    start --hosts a,a
expect 'an unknown command' 64 'start' "$csengine" strat
expect 'an unknown flag' 64 'num_csx' start --num_csz 2
expect 'an unknown key' 78 'did you mean "seed"' start --set trainer.init.sed=1
expect 'several faults' 78 'error: .*unknown setting "trainer.init.sed"' \
    start --set trainer.init.sed=1 --set optimizer.SGD.momentom=1 --set loop.num_steps=x
for fault in '^  .*loop.num_steps: "x" is not an integer' '^  .*did you mean "momentum"'; do
    grep -q "$fault" "$work/err" || { echo "no line like $fault"; cat "$work/err"; failed=1; }
done
expect 'no configuration there' 66 'none.yaml' "$csengine" start "$work/none.yaml"

# ---- values ----

expect 'a decimal comma' 78 'write 0.9: the decimal separator is a point' \
    start --set optimizer.SGD.momentum=0,9
sed 's/learning_rate: 0.1/learning_rate: 0.1, momentum: 0,9/' "$config" >"$work/comma.yaml"
expect 'a decimal comma in the file' 78 'write momentum: 0.9: the decimal separator is a point' \
    "$csengine" start "$work/comma.yaml"
expect 'a quoted decimal comma' 78 '"0,9" is not a number; write 0.9' \
    start --set 'optimizer.SGD.momentum="0,9"'
expect 'a quoted number' 78 'remove the quotes' start --set 'optimizer.SGD.momentum="0.9"'
expect 'grouped digits' 78 'write 10000: digits are not grouped' start --num_steps 10_000
expect 'a number that is whole' 78 'write 1000;' start --set loop.num_steps=1e3
expect 'yes for true' 78 'write true' start --set checkpoint.save_initial_checkpoint=yes
expect 'a value for a list' 78 'write \[8\]' start --set model.hidden_sizes=8
expect 'a setting at the wrong place' 78 'it belongs to trainer.init.loop; accepted' \
    start --set trainer.num_epochs=1
sed 's/^  init:/  num_epochs: 3\n&/' "$config" >"$work/place.yaml"
expect 'a setting at the wrong place of the file' 78 \
    'place.yaml:2:3: .*it belongs to trainer.init.loop; check the indentation' \
    "$csengine" start "$work/place.yaml"

expect 'an optimizer that is spelled wrongly' 78 'no optimizer .SGDD. (did you mean .SGD.?)' \
    start --set 'optimizer={SGDD: {lr: 1}}'
expect 'the short name of a format' 78 'did you mean "bfloat16"?' \
    start --set precision.fp16_type=bf16
expect 'the long name of a format' 78 'did you mean "fp32"?' \
    start --set precision.weight_grad_reduce=float32
sed 's/learning_rate: 0.1/lr:0.1/' "$config" >"$work/space.yaml"
expect 'no space after a colon' 78 'write lr: 0.1, with a space after the colon' \
    "$csengine" start "$work/space.yaml"
sed 's/{SGD: {learning_rate: 0.1}}/\n      SGD:\n      lr: 0.1/' "$config" >"$work/indent.yaml"
expect 'settings beside the name' 78 'there are 2 names: indent the settings below' \
    "$csengine" start "$work/indent.yaml"

# ---- files ----

expect 'a directory for a configuration' 66 'is a directory; give the path of a YAML file' \
    "$csengine" start "$work"
expect 'an empty path' 66 'the path is empty' "$csengine" start ''
expect 'a file for a model_dir' 73 'is a file; give the path of a directory' \
    start --model_dir "$config"
for folder in crlf bom; do
    sed "s#$work/model#$work/$folder#" "$config" >"$work/$folder.yaml"
done
sed -i 's/$/\r/' "$work/crlf.yaml"
expect 'Windows line ends' 0 '' "$csengine" start "$work/crlf.yaml"
{
    printf '\357\273\277'
    cat "$work/bom.yaml"
} >"$work/marked.yaml"
expect 'a byte order mark' 0 '' "$csengine" start "$work/marked.yaml"
sed 's/^    loop:/\tloop:/' "$config" >"$work/tab.yaml"
expect 'a tab' 78 'tab.yaml:[0-9]*:1: tab character' "$csengine" start "$work/tab.yaml"

: >"$work/empty.yaml"
echo '# nothing' >"$work/comments.yaml"
printf 'trainer:\n' >"$work/trainer.yaml"
echo '- trainer' >"$work/list.yaml"
for flag in --validate_only --num_steps=3 --set=loop.num_steps=3; do
    expect "an empty file with $flag" 78 'empty.yaml:1:1: there are no settings: the text' \
        "$csengine" start "$work/empty.yaml" "$flag"
    expect "comments with $flag" 78 'comments.yaml:1:1: there are no settings' \
        "$csengine" start "$work/comments.yaml" "$flag"
    expect "an empty trainer with $flag" 78 'trainer.yaml:1:[0-9]*: the setting "trainer.init' \
        "$csengine" start "$work/trainer.yaml" "$flag"
    expect "a list with $flag" 78 'list.yaml:1:1: a mapping of settings belongs here' \
        "$csengine" start "$work/list.yaml" "$flag"
done
printf 'width,species\n1.5,0\n2.5,setosa\n' >"$work/iris.csv"
sed -e 's/idx_images/csv/' -e "s#data_dir: .*#path: $work/iris.csv#" \
    -e 's/^\( *\)shuffle: false/\1label: species/' "$config" >"$work/csv.yaml"
expect 'names of classes in a table' 65 \
    'iris.csv:3:5: "setosa" in column "species" is not a number.*set class_names' \
    "$csengine" start "$work/csv.yaml" --model_dir "$work/e"
grep -q 'header: true' "$work/err" && { echo "the header is there:"; cat "$work/err"; failed=1; }
expect 'names without a header' 65 'iris.csv:1:1: "width" is not a number.*set header: true' \
    "$csengine" start "$work/csv.yaml" --model_dir "$work/e" \
    --set fit.train_dataloader.header=false --set fit.train_dataloader.label=1
printf 'a;b\n1,5;0\n' >"$work/iris.csv"
expect 'decimal commas in a table' 65 'where a comma is the decimal separator' \
    "$csengine" start "$work/csv.yaml" --model_dir "$work/e" \
    --set 'fit.train_dataloader.delimiter=";"' --set fit.train_dataloader.label=b

# A token beyond the vocabulary, and a label beyond the classes, with their places in the data.
printf 'abcdefghijklmnopqrstuvwxyz%.0s' 1 2 3 4 5 6 7 8 >"$work/text"
cat >"$work/tokens.yaml" <<EOF
trainer:
  init:
    model_dir: $work/f
    model: {name: gpt2, hidden_size: 8, num_layers: 1, num_heads: 2, vocab_size: 123,
      max_position_embeddings: 16}
    optimizer: {SGD: {lr: 0.1}}
    loop: {num_steps: 4}
  fit:
    train_dataloader: {data_processor: text_bytes, path: $work/text, sequence_length: 16,
      batch_size: 4}
EOF
expect 'tokens of the vocabulary' 0 '' "$csengine" start "$work/tokens.yaml"
for vocab_size in 122 97; do
    # "z" is 122, first as input or label; "a" is 97, where the second sample begins anew.
    expect "a vocabulary of $vocab_size" 65 \
        "offset [0-9]* (sample [0-9]*): .*(vocab_size of model.embedding_layer is $vocab_size)" \
        "$csengine" start "$work/tokens.yaml" --model_dir "$work/f$vocab_size" \
        --set "model.vocab_size=$vocab_size"
done
expect 'a label beyond the classes' 65 \
    'labels-idx1-ubyte: offset 1[0-9]: label [0-9]; .* the model tells 4 classes apart .*, 0 to 3' \
    start --model_dir "$work/g" --set model.num_classes=4

# ---- paths ----

mkdir "$work/home"
expect 'a model_dir of ~/runs' 0 '' env HOME="$work/home" "$csengine" start "$config" \
    --model_dir '~/runs'
[ -e "$work/home/runs/checkpoint_6.mdl" ] || { echo "no checkpoint in ~/runs"; failed=1; }
[ ! -e '~' ] || { echo "a directory named ~ was made"; failed=1; }
sed -e "s#data_dir: .*#data_dir: ~/data#" -e "s#model_dir: .*#model_dir: ~/m#" "$config" \
    >"$work/home.yaml"
cp -r "$work/data" "$work/home/data"
expect 'a data_dir below ~' 0 '' env HOME="$work/home" "$csengine" start "$work/home.yaml"
[ -e "$work/home/m/checkpoint_6.mdl" ] || { echo "no checkpoint below HOME"; failed=1; }
for setting in model_dir backend.compile_dir fit.ckpt_path fit.train_dataloader.data_dir; do
    expect "a variable in $setting" 78 \
        "${setting##*.}: \"\$HOME/x\" has a \"\\$\".*write the path itself" \
        start --set "$setting=\$HOME/x"
    expect "a user's name in $setting" 78 'begins with the name of a user' \
        start --set "$setting=~nobody/x"
done
expect 'a variable in the path of a library' 78 'library: "$X/m.so" has a "\$"' \
    start --set 'model.library=$X/m.so'

# ---- flags ----

expect '--set without an equals sign' 64 'changed by --set path=value, without spaces' \
    start --set loop.num_steps 5
expect 'a flag without its value' 64 'start: --num_steps needs a value: --num_steps N (steps' \
    start --num_steps
expect 'no such run' 69 'no-run: there is no such directory, so it would be the name of a job' \
    env -u CSE_SERVER "$csengine" report no-run

for address in 0.0.0.0:9000 '[::]:9000'; do
    expect "--listen $address" 64 'other machines could reach this address.*csengine serve' \
        start --model_dir "$work/h" --listen "$address"
done
expect '--listen without a port' 64 'listen 127.0.0.1: accepted: 127.0.0.1:PORT' \
    start --model_dir "$work/h" --listen 127.0.0.1
[ ! -e "$work/h" ] || { echo "a run with a wrong --listen was begun"; failed=1; }

expect 'validation with a missing checkpoint' 66 'nowhere.mdl' \
    start --validate_only --checkpoint_path "$work/nowhere.mdl"
expect 'validation with a truncated checkpoint' 65 'truncated.mdl' \
    start --validate_only --checkpoint_path "$work/truncated.mdl"
expect 'validation with a checkpoint of another model' 65 'fc_layers' start --validate_only \
    --checkpoint_path "$newest" --set 'trainer.init.model.hidden_sizes=[9]'
expect 'validation with a checkpoint that fits' 0 '' \
    start --validate_only --checkpoint_path "$newest"

expect 'no run to compare with' 66 'there is no such directory' \
    "$csengine" compare "$work/model" "$work/none"
mkdir "$work/plain"
expect 'a directory that is no run' 66 'has no run store' \
    "$csengine" compare "$work/model" "$work/plain"
grep -q 'before\|0\.[0-9]' "$work/err" && { echo "versions:"; cat "$work/err"; failed=1; }

# ---- bytes that a terminal would act on ----

escape=$(printf '\033')
bad=$(printf 'a\033[31m\377\007b')
printf 'trainer: {"x\\e[31m\\x9b": 1}\n' >"$work/escape.yaml"
printf 'a,b\n1,\033[31m\377\n' >"$work/iris.csv"
expect 'ESC in the name of a file' 66 'a\\x1b\[31m\\xff\\x07b' "$csengine" start "$bad"
cp "$work/err" "$work/all"
expect 'ESC in a command' 64 'a\\x1b\[31m' "$csengine" "$bad"
cat "$work/err" >>"$work/all"
expect 'ESC in --set' 78 'a\\x1b\[31m' start --set "$bad=1"
cat "$work/err" >>"$work/all"
expect 'ESC in YAML' 78 'x\\x1b\[31m\\xc2\\x9b' "$csengine" start "$work/escape.yaml"
cat "$work/err" >>"$work/all"
expect 'ESC in a table' 65 'is not a number' "$csengine" start "$work/csv.yaml" \
    --model_dir "$work/e" --set fit.train_dataloader.label=b
cat "$work/err" >>"$work/all"
timeout 60 "$csengine" start "$config" --model_dir "$work/$bad" >"$work/out" 2>&1
cat "$work/out" >>"$work/all"
grep -q 'Training completed' "$work/out" || { echo "no run in a strange folder"; failed=1; }
if LC_ALL=C grep -q "$escape" "$work/all" || ! iconv -f UTF-8 -t UTF-8 "$work/all" >/dev/null; then
    echo "bytes reach the terminal:"
    cat -v "$work/all"
    failed=1
fi

left=$(find "$work/run" -name 'csengine-*' 2>/dev/null)
[ -z "$left" ] || { echo "left behind: $left"; failed=1; }
exit $failed
