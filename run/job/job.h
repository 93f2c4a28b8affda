/* A whole job, as `csengine start`, `eval` and `compile` run it: from the sections of a
 * configuration to a trained model, its checkpoints and its metrics.
 *
 * Its settings are checked values with their source positions, made by cse_job_settings_read, so
 * that the job does not depend on files, options and their precedence. */
#ifndef CSE_RUN_JOB_JOB_H
#define CSE_RUN_JOB_JOB_H

#include "csengine/train.h"
#include "dataloader/input.h"
#include "engine/base/config/config.h"
#include "engine/code/codegen/codegen.h"
#include "engine/formats/weights/weights.h"
#include "engine/graph/passes/memory_plan.h"
#include "engine/graph/passes/pass.h"
#include "run/job/job_event.h"
#include "workers/control/execution_needs.h"
#include "workers/hosts/host_list.h"

typedef enum cse_job_mode {
    CSE_JOB_TRAIN,        /* fit: training, then validation if there is a val_dataloader */
    CSE_JOB_EVALUATE,     /* validate: validation alone */
    CSE_JOB_COMPILE,      /* compile the training step (and the validation step), execute nothing */
    CSE_JOB_INFER,        /* the model alone (run/infer/loaded_model.h), not for cse_job_run */
    CSE_JOB_EVALUATE_ALL, /* validate_all, to cse_job_settings_read: EVALUATE with validates_all */
} cse_job_mode;

/* backend.cluster_config, as far as it is about hosts. */
typedef struct cse_job_host_settings {
    const cse_host_list *hosts;      /* this one among them; NULL: this host alone, or of_place */
    bool of_place;                   /* "auto": those of the batch job that this process is in */
    const cse_host_list *data_hosts; /* those of them that have the data; NULL: all */
    cse_place hosts_place, data_hosts_place;                       /* of the settings */
    const char *launcher, *launcher_options, *link, *link_options; /* may be NULL */
    bool plain;
    int port; /* 0: any */
    double lease_seconds, return_seconds;
    int min_hosts;
    bool even_shares;
} cse_job_host_settings;

struct cse_host_change;
struct cse_recorder;

/* A moment between two executions in which somebody may look at the model. */
typedef struct cse_job_look {
    cse_model *model;
    struct cse_recorder *recorder;
    int64_t step;   /* steps of training that are done */
    bool validated; /* after a validation; else before the first step */
    const struct cse_validated_samples *samples; /* of its first data loader */
    double seconds;                              /* that the validation took */
} cse_job_look;

typedef struct cse_job_settings {
    cse_job_mode mode;
    cse_configuration session;

    /* Those of `session` as values; may be NULL. */
    const cse_settings *precision, *numerics, *recompute, *states, *loss, *alerts;
    int64_t memory_limit_bytes;        /* 0: none */
    bool averages, evaluates_averages; /* of the weights (ema) */
    double average_decay;
    const cse_settings *samples; /* for the environment's on_look */
    const cse_config_plugin *model;
    const cse_config_plugin *optimizer;
    const cse_config_plugin *objective; /* in place of the model's loss; NULL: none */
    cse_yaml_node *adapters;            /* {NAME: settings} (adapters/adapter.h); NULL: none */
    const char *weights_in_memory;      /* auto, packed or unpacked */
    int inference_threads;              /* of each pass of a trained model; 0: its cores */
    cse_yaml_node *sparsity;            /* as cse_configured_sparsity takes it; NULL: none */
    cse_yaml_node *schedulers;          /* as cse_configured_schedule takes it; NULL: its lr */
    const cse_config_plugin *loggers;   /* [logger_count] */
    const cse_settings *freezing;       /* has freeze and trainable */
    int logger_count;
    const cse_config_plugin *callbacks; /* [callback_count] */
    int callback_count;
    const cse_config_plugin *metrics; /* [metric_count], besides loss and accuracy */
    int metric_count;

    /* Its counts start at the first step of the run when the newest checkpoint is loaded
     * (autoload), and at the checkpoint's step when a checkpoint is named. */
    cse_loop_settings loop;
    bool num_steps_from_here; /* loop.num_steps is the flag's: see cse_job_count_steps */
    int64_t eval_steps;       /* batches of a validation; 0: all */
    double diverged_factor;   /* of the loss of the first steps; 0: no training has diverged */
    /* Training steps between validations; below 1: a fraction of the run; 0: only at the end. */
    double eval_frequency;

    int64_t checkpoint_steps;  /* 0: only after the last step, which is always saved */
    double checkpoint_minutes; /* and when the last one is so old; 0: no */
    int64_t keep;              /* checkpoints of the run that stay; 0: all */
    double replay_budget;      /* and others, as of cse_retention_options; 0: none */
    /* The validation metric of one more, as it was given, and where; NULL: none. */
    const char *keep_best, *keep_best_origin;
    bool best_is_greatest;
    bool no_step_digests; /* run/session/step_chain.h */
    bool no_checkpoints;  /* nothing is saved at all */
    bool save_initial_checkpoint;
    bool autoload_last_checkpoint;
    bool new_data;               /* resume although the training data are others */
    bool begin_anew;             /* at step 0, where no checkpoint is whole */
    const char *begins_with;     /* "STEP DIGEST" of the states; NULL: any */
    const char *checkpoint_path; /* to load; NULL: the newest of model_dir if autoload */
    const char *weights; /* to begin with where no checkpoint is loaded; NULL: initial ones */
    cse_weights_adapters added; /* to the weights that are loaded; count 0: none */
    /* In mode EVALUATE: each checkpoint that one of the patterns matches, by step; no patterns: all
     * of model_dir. */
    bool validates_all;
    const char *const *checkpoints; /* [checkpoint_count] */
    int checkpoint_count;

    cse_job_host_settings host_settings;

    int64_t log_steps;                                          /* 0: every 50 */
    bool no_progress;                                           /* no events of steps */
    const cse_config_plugin *train_dataloader, *val_dataloader; /* val: NULL for none */
    int val_count;                                              /* data loaders of a validation */
    const cse_config *config;            /* to report values that were not read; may be NULL */
    const char *canonical_configuration; /* kept in checkpoints; may be NULL */
    const char *effective_settings;      /* those that can change a bit; may be NULL */
    /* For the run store: the configuration as YAML, and where each value was set, as JSON
     * {"path": "place"}; may be NULL. */
    const char *resolved_configuration, *configuration_origins;
    const char *given_configuration; /* what was given, overrides included, as YAML */
} cse_job_settings;

/* What a job runs in: who watches and steers it, and what it shares with others. Made by who runs
 * it (cse_job_environment_of, job_settings.h) and, where hosts change, changed between two jobs. */
typedef struct cse_job_environment {
    const cse_job_settings *settings;
    bool run_store;                /* training that runs keeps a run store in model_dir */
    bool takes_lead;               /* of a run whose end was decided on another host */
    int64_t started_ns;            /* clock at the start of the run, for its time limit; 0: now */
    struct cse_takeover *takeover; /* shared with the coordinators of the run; may be NULL */

    /* Those of settings->host_settings, or those that they were changed to. */
    const cse_host_list *host_list;
    bool hosts_of_place;
    bool may_lack_hosts;                 /* the run goes on without those that do not come */
    struct cse_job_hosts *hosts;         /* job_hosts.h; NULL: this host alone */
    struct cse_host_change *host_change; /* host_change.h; NULL: they stay */
    struct cse_record_tail *tail;        /* of a host that has followed and leads; may be NULL */

    int64_t progress_interval_ns; /* between two PROGRESS events; 0: none */
    /* All may be NULL. */
    void (*on_event)(void *self, const cse_job_event *event);
    /* Of a training that keeps a run store. It may change no state. */
    void (*on_look)(void *look_self, const cse_job_look *look);
    void *look_self;
    /* Polled: 0 go on, 1 stop with a checkpoint, 2 stop now. */
    int (*stop_requested)(void *self);
    /* Whether a stop is one for a scheduler that needs the place: it ends with CSE_PREEMPTED. */
    bool (*preempted)(void *self);
    void *self;
    const cse_passes_options *passes; /* for `compile --print-after` */
} cse_job_environment;

enum { CSE_JOB_MAX_METRICS = 64 };

/* Of the metric confusion_matrix: counts[label * classes + prediction]. It lives as long as the
 * configuration. */
enum { CSE_JOB_MAX_CONFUSIONS = 8 };
typedef struct cse_job_confusion {
    const char *name;
    int64_t step; /* of training */
    int classes;
    const char *const *names; /* of the classes; NULL: they have numbers alone */
    double *counts;
} cse_job_confusion;

typedef struct cse_job_result {
    bool stopped;        /* before its last step */
    bool hands_on;       /* so that it goes on with other hosts (host_change.h) */
    bool complete;       /* there was no step left to train */
    int64_t steps;       /* global step at the end */
    int64_t steps_run;   /* training steps of this job */
    int64_t samples_run; /* of those steps */
    double train_seconds;
    double samples_per_second; /* of training; of evaluation in mode EVALUATE */
    cse_disk_load disk;        /* of training with states in a file */
    cse_audit_counts audits;   /* of training */
    double compile_seconds;
    bool compile_cached;
    /* "loss" is the evaluation's mean loss; with several data loaders "validate_0/loss". */
    int metric_count;
    struct {
        char name[48];
        double value;
    } metrics[CSE_JOB_MAX_METRICS];
    int confusion_count;
    cse_job_confusion confusions[CSE_JOB_MAX_CONFUSIONS];
    char weights_digest[65];         /* as `csengine checkpoint digest` of the last state */
    char checkpoint_path[4096];      /* last one written or loaded; "" if none */
    bool foreign_weights;            /* it is no checkpoint of ours */
    char artefact_directory[4096];   /* of the training step */
    char kernels[CSE_KERNELS_BYTES]; /* the record of its kernels (kernel_record.h) */
    cse_memory_figures memory;       /* of that step */
    cse_execution_needs needs;       /* of training with its validations; cores 0: none known */
    cse_execution_needs training_needs, validation_needs; /* of one alone; likewise */
    /* Settings without effect, as CSE_JOB_WARNING told them: those that nothing had read when the
     * step was planned; those of val_dataloader once a validation was planned. They live as long as
     * the configuration. */
    cse_yaml_unread *unread;
    int unread_count;
} cse_job_result;

/* Runs the job in a session of its own. Returns the first failure; `result` holds what was reached
 * before it. */
cse_status cse_job_run(const cse_job_environment *environment, cse_job_result *result);

#endif
