#!/bin/sh
# The last checkpoint finds no room: the run waits, says what it needs, and goes on when there is
# room or another place; Ctrl-C ends it with the code of a failure to write. A small disk needs root
# or a user namespace: where neither is allowed the test is skipped.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
config=${top_srcdir:-.}/configs/synthetic.yaml
work=$(mktemp -d)
if [ "${CSE_IN_NAMESPACE:-}" != yes ]; then
    rmdir "$work"
    if unshare -rm true 2>/dev/null; then
        CSE_IN_NAMESPACE=yes exec unshare -rm "$0"
    fi
    CSE_IN_NAMESPACE=yes exec "$0"
fi
disk=$work/disk
process=
mkdir "$disk"
mount -t tmpfs -o size=8m none "$disk" 2>/dev/null && mounted=yes || mounted=no
trap '[ -z "$process" ] || kill -KILL "$process" 2>/dev/null
    [ $mounted = no ] || umount -l "$disk"; rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

model='model={name: fc_mnist, input_size: 16, hidden_sizes: [16384], num_classes: 4}' # 2.7 MB
start() { # NAME ARGUMENTS...: in the background
    name=$1
    shift
    "$csengine" start "$config" --json --no_dashboard --model_dir "$disk/$name" \
        --compile_dir "$work/compiled" --set "$model" --num_steps 6 \
        --set fit.val_dataloader=null "$@" >"$work/$name.out" 2>"$work/$name.err" &
    process=$!
}
fill() { dd if=/dev/zero of="$disk/ballast" bs=64k count=1000 2>/dev/null; }
free() { rm -f "$disk/ballast"; }
digest() { sed -n 's/.*"event":"end".*"weights_digest":"\([^"]*\)".*/\1/p' "$work/$1.out"; }
wait_for() { # up to 60 s
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || return 1
        sleep 0.1
    done
}
waits() { grep -q 'waits for room' "$work/$1.err"; }
ends() { # CODE
    wait $process
    code=$?
    process=
    [ $code -eq "$1" ] || fail "$name: exit code $code, not $1: $(cat "$work/$name.err")"
}

[ $mounted = yes ] || { echo "no small disk: skipped"; exit 77; }

start plain
ends 0
rm -r "$disk/plain"

# A checkpoint in between that finds no room is passed over, with nothing of it left; the next one
# finds some.
dd if=/dev/zero of="$disk/ballast" bs=64k count=104 2>/dev/null
start passed --num_steps 600 --set checkpoint.steps=300
passes() { grep -q 'step 300: .*no space.*goes on without it' "$work/passed.err"; }
wait_for passes || fail "passed: says nothing: $(cat "$work/passed.err")"
free
ends 0
[ ! -e "$disk/passed/checkpoint_300.mdl" ] || fail "passed: there is a file without room"
[ -z "$(find "$disk/passed" -name '*.tmp')" ] || fail "passed: a part of a file is left"
[ -e "$disk/passed/checkpoint_600.mdl" ] || fail "passed: the last checkpoint is missing"
rm -r "$disk/passed"

fill
start waiting
wait_for waits waiting || fail "waiting: does not wait: $(cat "$work/waiting.err")"
grep -q "needs [0-9]* bytes, $disk/waiting has [0-9]* free" "$work/waiting.err" ||
    fail "waiting: does not say what it needs: $(cat "$work/waiting.err")"
kill -0 $process || fail "waiting: ended"
free
ends 0
[ "$(digest waiting)" = "$(digest plain)" ] || fail "waiting: another digest"
"$csengine" checkpoint verify "$disk/waiting/checkpoint_6.mdl" >/dev/null || fail "waiting: no file"
rm -r "$disk/waiting"

# There is room for the run store, but not for the checkpoint.
dd if=/dev/zero of="$disk/ballast" bs=64k count=104 2>/dev/null
start moved
wait_for waits moved || fail "moved: does not wait: $(cat "$work/moved.err")"
mkdir "$work/elsewhere"
to() { "$csengine" checkpoint save "$disk/moved" --to "$1" >"$work/said" 2>&1; }
to "$work/nowhere" && fail "moved: a directory that is not there is accepted"
to /proc # it may be accepted; no file can be written there, and the run waits on
to "$work/elsewhere" || fail "moved: $(cat "$work/said")"
ends 0
[ "$("$csengine" checkpoint digest "$work/elsewhere/checkpoint_6.mdl")" = "$(digest plain)" ] ||
    fail "moved: another digest"
free
rm -rf "$disk/moved"

fill
start given_up
wait_for waits given_up || fail "given_up: does not wait: $(cat "$work/given_up.err")"
kill -INT $process
ends 74
grep -q 'ended before there was room' "$work/given_up.err" ||
    fail "given_up: $(cat "$work/given_up.err")"
[ $failures -eq 0 ]
