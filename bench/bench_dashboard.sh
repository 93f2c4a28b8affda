#!/bin/sh
# How quick the pages are, over made-up jobs and over a real run: first paint, a million steps, 48
# layers, from a step's end to the pixel. The tests of the same name, alone, with their limits as
# they are. Wants a machine that has nothing else to do.
set -u
CSE_TIME_LIMITS=strict CSE_SANITIZE=no
export CSE_TIME_LIMITS CSE_SANITIZE
failed=0
for test in check_behaviour check_dashboard; do
    echo "-- $test"
    sh "$top_srcdir/tests/web/$test.sh"
    code=$?
    [ $code -eq 0 ] || [ $code -eq 77 ] || failed=1
done
exit $failed
