#!/bin/sh
# The parts of a campaign together are the whole, each case once, in scripts and in Python; a value
# of CSE_TEST_PART that is no part is refused.
set -u
. "${top_srcdir:?}/tests/support/part.sh"
python=${PYTHON:-python3}
failed=0
fail() {
    echo "FAIL: $*"
    failed=1
}
whole='a b c d e f g'
words() { tr ' ' '\n' | grep . | sort | tr '\n' ' '; }

# shellcheck disable=SC2086 # lists of words
found=$(for part in 0 1 2; do CSE_TEST_PART=$part part_of 3 letters $whole; done 2>/dev/null |
    words)
[ "$found" = "$whole " ] || fail "the parts are $found"
# shellcheck disable=SC2086
[ "$(CSE_TEST_PART=10 part_of 3 letters $whole 2>/dev/null)" = 'b e ' ] || fail 'part 10 is not 1'
# shellcheck disable=SC2086
[ "$(CSE_TEST_PART=all part_of 3 letters $whole)" = "$whole" ] || fail 'all is not all'
for wrong in x -1 1.5; do
    (CSE_TEST_PART=$wrong part_of 3 letters a) >/dev/null 2>&1 && fail "$wrong is taken"
done
CSE_TEST_PART=4 part_of 3 letters a 2>&1 >/dev/null |
    grep -q 'part 1 of 3 (CSE_TEST_PART=1 repeats' ||
    fail 'what repeats the part is not told'

if command -v "$python" >/dev/null; then
    PYTHONDONTWRITEBYTECODE=1 "$python" - "$top_srcdir/tests/support" <<'CHECK' || failed=1
import contextlib, io, os, sys
sys.path.append(sys.argv[1])
import part

def taken(value):
    os.environ["CSE_TEST_PART"] = value
    with contextlib.redirect_stdout(io.StringIO()) as said:
        found = part.of(iter(range(11)), 4, "numbers")
    return found, said.getvalue()

assert sorted(sum((taken(str(i))[0] for i in range(4)), [])) == list(range(11))
assert taken("7")[0] == taken("3")[0] and "CSE_TEST_PART=3 repeats" in taken("7")[1]
assert taken("all") == (list(range(11)), "")
for wrong in ("x", "-1", "1.5", "\u0663"):
    try:
        taken(wrong)
    except SystemExit:
        continue
    sys.exit(f"FAIL: {wrong!r} is taken")
CHECK
fi
exit $failed
