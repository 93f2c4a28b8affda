#!/bin/sh
# Runs a test and ends its log with the processor time of it and of the processes it waited for:
# "timed: 3.21 s of processor, 5 s". .ci/run lists the slowest. `make check` calls it
# (LOG_COMPILER).
#
# Usage: timed.sh TEST [ARGUMENT...]
begun=$(date +%s)
"$@"
status=$?
ended=$(date +%s)
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
