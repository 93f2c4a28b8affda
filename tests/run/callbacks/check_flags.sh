#!/bin/sh
# The flags of GlobalFlags, ScopedTrainFlags and ScopedValidateFlags are the settings that they
# stand for, a scoped one before the global one; and the flags of the command line that set
# precision are those settings, too.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
config=${top_srcdir:-.}/configs/synthetic.yaml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

# The configuration without sizes of microbatches.
sed '/micro_batch_size/d' "$config" >"$work/plain.yaml"
run() { # NAME ARGUMENTS...
    name=$1
    shift
    timeout 100 "$csengine" start "$work/plain.yaml" --json --no_dashboard --num_steps 8 \
        --model_dir "$work/$name.d" --compile_dir "$work/compiled" "$@" >"$work/$name" \
        2>"$work/$name.errors"
}
digest() { sed -n 's/.*"weights_digest":"\([0-9a-f]*\)".*/\1/p' "$work/$1"; }
metrics() { sed -n 's/.*"event":"end".*"metrics":\({[^}]*}\).*/\1/p' "$work/$1"; }
same() { # WHAT FLAGS SETTING...: both runs end the same
    what=$1
    flags=$2
    shift 2
    rm -rf "$work/flags.d" "$work/settings.d"
    run flags --set "callbacks=$flags" || fail "$what: $(cat "$work/flags.errors")"
    run settings "$@" || fail "$what, settings: $(cat "$work/settings.errors")"
    [ -n "$(digest flags)" ] && [ "$(digest flags)" = "$(digest settings)" ] &&
        [ "$(metrics flags)" = "$(metrics settings)" ] || fail "$what: another result"
}

run none || fail "none: $(cat "$work/none.errors")"
same 'a scoped size' '[{ScopedTrainFlags: {csx.performance.micro_batch_size: 8}}]' \
    --set fit.train_dataloader.micro_batch_size=8
[ "$(digest flags)" != "$(digest none)" ] || fail "the size of microbatches changes no bit"
same 'a global size, and a scoped one' '[{GlobalFlags: {csx.performance.micro_batch_size: 32}},
    {ScopedTrainFlags: {csx.performance.micro_batch_size: 16}}]' \
    --set fit.train_dataloader.micro_batch_size=16 --set fit.val_dataloader.micro_batch_size=32
same 'a word' '[{ScopedValidateFlags: {csx.performance.micro_batch_size: auto}}]'
run wrong --set 'callbacks=[{GlobalFlags: {csx.performance.micro_batch_size: 8}}]' \
    --set fit.train_dataloader.micro_batch_size=16 && fail "two sizes are accepted"
grep -q 'set callbacks:1:.*flag of a callback is 8, and micro_batch_size .*give one' \
    "$work/wrong.errors" || fail "$(cat "$work/wrong.errors")"
run wrong --set 'callbacks=[{GlobalFlags: {csx.performance.micro_batch: 8}}]' &&
    fail "an unknown flag is accepted"
grep -q 'did you mean "csx.performance.micro_batch_size"' "$work/wrong.errors" ||
    fail "$(cat "$work/wrong.errors")"

# Precision: what the step is compiled to says it.
report() { # ARGUMENTS...
    timeout 100 "$csengine" compile "$config" --model_dir "$work/report" --print_precision \
        --set precision.fp16_type=bfloat16 --set precision.emulate_accumulation=true \
        --set precision.tile_length=4 "$@" 2>"$work/report.errors" ||
        fail "report: $(cat "$work/report.errors")"
}
[ "$(report --set 'callbacks=[{GlobalFlags: {csx.precision.optimization_level: 0}}]')" = \
    "$(report --set precision.precision_opt_level=0)" ] || fail "the level"
[ "$(report --set precision.precision_opt_level=0)" != "$(report)" ] || fail "level 0 is level 1"
[ "$(report --tiling-accum bf16 --preset mp3)" = \
    "$(report --set precision.tiling_accum=bf16 --set precision.graphamp.preset=mp3)" ] ||
    fail "--tiling-accum and --preset"
[ "$(report --tiling-accum bf16)" != "$(report --tiling-accum fp32)" ] || fail "--tiling-accum"
[ "$(report --preset mp3)" != "$(report --preset mp1)" ] || fail "--preset"
run wrong --tiling-accum fp61 --set precision.fp16_type=bfloat16 && fail "a wrong format"
grep -q 'tiling_accum: "fp61"' "$work/wrong.errors" || fail "$(cat "$work/wrong.errors")"

[ "$failures" = 0 ] || exit 1
echo "all as expected"
