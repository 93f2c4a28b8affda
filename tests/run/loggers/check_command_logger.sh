#!/bin/sh
# CommandLogger in whole runs: the program gets what the CSV file holds, a program that does not
# read or that ends early does not hold up the training, nothing is left behind, and a confined run
# may run no program but one of an allowed folder. ProgressLogger: null prints no steps.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
source=${top_srcdir:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

start() { # NAME ARGUMENTS...
    name=$1
    shift
    timeout 100 "$csengine" start "$source/configs/synthetic.yaml" --no_dashboard \
        --model_dir "$work/$name.d" --set fit.val_dataloader=null "$@" >"$work/$name" \
        2>"$work/$name.errors"
}
command() { echo "loggers=[CSVLogger, {CommandLogger: {program: $1, arguments: [$2]}}]"; }

start reads --set "$(command sh "-c, 'cat >$work/lines; echo done >&2'")" ||
    fail "reads: $(cat "$work/reads.errors")"
grep -q '^done$' "$work/reads.errors" || fail "the program was not waited for"
sed -n 's/{"step":\([0-9]*\),"time_s":\([0-9.]*\),"name":"\(.*\)","value":\(.*\)}/\1,\2,\3,\4/p' \
    "$work/lines" >"$work/as_csv"
tail -n +2 "$work/reads.d/metrics.csv" | cmp -s - "$work/as_csv" ||
    fail "lines: $(cat "$work/lines"), CSV: $(cat "$work/reads.d/metrics.csv")"
[ "$(wc -l <"$work/lines")" = 18 ] || fail "not 3 values of 6 steps: $(cat "$work/lines")"

# A program that reads nothing, and does not end before the last checkpoint stands: values are
# dropped, and the training does not wait for it.
many='--set loop.num_steps=null --max_steps 20000 --log_steps 1'
cat >"$work/waits" <<'END'
tenths=0
while [ ! -e "$1" ] && [ $tenths -lt 600 ]; do
    sleep 0.1
    tenths=$((tenths + 1))
done
echo $tenths >"$2"
END
start sleeps $many \
    --set "$(command sh "$work/waits, $work/sleeps.d/checkpoint_20000.mdl, $work/ended")" ||
    fail "sleeps: $(cat "$work/sleeps.errors")"
grep -q 'sh did not keep up: [0-9]* values were dropped' "$work/sleeps.errors" ||
    fail "nothing was dropped: $(cat "$work/sleeps.errors")"
[ "$(cat "$work/ended")" -lt 600 ] || fail "the training waited for the program"

# A program that ends at once.
start ends $many --set "$(command true '')" || fail "ends: $(cat "$work/ends.errors")"
start gone --max_steps 60 --set loop.num_steps=null --set "$(command true '')" ||
    fail "gone: $(cat "$work/gone.errors")"
grep -q 'true has ended, or closed its standard input; the run goes on without it' \
    "$work/gone.errors" || fail "no warning: $(cat "$work/gone.errors")"
start none --set "$(command "$work/missing" '')" && fail "a program that is missing"
grep -q "CommandLogger: program: $work/missing cannot be run: No such file" "$work/none.errors" ||
    fail "missing: $(cat "$work/none.errors")"

# A confined run.
mkdir "$work/allowed"
printf '#!/bin/sh\nwhile read -r line; do echo "$line"; done\n' >"$work/allowed/program"
chmod +x "$work/allowed/program"
mkdir "$work/confined.d" "$work/allows.d"
start confined --confine --set "$(command /bin/cat '')" && fail "a confined run ran a program"
grep -q 'set loggers:1:39: program: /bin/cat: this job may not run it' "$work/confined.errors" ||
    fail "confined: $(cat "$work/confined.errors")"
start allows --confine --allow_program "$work/allowed" \
    --set "$(command "$work/allowed/program" '')" || fail "allowed: $(cat "$work/allows.errors")"
grep -q '"name":"loss"' "$work/allows.errors" || fail "it did not run: $(cat "$work/allows.errors")"

# No lines of steps.
start silent --set 'loggers=[{ProgressLogger: null}, CSVLogger]' ||
    fail "silent: $(cat "$work/silent.errors")"
grep -q 'Step=' "$work/silent" && fail "lines are printed: $(cat "$work/silent")"
[ "$(grep -c ',loss,' "$work/silent.d/metrics.csv")" = 6 ] || fail "the other logger is off"

[ "$failures" = 0 ] || exit 1
echo "all as expected"
