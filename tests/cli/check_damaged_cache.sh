#!/bin/sh
# A run whose compiled step was damaged in the cache compiles it again, says which file it was, and
# ends with the same weights: for flipped bits over all of step.so and in each other file, and for a
# file that was cut off.
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
exit $failed
