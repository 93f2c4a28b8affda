/* A run as a batch job of Slurm: submitted, looked at, ended.
 *
 * The job is the batch script of deploy/, which starts the run on the nodes of its allocation, puts
 * itself back into the queue when the run gives way (exit code 75) or lost its hosts (69), and ends
 * with the run's exit code. These calls run Slurm's own commands and wait for them. */
#ifndef CSE_WORKERS_BATCH_SLURM_JOB_H
#define CSE_WORKERS_BATCH_SLURM_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "csengine/status.h"

enum { CSE_SLURM_NUMBER_BYTES = 24, CSE_SLURM_WORDS_BYTES = 112, CSE_SLURM_HOST_BYTES = 128 };

typedef struct cse_slurm_request {
    const char *config, *model_dir; /* absolute, on a file system that the nodes see */
    const char *output;             /* file to which the job's output is appended */
    const char *script;             /* file in which the batch script is left */
    const char *options;            /* of sbatch, checked by cse_slurm_options_add; or NULL */
    const char *const *arguments;   /* of the run, ended by NULL */
} cse_slurm_request;

/* CSE_CONFIG for the options, CSE_UNAVAILABLE when Slurm is not there or refuses the job, with its
 * words. The nodes start the program at the path of this process's own. */
cse_status cse_slurm_submit(const cse_slurm_request *request, char number[CSE_SLURM_NUMBER_BYTES]);

typedef struct cse_slurm_state {
    bool ended, runs;                  /* neither: it waits */
    int exit_code;                     /* once it has ended: as the run's, see docs/operations.md */
    char words[CSE_SLURM_WORDS_BYTES]; /* as Slurm says it: "PENDING (Resources)" */
    char job[CSE_SLURM_NUMBER_BYTES];  /* its number: of an array that of the task; "": unknown */
    char host[CSE_SLURM_HOST_BYTES];   /* of its script, while it runs; "": none */
} cse_slurm_state;

/* CSE_NO_INPUT: Slurm knows no such job, or no longer; CSE_TEMPORARY: it does not answer. */
cse_status cse_slurm_look(const char *number, cse_slurm_state *state);
/* The same, which gives up at a time of cse_clock_ns. */
cse_status cse_slurm_look_until(const char *number, int64_t deadline_ns, cse_slurm_state *state);
/* What `scontrol --oneliner show job` printed, one task a line; false: no job is in it. */
bool cse_slurm_read(const char *printed, cse_slurm_state *state);

/* The number of the job of a run, which whoever submitted it has noted in the run's folder; false:
 * none is noted. */
bool cse_slurm_noted_number(const char *model_dir, char number[CSE_SLURM_NUMBER_BYTES]);

/* Ends it: with the run's last step saved when it runs, or at once. */
cse_status cse_slurm_end(const char *number, bool at_once);

#endif
