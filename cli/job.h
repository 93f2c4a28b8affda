/* From a command line to a job: the options that start, eval, compile and bench share, and the way
 * from a configuration to the job's settings. */
#ifndef CSE_CLI_JOB_H
#define CSE_CLI_JOB_H

#include "cli/command_line.h"
#include "engine/base/diagnostics.h"
#include "engine/base/text.h"
#include "run/job/job.h"

/* Settings that people touch daily, as flags in the references' spelling. */
#define CSE_JOB_OPTIONS                                                                         \
    { "num_csx", "N", "backend.cluster_config.num_csx", "replicas that share each step" },      \
        { "num_workers_per_csx", "N", "backend.cluster_config.num_workers_per_csx",             \
          "input workers for each replica" },                                                   \
        { "max_wgt_servers", "N", "backend.cluster_config.max_wgt_servers",                     \
          "weight servers; 0: the replicas update by themselves" },                             \
        { "job_labels", "[K=V]", "backend.cluster_config.job_labels",                           \
          "key=value words that are recorded with the job" },                                   \
        { "model_dir", "DIR", "model_dir", "checkpoints, logs and compiled steps" },            \
        { "compile_dir", "DIR", "backend.compile_dir", "where compiled steps are kept" },       \
        { "checkpoint_path", "FILE", "fit.ckpt_path", "checkpoint to start from; null: none" }, \
        { "seed", "N", "seed", "seed of everything that is random" },                           \
        { "weight_grad_reduce", "TYPE", "precision.weight_grad_reduce",                         \
          "payload of the gradient reduction: fp32, bf16, bf16sr, fp16 or cb16" },              \
    {                                                                                           \
        "set", "PATH=VALUE", NULL, "changes any setting, as in --set loop.num_steps=100"        \
    }

#define CSE_LOOP_OPTIONS                                                                    \
    { "max_steps", "N", "loop.max_steps", "step at which training ends" },                  \
        { "num_steps", "N", "loop.num_steps", "steps of this run" },                        \
        { "num_epochs", "N", "loop.num_epochs", "passes over the training data" },          \
        { "log_steps", "N", "logging.log_steps", "a line of progress every N steps" },      \
        { "compile_only", NULL, "backend.compile_only", "compile and cache, run nothing" }, \
    {                                                                                       \
        "validate_only", NULL, "backend.validate_only", "check the step, compile nothing"   \
    }

/* A job's settings and what they borrow from. */
typedef struct cse_prepared_job {
    cse_config *config;
    cse_diagnostics diagnostics; /* of the configuration, when that is why it cannot be prepared */
    cse_job_settings settings;
    const char **labels;
    char *grad_scaler;
    char *schedulers;
    cse_text resolved, origins; /* of the configuration, for the run store */
    int64_t batch_size;         /* of train_dataloader, 0 where it is not plain to see */
} cse_prepared_job;

/* Loads the configuration that the command line names, with its overrides. Release with
 * cse_job_clear, also after a failure. */
cse_status cse_job_prepare(const cse_command_line *line, cse_job_mode mode, cse_prepared_job *job);
void cse_job_clear(cse_prepared_job *job);

/* Reports why cse_job_prepare failed, as cse_report_faults does; with --json to stdout as well, as the
 * job's end. Returns the exit code. */
int cse_job_report(const cse_command_line *line, const cse_prepared_job *job, cse_status status);

/* Runs it with progress on stdout (JSON lines with --json), Ctrl-C once stopping with a checkpoint
 * and twice at once. Returns the process's exit code. */
int cse_job_run_shown(const cse_command_line *line, cse_prepared_job *job);
/* The same in a child process, kept by this one: whatever ends the job, nothing is left behind.
 * Before any thread exists. */
int cse_job_run_supervised(const cse_command_line *line, cse_prepared_job *job);

#endif
