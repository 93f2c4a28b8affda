#!/bin/sh
# Prints what Slurm makes of lists of nodes, for tests/workers/check_host_list: one line a list,
# with the names behind a colon. Wants scontrol of slurm-client (22.05):
#
#     tests/reference/slurm_hostnames.sh >tests/reference/slurm_hostnames.txt
set -eu
SLURM_CONF=$(mktemp)
export SLURM_CONF
trap 'rm -f "$SLURM_CONF"' EXIT
printf 'ClusterName=x\nSlurmctldHost=localhost\nNodeName=n1\n' >"$SLURM_CONF"
while read -r nodes; do
    echo "$nodes: $(scontrol show hostnames "$nodes" | tr '\n' ' ' | sed 's/ $//')"
done <<'LISTS'
n1
n[1-3,7],gpu[01-04]
rack[0-1]_blade[8-11]
lx[15,18,32-33]
dragon[001,003-004],tux7
n[08-11]
n[098-101]
n[9-10]
n[1,01]
n[3,1-2]
n[1-02]
n[1-64]
LISTS
