#!/bin/sh
# A run whose compiled step was damaged in the cache compiles it again, says which file it was, and
# ends with the same weights: for flipped bits over all of step.so and in each other file, and for a
# file that was cut off. Damage while a run goes on reaches no process that has loaded the step; one
# that is started then refuses it, and the run ends with its steps saved and goes on when it is
# started again.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
config=${top_srcdir:-.}/configs/synthetic.yaml

fail()
{
    echo "FAIL: $*"
    failed=1
}

# digest_of NAME: trains a few steps in a folder of its own and prints the digest of the weights.
digest_of()
{
    "$csengine" start "$config" --num_steps 4 --json --compile_dir "$work/compiled" \
        --model_dir "$work/$1" --set fit.val_dataloader=null >"$work/out" 2>"$work/err" ||
        fail "$1: exit code $?: $(cat "$work/err")"
    sed -n 's/.*"weights_digest":"\([0-9a-f]*\)".*/\1/p' "$work/out"
    rm -rf "${work:?}/$1"
}

# flip FILE POSITION: inverts one bit.
flip()
{
    byte=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
    # shellcheck disable=SC2059 # the format is the byte
    printf "\\$(printf '%03o' $((byte ^ (1 << ($2 % 8)))))" |
        dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

# expect_told FILE WHAT: the next run names the file and has the bits of the first.
expect_told()
{
    digest=$(digest_of "$2")
    [ "$digest" = "$first" ] || fail "$2: the weights are $digest, not $first"
    grep -q "$1" "$work/err" || fail "$2: no warning about $1: $(cat "$work/err")"
}

first=$(digest_of whole)
[ -n "$first" ] || { cat "$work/err"; exit 1; }
again=$(digest_of found)
[ "$again" = "$first" ] || fail 'the cached step gives other weights'
grep -q 'compiled step' "$work/err" && fail "a whole entry is told: $(cat "$work/err")"

entry=$(dirname "$(find "$work/compiled" -name step.so)")
size=$(wc -c <"$entry/step.so")
for part in 1 3 5 7 9; do
    flip "$entry/step.so" $((size * part / 10 + part))
    expect_told step.so "bit-$part"
done
for name in manifest step.plan kernels.txt step.c; do
    flip "$entry/$name" $(($(wc -c <"$entry/$name") / 2))
    expect_told "$name" "$name"
done
truncate -s 5000 "$entry/step.so"
expect_told step.so cut-off
[ "$(find "$work/compiled" -mindepth 1 -maxdepth 1 | wc -l)" = 1 ] ||
    fail "left behind: $(ls -A "$work/compiled")"
# long NAME: a longer run.
long()
{
    "$csengine" start "$config" --json --no_dashboard --compile_dir "$work/compiled" \
        --model_dir "$work/$1" --set fit.val_dataloader=null --set loop.num_steps=null \
        --max_steps 20000 >"$work/$1.out" 2>"$work/$1.err"
}
weights() { sed -n 's/.*"event":"end".*"weights_digest":"\([^"]*\)".*/\1/p' "$work/$1.out"; }
replicas() { # below the process PID
    for below in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
        grep -qas -- --role=replica "/proc/$below/cmdline" && echo "$below"
        replicas "$below"
    done
}

long undisturbed || fail "undisturbed: $(cat "$work/undisturbed.err")"
# On a busy machine a run may be over before its replicas are killed: then once more.
for attempt in 1 2 3 4 5 6 7 8; do
    rm -rf "${work:?}/struck" "$work/struck.out"
    long struck &
    process=$!
    tries=0
    until grep -qs '"event":"step"' "$work/struck.out" || [ $tries -ge 1200 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
    truncate -s 5000 "$entry/step.so"
    for number in $(replicas $process); do kill -KILL "$number"; done
    wait $process
    code=$?
    [ $code -eq 0 ] || break
    [ "$(weights struck)" = "$(weights undisturbed)" ] || fail 'struck: other weights'
    echo "attempt $attempt: the run was over before"
done
[ $code -eq 65 ] || fail "struck: exit code $code: $(cat "$work/struck.err")"
grep -q 'step.so: .*are saved' "$work/struck.err" || fail "struck: $(cat "$work/struck.err")"
long struck || fail "struck, started again: $(cat "$work/struck.err")"
grep -q 'warning.*step.so' "$work/struck.err" || fail 'struck, started again: no warning'
[ "$(weights struck)" = "$(weights undisturbed)" ] || fail 'struck, started again: other weights'
exit $failed
