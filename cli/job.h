/* From a command line to a job: the options that start, eval, compile and bench share, and the way
 * from a configuration to the job's settings. */
#ifndef CSE_CLI_JOB_H
#define CSE_CLI_JOB_H

#include "cli/command_line.h"
#include "engine/base/diagnostics.h"
#include "run/job/job.h"

/* Settings that people touch daily, as flags in the references' spelling. Their help is that of the
 * settings. */
#define CSE_JOB_OPTIONS                                                                      \
    { "num_csx", "N", "backend.cluster_config.num_csx", NULL },                              \
        { "num_workers_per_csx", "N", "backend.cluster_config.num_workers_per_csx", NULL },  \
        { "max_wgt_servers", "N", "backend.cluster_config.max_wgt_servers", NULL },          \
        { "job_labels", "[K=V]", "backend.cluster_config.job_labels", NULL },                \
        { "model_dir", "DIR", "model_dir", NULL },                                           \
        { "compile_dir", "DIR", "backend.compile_dir", NULL },                               \
        { "checkpoint_path", "FILE", "fit.ckpt_path", NULL }, { "seed", "N", "seed", NULL }, \
        { "weight_grad_reduce", "TYPE", "precision.weight_grad_reduce", NULL },              \
    {                                                                                        \
        "set", "PATH=VALUE", NULL, "changes any setting, as in --set loop.num_steps=100"     \
    }

#define CSE_LOOP_OPTIONS                                                                        \
    { "max_steps", "N", "loop.max_steps", NULL }, { "num_steps", "N", "loop.num_steps", NULL }, \
        { "num_epochs", "N", "loop.num_epochs", NULL },                                         \
        { "log_steps", "N", "logging.log_steps", NULL },                                        \
        { "compile_only", NULL, "backend.compile_only", NULL },                                 \
    {                                                                                           \
        "validate_only", NULL, "backend.validate_only", NULL                                    \
    }

/* A job's settings and what they borrow from. */
typedef struct cse_prepared_job {
    cse_config *config;
    cse_diagnostics diagnostics; /* of the configuration, when that is why it cannot be prepared */
    cse_job_settings settings;
    cse_arena *arena;
    int64_t batch_size; /* of train_dataloader, 0 where it is not plain to see */
} cse_prepared_job;

/* Loads the configuration that the command line names, with its overrides. Release with
 * cse_job_clear, also after a failure. */
cse_status cse_job_prepare(const cse_command_line *line, cse_job_mode mode, cse_prepared_job *job);
void cse_job_clear(cse_prepared_job *job);

/* Reports why cse_job_prepare failed, as cse_report_diagnostics does; with --json to stdout as
 * well, as the job's end. Returns the exit code. */
int cse_job_report(const cse_command_line *line, const cse_prepared_job *job, cse_status status);

/* Runs it with progress on stdout (JSON lines with --json), Ctrl-C once stopping with a checkpoint
 * and twice at once. Returns the process's exit code. */
int cse_job_run_shown(const cse_command_line *line, cse_prepared_job *job);
/* The same in a child process, kept by this one: whatever ends the job, nothing is left behind.
 * Before any thread exists. */
int cse_job_run_supervised(const cse_command_line *line, cse_prepared_job *job);

#endif
