#!/bin/sh
# What several pages say of one thing is what the code has: the times of the server, who takes a run
# over and from where, exit codes and reasons, the files beside a run store.
set -u
top=${top_srcdir:?}
failed=0

expect() { # file, text
    tr -s ' \n' '  ' <"$top/$1" | grep -qF -e "$2" || { echo "FAIL: $1 lacks \"$2\""; failed=1; }
}
refuse() { # file, text
    tr -s ' \n' '  ' <"$top/$1" | grep -qF -e "$2" && { echo "FAIL: $1 has \"$2\""; failed=1; }
}
number() { # name of an enumerator, file
    sed -n "s/.*\<$1 = \([0-9]*\).*/\1/p" "$top/$2" | head -n 1
}

# The server's times.
headers=$(number HEADER_SECONDS dashboard/http/http.c)
[ -n "$headers" ] || { echo 'FAIL: dashboard/http/http.c has no HEADER_SECONDS'; failed=1; }
expect docs/security.md "Time for headers (\`--client_seconds\`, $headers s by default)"
expect cli/commands/serve.c "twice that for its body and the response; default $headers"
expect man/csengine.1 "twice that for its body and the response; default $headers"
rate=$(sed -n 's/.*requests_per_second; .*0: \([0-9]*\).*/\1/p' "$top/dashboard/http/http.h")
expect docs/security.md "\`--requests_per_second\`, $rate by default"

# A coordinator's successor goes on in the memory of the run.
for page in docs/operations.md docs/troubleshooting.md; do
    expect $page 'in the memory of the run: no step is lost'
    refuse $page 'takes the run over from its newest checkpoint'
done
most=$(number CSE_MOST_TAKEOVERS run/saving/takeover.h)
[ "$most" = 5 ] || { echo "FAIL: $most takeovers"; failed=1; }
expect docs/operations.md 'after five without a further step'
expect docs/troubleshooting.md 'After five without a further step'

# The first steps and the factor of a training that has diverged.
[ "$(number CSE_TREND_STEPS run/record/loss_trend.h)" = 10 ] || { echo 'FAIL: steps'; failed=1; }
expect docs/operations.md 'of the first ten steps'
factor=$(sed -n 's/.*"diverged_factor", CSE_SETTING_NUMBER, "\([0-9]*\)".*/\1/p' \
    "$top/engine/base/config/config_table.c")
expect docs/operations.md "times that, $factor by default"
expect docs/callbacks.md "default $factor; 0: none has"
exit $failed
