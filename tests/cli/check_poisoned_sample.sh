#!/bin/sh
# A poisoned sample in 50,000: the curve of the loss shows the step, `csengine blame` names the
# sample, and a fork without it is the run that never had it, from the start.
set -u
. "${top_srcdir:?}/tests/support/past_runs.sh"
start() { # NAME CONFIGURATION ARGUMENTS...
    name=$1
    configuration=$2
    shift 2
    "$csengine" start "$source/configs/$configuration" --quiet --no_dashboard \
        --model_dir "$name" --compile_dir compiled --set loop.num_steps=null \
        --set fit.val_dataloader=null "$@" >"$name.out" 2>&1 ||
        fail "$name: exit code $?: $(cat "$name.out")"
}

python3 - <<'END' >table.csv
print("a,b,label")
for i in range(50000):
    a, b = (i * 37 % 101) / 50 - 1, (i * 53 % 97) / 48 - 1
    label = int(a + b > 0)
    print(f"{400 if i == 31415 else a},{400 if i == 31415 else b},{0 if i == 31415 else label}")
END
poisoned() { # NAME ARGUMENTS...
    name=$1
    shift
    start "$name" synthetic.yaml --max_steps 100 --num_csx 2 --set model.input_size=2 \
        --set model.num_classes=2 --set "model.hidden_sizes=[8]" --set checkpoint.steps=25 \
        --set "optimizer={SGD: {lr: 0.1, momentum: 0}}" --set logging.log_steps=1 \
        --set "schedulers=[]" --set "fit.train_dataloader={data_processor: csv, path: table.csv, \
label: label, batch_size: 500, micro_batch_size: 50, shuffle: true}" "$@"
}
poisoned all
step=$("$csengine" sql all --format csv "SELECT step FROM points JOIN series ON points.series = \
series.id WHERE name = 'loss' ORDER BY value DESC LIMIT 1" 2>err | tail -1)
"$csengine" blame all --step "${step:-0}" --gradients --samples 5 --json >all.json 2>err ||
    fail "step '$step': $(cat err)"
python3 -c "import json
first, second = json.load(open('all.json'))['samples'][:2]
assert first['sample'] == 31415 and first['gradient_norm'] > 10 * second['gradient_norm']" ||
    fail "step $step: not the poisoned sample: $(cat all.json)"
expect 0 "^step $step of all is the first that used one of the samples: 31415" fork all \
    --without 31415 --model_dir cleaned --no_dashboard
poisoned begun --set "train_dataloader.without=[31415]"
expect 0 'equal: the digests of all 100 steps' bisect cleaned begun
expect 1 "^step $step is the first that differs: other samples" bisect all cleaned

[ -z "$(ls "$TMPDIR")" ] || fail "replays left $(ls "$TMPDIR")"
[ "$failures" -eq 0 ] && echo 'all as expected'
exit $((failures > 0))
