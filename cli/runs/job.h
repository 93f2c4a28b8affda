/* Makes a job from a command line: the options that start, eval, compile and bench share, and the
 * job's settings from the configuration. */
#ifndef CSE_CLI_RUNS_JOB_H
#define CSE_CLI_RUNS_JOB_H

#include "cli/arguments/command_line.h"
#include "engine/base/diagnostics.h"
#include "run/job/job.h"

/* Options for the settings that are changed most often; their help is that of the settings. */
#define CSE_JOB_OPTIONS                                                                     \
    { "num_csx", "N", "backend.cluster_config.num_csx", NULL },                             \
        { "num_workers_per_csx", "N", "backend.cluster_config.num_workers_per_csx", NULL }, \
        { "max_wgt_servers", "N", "backend.cluster_config.max_wgt_servers", NULL },         \
        { "job_labels", "[K=V]", "backend.cluster_config.job_labels", NULL },               \
        { "model_dir", "DIR", "model_dir", NULL },                                          \
        { "compile_dir", "DIR", "backend.compile_dir", NULL },                              \
        { "checkpoint_path", "FILE", "fit.ckpt_path", NULL },                               \
        { "new_data", NULL, "checkpoint.new_data", NULL }, { "seed", "N", "seed", NULL },   \
        { "weight_grad_reduce", "TYPE", "precision.weight_grad_reduce", NULL },             \
        { "weight_update", "TYPE", "precision.weight_update", NULL },                       \
        { "tiling_accum", "TYPE", "precision.tiling_accum", NULL },                         \
        { "preset", "NAME", "precision.graphamp.preset", NULL },                            \
    {                                                                                       \
        "set", "PATH=VALUE", NULL, "changes any setting, as in --set loop.num_steps=100"    \
    }

/* Of a run on several hosts. */
#define CSE_HOST_OPTIONS                                                          \
    { "hosts", "HOST,HOST", "backend.cluster_config.hosts", NULL },               \
        { "data_hosts", "HOST,HOST", "backend.cluster_config.data_hosts", NULL }, \
    {                                                                             \
        "host_launcher", "NAME", "backend.cluster_config.host_launcher", NULL     \
    }

/* Of a run that takes steps. */
#define CSE_RUN_OPTIONS                                                        \
    { "job_time_sec", "N", "backend.cluster_config.job_time_sec", NULL },      \
        { "job_priority", "pN", "backend.cluster_config.job_priority", NULL }, \
        { "mount_dirs", "[DIR]", "backend.cluster_config.mount_dirs", NULL },  \
    {                                                                          \
        "python_paths", "[DIR]", "backend.cluster_config.python_paths", NULL   \
    }

#define CSE_LOOP_OPTIONS                                                                           \
    { "max_steps", "N", "loop.max_steps", NULL },                                                  \
        { "num_steps", "N", "loop.num_steps",                                                      \
          "steps of this run, from where it starts; after an interruption, those that are left" }, \
        { "num_epochs", "N", "loop.num_epochs", NULL },                                            \
        { "log_steps", "N", "logging.log_steps", NULL },                                           \
        { "compile_only", NULL, "backend.compile_only", NULL },                                    \
    {                                                                                              \
        "validate_only", NULL, "backend.validate_only", NULL                                       \
    }

/* Adapters that are added to weights. */
#define CSE_ADDED_OPTIONS                         \
    { "adapter", "FOLDER", "fit.adapter", NULL }, \
    {                                             \
        "any_base", NULL, "fit.any_base", NULL    \
    }

#define CSE_EVALUATION_OPTIONS                                         \
    CSE_ADDED_OPTIONS, { "eval_steps", "N", "loop.eval_steps", NULL }, \
        { "log_steps", "N", "logging.log_steps", NULL },               \
        { "compile_only", NULL, "backend.compile_only", NULL },        \
    {                                                                  \
        "validate_only", NULL, "backend.validate_only", NULL           \
    }

/* Of the commands that run a trained model. */
#define CSE_INFERENCE_OPTIONS                                                            \
    CSE_ADDED_OPTIONS, { "checkpoint_path", "FILE", "fit.ckpt_path", NULL },             \
        { "model_dir", "DIR", "model_dir", NULL },                                       \
        { "compile_dir", "DIR", "backend.compile_dir", NULL },                           \
        { "threads", "N", "backend.inference_threads", NULL },                           \
    {                                                                                    \
        "set", "PATH=VALUE", NULL, "changes any setting, as in --set loop.num_steps=100" \
    }

/* What `validate` and `eval` print, which evaluate one checkpoint. */
#define CSE_EVALUATION_OUTPUT_OPTIONS                                                 \
    { "json", NULL, NULL, "prints JSON lines: each logged step and the result" },     \
        { "confusion_csv", "FILE", NULL,                                              \
          "writes the confusion matrices (metric confusion_matrix), a cell a line" }, \
    {                                                                                 \
        "quiet", NULL, NULL, "prints only errors and the result"                      \
    }

/* A job's settings and what they borrow from. */
typedef struct cse_prepared_job {
    cse_config *config;
    cse_diagnostics diagnostics; /* the configuration's errors, if any */
    cse_job_settings settings;
    cse_job_environment environment; /* of these settings */
    cse_arena *arena;
    struct cse_dashboard_child *dashboard; /* started once the run is accepted; NULL: none */
} cse_prepared_job;

/* Loads the configuration that the command line names, with its overrides. Release with
 * cse_job_clear, also after a failure. */
cse_status cse_job_prepare(const cse_command_line *line, cse_job_mode mode, cse_prepared_job *job);
/* The same of the text of a configuration, which the command line's argument is the name of; NULL:
 * of the file. */
cse_status cse_job_prepare_text(const cse_command_line *line, const char *yaml, cse_job_mode mode,
                                cse_prepared_job *job);
void cse_job_clear(cse_prepared_job *job);

/* Reports why cse_job_prepare failed, as cse_report_diagnostics does; with --json to stdout as
 * well, as the job's end. Returns the exit code. */
int cse_job_report(const cse_command_line *line, const cse_prepared_job *job, cse_status status);

/* Runs the job with progress on stdout (JSON lines with --json). Ctrl-C once stops it with a
 * checkpoint, twice at once. Returns the process's exit code. */
int cse_job_run_shown(const cse_command_line *line, cse_prepared_job *job);
/* The same in a child process under a supervisor, this process, which removes processes and shared
 * memory that a killed job leaves. Must be called before any thread exists. */
int cse_job_run_supervised(const cse_command_line *line, cse_prepared_job *job);

/* A whole evaluation, from its configuration to the exit code; the other is of one checkpoint. */
int cse_job_evaluate(const cse_command_line *line, cse_job_mode mode);
int cse_job_evaluate_one(const cse_command_line *line);

#endif
