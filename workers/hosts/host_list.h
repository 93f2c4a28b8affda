/* Lists of hosts: from a command line, from Slurm, from a file, from the environment of a job.
 *
 * All of them come from outside, and a host's name becomes an argument of ssh or srun. So a name is
 * letters, digits and "._:-", does not begin with "-", and is in the list once; a list has at most
 * CSE_MAX_HOSTS. Parsing is pure; only cse_host_list_read and cse_host_list_own ask this host.
 * `source` names where a text is from in messages ("--hosts"); a place in it is line and column. */
#ifndef CSE_WORKERS_HOSTS_HOST_LIST_H
#define CSE_WORKERS_HOSTS_HOST_LIST_H

#include "csengine/status.h"
#include "workers/links/link.h"

enum {
    CSE_HOST_NAME_BYTES = 254, /* RFC 1035: a name has at most 253 */
    CSE_HOST_LIST_BYTES = 1 << 20,
};

typedef struct cse_host_entry {
    char name[CSE_HOST_NAME_BYTES]; /* or an address, IPv6 without brackets */
    int port;                       /* 0: not given */
    int slots;                      /* 0: not given */
} cse_host_entry;

typedef struct cse_host_list {
    int count;
    cse_host_entry hosts[CSE_MAX_HOSTS];
} cse_host_list;

/* CSE_CONFIG when it is no name of a host. `source`: see above; may be NULL. */
cse_status cse_host_name_check(const char *name, const char *source);

/* "a,b:7000,[fd00::1]:7000,n[1-3,7]": names or addresses, with a port where one is given, and
 * Slurm's brackets. An address with several colons and no brackets has no port. */
cse_status cse_host_list_parse(const char *text, const char *source, cse_host_list *list);
/* The same, behind those that the list has, of a text that stands at `place`. */
cse_status cse_host_list_add(const char *text, cse_place place, cse_host_list *list);

/* The content of a host file: one host a line, with "slots=N" or ":N" (a number of slots) behind
 * it, as mpirun and hydra read them; "#" begins a comment. `repeated_slots`: a host in several
 * lines has their slots together (PBS writes one line for each), else it is refused. */
cse_status cse_host_list_parse_file(const char *text, const char *source, bool repeated_slots,
                                    cse_host_list *list);
/* Reads that file. CSE_NO_INPUT when there is none. */
cse_status cse_host_list_read(const char *path, bool repeated_slots, cse_host_list *list);

/* "n1 4 n2 4": hosts and their slots, as LSF's LSB_MCPU_HOSTS. */
cse_status cse_host_list_parse_pairs(const char *text, const char *source, cse_host_list *list);

/* The hosts of the job that this process runs in, by what `get` (getenv) says: SLURM_JOB_NODELIST,
 * PBS_NODEFILE, LSB_MCPU_HOSTS, or a host file that Open MPI was given
 * (OMPI_MCA_orte_default_hostfile). *source: the variable, NULL when there is none of them, with an
 * empty list. mpirun and PMIx tell a process how many others there are, but not on which hosts. */
cse_status cse_host_list_environment(char *(*get)(const char *name), cse_host_list *list,
                                     const char **source);

/* Number of the host of that name (letters of either case); -1: none. */
int cse_host_list_find(const cse_host_list *list, const char *name);

/* What a host answers to: its full name, and its addresses. */
typedef struct cse_own_names {
    const char *name;
    const char *const *addresses; /* numbers, as inet_ntop writes them; NULL-terminated */
} cse_own_names;

/* Which host of the list this is: of the same name, else of one that differs by its domain alone,
 * else one of its addresses. CSE_CONFIG when there is none, or when several fit equally well. */
cse_status cse_host_list_match(const cse_host_list *list, const cse_own_names *own, int *host);

/* The same for this host, by gethostname and its interfaces' addresses; where nothing fits, the
 * list's names are looked up, which may take as long as the resolver does. */
cse_status cse_host_list_own(const cse_host_list *list, int *host);

/* Folds the numbers of the names: "n[1-3]" becomes n1, n2, n3. Calls `add` for each; it stops at
 * the first that fails. At most CSE_MAX_HOSTS names. */
cse_status cse_host_names_expand(const char *text, const char *source,
                                 cse_status (*add)(void *self, const char *name), void *self);

#endif
