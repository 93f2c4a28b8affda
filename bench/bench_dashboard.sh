#!/bin/sh
# Speed of the dashboard's pages with synthetic jobs and with a real run: first paint, a million
# steps, 48 layers, and the time from a step's end to its display. Runs the tests of these pages
# with their own limits; needs an idle machine.
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
