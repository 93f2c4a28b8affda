#!/bin/sh
# A job over 37 samples in batches of 8: a validation measures all 37, as one batch of them does,
# with any microbatches and replicas; training with drop_last: false has the same weights whoever
# computes them and wherever it was interrupted; what is left out is told once.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
. "${top_srcdir:-.}/tests/support/runs.sh"
runs_folder
trap 'rm -rf "$work"' EXIT

awk 'BEGIN {
    srand(11)
    print "a,b,c,label"
    for (i = 0; i < 37; i++) {
        a = 4 * rand() - 2; b = 4 * rand() - 2
        printf "%.4f,%.4f,%.4f,%d\n", a, b, rand(), (a + b / 2 + rand() > 0.5)
    }
}' >"$work/table.csv"
data="data_processor: csv, path: $work/table.csv, label: label, classes: 2"
cat >"$work/run.yaml" <<YAML
trainer:
  init:
    backend: {compile_dir: $work/compiled}
    model: {name: fc_mnist, input_size: 3, hidden_sizes: [5], num_classes: 2}
    optimizer: {SGD: {lr: 0.1, momentum: 0.9}}
    loop: {num_epochs: 3, eval_frequency: 6}
    seed: 1
    metrics: [perplexity, mean_loss, {mean: {}}, {auc: {}}, {f_beta: {num_classes: 2}}]
  fit:
    train_dataloader: {$data, batch_size: 8, micro_batch_size: 4, shuffle: true}
    val_dataloader: {$data, batch_size: 8, micro_batch_size: 4}
YAML

run() { # NAME COMMAND ARGUMENTS...
    name=$1
    command=$2
    shift 2
    timeout 100 "$csengine" "$command" "$work/run.yaml" --model_dir "$work/$name" "$@" \
        >"$work/$name.out" 2>"$work/$name.err" ||
        complain "$name: $(cat "$work/$name.out" "$work/$name.err")"
}
kept='--set fit.train_dataloader.drop_last=false'

# Twelve steps of whole batches, in two segments.
run dropped start
grep -q 'Processed 96 training' "$work/dropped.out" ||
    complain "dropped: $(cat "$work/dropped.out")"
[ "$(grep -c 'training leaves out 5 of 37 samples in each epoch' "$work/dropped.err")" = 1 ] &&
    [ "$(grep -c 'leaves out' "$work/dropped.err")" = 1 ] ||
    complain "what training leaves out: $(cat "$work/dropped.err")"

# Fifteen steps. One checkpoint a segment, as always: none is made where batches change.
run kept start $kept
grep -q 'Processed 111 training' "$work/kept.out" || complain "kept: $(cat "$work/kept.out")"
grep -q 'leaves out' "$work/kept.err" && complain "kept: $(cat "$work/kept.err")"
saved=$(cd "$work/kept" && ls -d checkpoint_*.mdl | sed 's/[^0-9]//g' | sort -n | tr '\n' ' ')
[ "$saved" = "6 12 15 " ] || complain "checkpoints of steps $saved"
run three start $kept --num_csx 3
same three kept
run hosts start $kept --num_csx 1 --hosts a,b \
    --set backend.cluster_config.host_launcher=local
same hosts kept
for steps in 4 9 10 15; do # ends of whole batches and of a last one
    run parts start $kept --set loop.num_epochs=null --set loop.max_steps=$steps
done
same parts kept

# A validation, beside one batch of all samples.
metrics() { sed -n 's/.*"event":"end".*"metrics":{\([^}]*\)}.*/\1/p' "$work/$1.out"; }
all='--checkpoint '"$work/kept/checkpoint_15.mdl"' --json'
run whole validate $all --set fit.val_dataloader.batch_size=37 \
    --set fit.val_dataloader.micro_batch_size=37
for row in '8 8 1' '8 4 2' '8 2 3' '16 1 1' '64 16 2'; do
    set -- $row
    run cut validate $all --set "fit.val_dataloader.batch_size=$1" \
        --set "fit.val_dataloader.micro_batch_size=$2" --num_csx "$3"
    echo "$(metrics whole)#$(metrics cut)" | tr -d '"' | awk -F'#' '
        {
            n = split($1, a, ","); m = split($2, b, ",")
            for (i = 1; i <= n; i++) {
                split(a[i], x, ":"); split(b[i], y, ":")
                if (x[1] != y[1] || x[2] <= 0 || x[2] - y[2] > 1e-5 * x[2] ||
                    y[2] - x[2] > 1e-5 * x[2])
                    exit 1
            }
            exit n != 7 || m != n
        }' || complain "$row: $(metrics cut), one batch: $(metrics whole)"
done
run less validate $all --set fit.val_dataloader.drop_last=true
[ "$(metrics less)" != "$(metrics whole)" ] &&
    [ "$(grep -c 'the evaluation leaves out 5 of 37 samples' "$work/less.err")" = 1 ] ||
    complain "drop_last: true: $(metrics less) $(cat "$work/less.err")"

# Both steps of training and of the validation are compiled beforehand.
run compiled compile $kept --set "backend.compile_dir=$work/other"
[ "$(find "$work/other" -name step.so | wc -l)" = 4 ] ||
    complain "compiled: $(find "$work/other" -name step.so)"

[ "$failed" = 0 ] && echo "all as expected"
exit $failed
