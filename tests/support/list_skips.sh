#!/bin/sh
# Prints "skipped: TEST: REASON" for each test that was skipped, from the results and the logs that
# automake's harness leaves; in the summary of `make check`.
#
# Usage: list_skips.sh TEST.log...
for log; do
    test=${log%.log}
    grep -qE '^:test-result: SKIP' "$test.trs" 2>/dev/null || continue
    reason=$(grep -vE '^(timed: |SKIP )' "$log" | grep . | tail -n 1)
    printf '\nskipped: %s: %s' "$test" "${reason#skipped: }"
done
