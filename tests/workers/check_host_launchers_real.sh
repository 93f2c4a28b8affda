#!/bin/sh
# Host launchers between hosts of their own (tests/support/hosts.sh): a command gets its input,
# gives its lines and its exit code, and what becomes of it when its leader or its client is killed
# is what the launcher's text says. With a template (exec), by Slurm and by
# mpirun where these are installed; ssh's options are read by the ssh that is installed, and its
# quoted text by a shell on the other host.
set -u
. "${top_srcdir:?}/tests/support/hosts.sh"
. "$top_srcdir/tests/support/slurm.sh"
hosts_enter "$0" "$@"
program=$(cd "${top_builddir:?}" && pwd)/tests/workers/check_host_launchers
failed=0
complain() {
    echo "$*"
    failed=1
}

hosts_make 2
# The tests by a launcher on n2. Of a command whose client is killed they expect that it ends, stays
# and sees the end of its input, or stays unaware.
there() { # launcher, options, what becomes of a command without its client, prefix...
    CSE_TEST_LAUNCHER=$1
    CSE_TEST_OPTIONS=$2
    CSE_TEST_LEFT=$3
    CSE_TEST_HOST=n2
    CSE_TEST_SHARED=$hosts_folder/shared.$1
    export CSE_TEST_LAUNCHER CSE_TEST_OPTIONS CSE_TEST_LEFT CSE_TEST_HOST CSE_TEST_SHARED
    mkdir "$CSE_TEST_SHARED"
    shift 3
    "$@" "$program" || complain "the launcher $CSE_TEST_LAUNCHER failed"
}

# The template's command is in the process group of its client, which is killed as a whole.
there exec "$(hosts_template)" ends
# As by a server on the other side, which knows of the client by its pipes alone.
mkdir "$hosts_folder/apart"
mv "$hosts_folder/shared.exec" "$hosts_folder/apart"
there exec "$hosts_folder/on {host} setsid {command}" stays

# A client of ssh's form, that reaches n2 without a server there.
mkdir "$hosts_folder/bin"
cat >"$hosts_folder/bin/ssh" <<END
#!/bin/sh
while [ "\$1" != -- ]; do shift; done
[ \$# -eq 3 ] || exit 255
exec "$hosts_folder/on" "\$2" setsid sh -c "\$3"
END
chmod 755 "$hosts_folder/bin/ssh"
there ssh '' stays env PATH="$hosts_folder/bin:$PATH"
if command -v ssh >/dev/null; then
    sed -n '/fixed_options\[\] = {/,/};/s/^ *"\(.*\)",$/\1/p' \
        "$top_srcdir/workers/host_launchers/ssh.c" >"$hosts_folder/options"
    # shellcheck disable=SC2046 # one word each
    ssh -G $(cat "$hosts_folder/options") -- n2 >"$hosts_folder/read" ||
        complain 'the installed ssh does not take the options'
    for setting in 'batchmode yes' 'connecttimeout 10' 'serveraliveinterval 5' \
        'serveralivecountmax 3' 'controlmaster false' 'forwardagent no' 'escapechar none'; do
        grep -qix "$setting" "$hosts_folder/read" || complain "ssh does not read: $setting"
    done
else
    echo 'not tested: no ssh'
fi

why=$(slurm_obstacle)
if [ -n "$why" ]; then
    echo "not tested: Slurm is not installed: $why"
else
    slurm_start
    srun -N2 -n2 hostname | sort >"$hosts_folder/names"
    [ "$(tr '\n' ' ' <"$hosts_folder/names")" = 'n1 n2 ' ] || complain 'srun reaches other hosts'
    there slurm '' unaware salloc -Q -N2 --no-kill
fi

if command -v mpirun >/dev/null; then
    printf '#!/bin/sh\nhost=$1\nshift\nexec "%s" "$host" sh -c "$*"\n' "$hosts_folder/on" \
        >"$hosts_folder/agent"
    chmod 755 "$hosts_folder/agent"
    there mpi "--allow-run-as-root --mca plm rsh --mca plm_rsh_agent $hosts_folder/agent \
--mca ras ^slurm --mca oob_tcp_if_include 10.99.0.0/24" ends
else
    echo 'not tested: no mpirun'
fi
exit $failed
