#!/bin/sh
# `csengine checkpoint convert`: a file of an earlier csengine is refused with what to do, and the
# converted one has the same digest and goes on as the first. Skipped without python3.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo 'there is no python3: skipped'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

"$csengine" start "${top_srcdir:-.}/configs/synthetic.yaml" --num_steps 3 --no_dashboard \
    --model_dir "$work/run" --compile_dir "$work/compiled" --set trainer.init.step_digests=false \
    >"$work/out" 2>&1 || fail "start: $(cat "$work/out")"
file=$work/run/checkpoint_3.mdl
digest=$("$csengine" checkpoint digest "$file")

# As an earlier csengine wrote it: no facts behind the tensors' lines, and no chain of digests.
"$python" - "$file" "$work/old.mdl" <<'PYTHON'
import hashlib
import sys

data = open(sys.argv[1], "rb").read()
size = int(data[-98 + 16:-98 + 32], 16)
body, lines = data[:-98 - size], data[-98 - size:-98]
lines = lines[:lines.index(b"\n\n") + 1]
places = sorted((int(line.split()[1]), int(line.split()[2])) for line in lines.splitlines())
whole = body + lines + b"csengine-seal 2 %016x " % len(lines)
rest, at = hashlib.blake2b(digest_size=32), 0
for offset, count in places:
    rest.update(whole[at:offset])
    at = offset + count
rest.update(whole[at:])
open(sys.argv[2], "wb").write(whole + rest.hexdigest().encode() + b"\n")
PYTHON

"$csengine" checkpoint info "$work/old.mdl" >"$work/out" 2>&1
code=$?
[ $code -eq 65 ] || fail "info of an earlier file: exit code $code: $(cat "$work/out")"
grep -q 'checkpoint convert' "$work/out" || fail "not told what to do: $(cat "$work/out")"

"$csengine" checkpoint convert "$work/old.mdl" "$work/new.mdl" >"$work/out" 2>&1 ||
    fail "convert: $(cat "$work/out")"
[ "$("$csengine" checkpoint digest "$work/new.mdl")" = "$digest" ] || fail "another digest"
cmp -s "$file" "$work/new.mdl" || fail 'the converted file is another one'
(cd "$work" && "$csengine" checkpoint convert old.mdl here.mdl) >"$work/out" 2>&1 ||
    fail "convert in this folder: $(cat "$work/out")"

expect() { # EXIT_CODE WORDS ARGUMENTS...
    expected=$1
    words=$2
    shift 2
    "$csengine" checkpoint "$@" >"$work/out" 2>&1
    code=$?
    [ "$code" -eq "$expected" ] || fail "$*: exit code $code, not $expected: $(cat "$work/out")"
    grep -q -e "$words" "$work/out" || fail "$*: $(cat "$work/out")"
}
expect 73 'is there already' convert "$work/old.mdl" "$work/new.mdl"
expect 66 'No such file' convert "$work/none.mdl" "$work/other.mdl"
expect 66 'No such file' convert "$work/old.mdl" "$work/none/other.mdl"
expect 64 'takes OLD and NEW' convert "$work/old.mdl"
expect 64 'takes one FILE' info "$work/old.mdl" "$work/new.mdl"
printf 'no checkpoint' >"$work/text"
expect 65 'holds no weights' convert "$work/text" "$work/other.mdl"
[ ! -e "$work/other.mdl" ] || fail 'a file is left'
[ $failures -eq 0 ]
