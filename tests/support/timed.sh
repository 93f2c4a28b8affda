#!/bin/sh
# Runs a test and ends its log with the processor time of it and of the processes it waited for:
# "timed: 3.21 s of processor, 5 s". .ci/run lists the slowest. `make check` calls it
# (LOG_COMPILER). A test that takes longer than CSE_TEST_SECONDS hangs: it is ended with all that it
# started, and fails.
#
# Without CSE_LONG=yes a test that tests/long.txt names is skipped, and says so, unless it was asked
# for by TESTS=...
#
# Usage: timed.sh TEST [ARGUMENT...]
name=tests/${1##*tests/}
case " ${MAKEFLAGS:-} " in *' TESTS='*) CSE_LONG=yes ;; esac
if [ "${CSE_LONG:-yes}" != yes ] && grep -q "^$name " "${top_srcdir:?}/tests/long.txt"; then
    echo "left to .ci/run, or make check LONG=yes (tests/long.txt)"
    exit 77
fi
# Names of hundreds of tests would take what a small stack leaves for arguments, and would be those
# of a make that a test starts.
unset TESTS TEST_LOGS check_PROGRAMS
MAKEFLAGS=${MAKEFLAGS:-}
MAKEFLAGS=${MAKEFLAGS%% -- *}
most_seconds=${CSE_TEST_SECONDS:-900}
begun=$(date +%s)
# In the background, so that an interrupt of this script reaches the test: timeout makes a process
# group of its own.
timeout -k 10 "$most_seconds" "$@" &
test=$!
trap 'kill "$test"' HUP INT TERM
wait "$test"
status=$?
ended=$(date +%s)
[ "$status" -ne 124 ] && [ "$status" -ne 137 ] ||
    echo "timed.sh: ended after $((ended - begun)) s; a test may take $most_seconds s" \
        "(CSE_TEST_SECONDS)"
# The second line of times: user and system time of children, "0m1.230s 0m0.456s". Not in a pipe,
# where it would be that of another shell.
spent=$(mktemp)
times >"$spent"
awk -v elapsed=$((ended - begun)) '
    NR == 2 {
        for (i = 1; i <= 2; i++) {
            split($i, part, "m")
            seconds += part[1] * 60 + part[2]
        }
        printf "timed: %.2f s of processor, %d s\n", seconds, elapsed
    }' "$spent"
rm -f "$spent"
exit $status
