/* The session, one per process: the struct that all files of run/session share.
 *
 * The session owns every handle (handles.h), the step that is traced (traced_step.h) and the state
 * of the execution that runs; it reports what happens to an observer (observer.h). */
#ifndef CSE_RUN_SESSION_SESSION_H
#define CSE_RUN_SESSION_SESSION_H

#include "dataloader/data_open.h"
#include "engine/base/config/config_plugins.h"
#include "engine/base/config/yaml.h"
#include "engine/formats/checkpoint/checkpoint.h"
#include "engine/formats/checkpoint/links.h"
#include "engine/graph/passes/pass.h"
#include "engine/graph/precision/graphamp.h"
#include "engine/graph/precision/numerics.h"
#include "engine/nn/network.h"
#include "run/session/observer.h"
#include "run/session/step_chain.h"
#include "workers/control/control_endpoint.h"

/* Callbacks of who runs the session, set before its first execution; zeroes mean none. */
typedef struct cse_session_hooks {
    void *self;
    /* 0 go on, 1 stop with a checkpoint, 2 stop now, 3 as 1, but the run goes on afterwards. */
    int (*stop_requested)(void *self);
    /* As that of cse_run_callbacks; may be NULL. */
    cse_status (*change_hosts)(void *self, const char *hosts);
    /* The passes have run; may be NULL. */
    void (*on_planned)(void *self, const cse_step *step);
    /* An operator wants a checkpoint while a step without training runs; may be NULL. */
    cse_status (*save)(void *self);
    /* Something that the user is to know; NULL: the log has it alone. */
    void (*warn)(void *self, const cse_error *warning);
    const cse_passes_options *passes;
    /* An execution is about to begin, as `execution` says: waits for the other hosts of the run,
     * and gives what it needs of them, borrowed to its end. NULL: there are none. */
    cse_status (*meet_hosts)(void *self, const cse_execution *execution,
                             const cse_execution_hosts **hosts);
    bool follows; /* another host leads the run, and tells what concerns all */
    /* Where some of the hosts have no data: what those say of the data of `input` who have them, to
     * be freed. NULL: this host has them. */
    cse_status (*ask_data)(void *self, const cse_settings *input, char **description);
    /* Keeps what others may ask for (data_description.h); may be NULL. */
    void (*tell_data)(void *self, const cse_settings *input, const char *description);
    /* Keeps the arena of training for another coordinator, or has that of the one before; may be
     * NULL. */
    struct cse_kept_arena *kept_arena;
} cse_session_hooks;

/* What a job decides of the executions that follow, as values; zeroes mean nothing. */
typedef struct cse_session_plan {
    /* num_steps and num_epochs count from step `run_start` instead of from the execution's first
     * step, so that a resumed run ends where the uninterrupted one would have ended. */
    bool counts_from_start;
    int64_t run_start;
    int64_t run_end; /* where the run ends, decided before; 0: as its limits say */
    /* Each execution of training ends at the next multiple of this many steps; below 1: a fraction
     * of the run; 0: at the end. */
    double segment;
    /* The checkpoint that is loaded is one of this run, which goes on: its training data are
     * wanted, unless other ones are asked for. */
    bool resumes, new_data;
    /* cse_load takes only states whose names begin with one of these words, ended by NULL, and no
     * global step; NULL: everything. */
    const char *const *load_only;
    const char *begins_with; /* as of cse_execution; NULL: any states */
    bool no_step_digests;    /* steps of training are not chained (run/session/step_chain.h) */
    bool takes_averages;     /* cse_load takes averages of weights in place of these */
    /* Data that later executions read: opened once before the first step of training, so that what
     * is wrong with them ends the run there. */
    const cse_config_plugin *later_data;
    int later_count;
    /* That share each pass of cse_inference_run; 0: as many as the process has cores. */
    int inference_threads;
} cse_session_plan;

struct cse_executor {
    cse_executor_options options;
    const cse_settings *input; /* the data loader's */
};

/* What cse_configure made of the configuration: lifetime.c, precision.c. */
typedef struct cse_session_opened {
    cse_cluster_options cluster;
    const char *computes; /* "computes in float32, because ...", for the start of the run */
    bool tells_format;    /* a program's session logs that line itself, with its first execution */
    cse_numerics *numerics;                 /* NULL: no tensor statistics */
    const cse_recompute_request *recompute; /* NULL: none is asked for */
    int64_t memory_limit_bytes;             /* fit_memory.h; 0: none */
    bool refused; /* cse_configure failed: nothing runs, `failure` is told */
} cse_session_opened;

/* Training so far: run.c, and state_dict.c where a checkpoint is loaded. */
typedef struct cse_session_training {
    int64_t global_step, batch_size;
} cse_session_training;

typedef struct cse_kept_pages {
    void *start;
    size_t bytes;
} cse_kept_pages;

/* What checkpoints say, and those that are written: state_dict.c, chain.c, background_save.c. */
typedef struct cse_session_saving {
    const char *canonical_configuration; /* saved in checkpoints; may be NULL */
    const char *effective_settings;      /* a link of the checkpoints' identity; may be NULL */
    /* The record of kernels (kernel_record.h) of the checkpoint that was loaded or, once a training
     * step is compiled, of that step; saved in checkpoints. NULL: none so far. `loaded_path`: of
     * the checkpoint while no step was compiled after it. */
    const char *kernels, *loaded_path;
    /* Of the weights that training began with (engine/formats/weights/weights.h), as JSON; saved in
     * checkpoints. NULL: there are none, or it is not known. */
    const char *origin;
    /* Of the checkpoints that are written, and their text; `latest`: the identity of the one that
     * was loaded or written last, "": none. */
    cse_links links;
    char *links_text;
    struct cse_weights_sources *sources;   /* run/saving/weights_sources.h; NULL: none is open */
    struct cse_weights_link *weights_link; /* run/saving/weights_link.h; NULL: none is due */
    struct {
        char digest[CSE_DIGEST_DIGITS + 1];
        int64_t step;
    } latest;
    char digest[65]; /* of all tensors of the last checkpoint that was written */
    cse_step_chain chain;
    /* The copy of a snapshot's states, while closures read it; what is written meanwhile. NULL:
     * nothing. */
    struct cse_shared_checkpoint *captured;
    struct cse_background_save *background;
    /* Loaded with states in a file: values of states lie in them until they are placed. */
    struct cse_checkpoint **mapped;
    int mapped_count, mapped_capacity;
    /* Memory, and mapped files, in which values of states lie as well. */
    cse_kept_pages *pages;
    int pages_count, pages_capacity;
} cse_session_saving;

/* The execution that runs, or the last one: run.c, loop.c, time_limit.c, compile_step.c. */
typedef struct cse_session_execution {
    struct cse_loop *loop;          /* of the caller, whose execution it is; NULL: none */
    int64_t traces;                 /* steps that were traced so far: outputs are of one of them */
    const cse_dataloader *loader;   /* that it reads; not to be used when it has ended */
    const unsigned char *delivered; /* values of its record that is handed out; NULL: none */
    int64_t delivered_step;         /* steps done after that record */
    int64_t checkpoint_ns;  /* clock of the last checkpoint, or of the first step; 0: none yet */
    bool ending;            /* it was asked to end */
    int64_t started_ns;     /* clock at the session's start, from which job_time_sec counts */
    bool time_is_up;        /* one was asked to end by that limit */
    bool paused;            /* an operator paused the last one when its steps were done */
    bool cancelled;         /* the last one was ended by an operator */
    const cse_step *untold; /* planned, and observers lack its graph: compile_step.c */
    int64_t untold_ns;      /* since when */
    cse_error *outcome;     /* what the last one failed with; NULL: it did not fail */
    cse_control_endpoint *endpoint;      /* of all, where the observer has a directory */
    cse_kept_artefact *artefact;         /* of the step that runs, when its files may be gone */
    int64_t artefact_ns;                 /* when they were last looked at */
    const struct cse_told *told_of_last; /* batch_kinds.c */
} cse_session_execution;

/* The arena of the last training: standing_arena.c. */
typedef struct cse_session_standing {
    struct cse_cluster *cluster; /* NULL: none */
    int found;                   /* 1 + the descriptor of one that was found, 0: none */
    bool looked;
} cse_session_standing;

/* The data that were read: data.c, data_checks.c. */
typedef struct cse_session_data {
    cse_data_identity identity; /* every file that was read so far */
    const char *text;           /* the same as text; NULL: not made yet */
    const char **feature_names; /* of the training data; none where they have no names */
    int64_t feature_count;
    /* Of the checkpoint that was loaded; `path` NULL: it says nothing; `trained`: it says all of
     * training, if that was on no file. `compared`: by role. */
    struct {
        cse_data_identity data;
        const char *path;
        bool trained;
        bool compared[2];
    } loaded;
} cse_session_data;

/* Of a program whose run is recorded: begun by the first execution, ended with the session. NULL:
 * nothing. */
typedef struct cse_session_recording {
    void *self;
    void (*begin)(void *self, cse_session *session);
    void (*end)(void *self, cse_session *session);
    bool begun;
} cse_session_recording;

/* Each part has its writers; all read all of them. */
struct cse_session {
    cse_arena *arena;
    cse_network network;             /* what is declared and traced, in the same arena */
    cse_configuration configuration; /* texts in the arena, defaults filled in */
    cse_session_opened opened;
    cse_session_training training;
    cse_session_saving saving;
    cse_session_execution execution;
    cse_session_standing standing;
    cse_session_data data;
    struct {
        cse_name_index names;
        int count;
    } scalars; /* of cse_log_scalar: scalars.c */
    cse_session_recording recording;
    cse_session_plan plan;
    cse_session_hooks hooks;
    cse_session_observer observer;
    cse_session_report report;
};

/* Calls the callback `event` of each observer of the session that has one. */
#define CSE_SESSION_REPORT(session, event, ...)                                                \
    do {                                                                                       \
        for (const cse_session_observer *to = &(session)->observer; to != NULL; to = to->next) \
            if (to->event != NULL)                                                             \
                to->event(to->self, __VA_ARGS__);                                              \
    } while (0)

/* The open session, or NULL with CSE_USAGE stored ("cse_configure comes first"). */
cse_session *cse_session_open_view(const char *caller);

/* Checked settings (tables: precision_settings.h, recompute_settings.h), each NULL or alive as long
 * as the session. */
typedef struct cse_session_sections {
    const cse_settings *precision, *numerics, *recompute, *states;
    cse_yaml_node *adapters;      /* of the models that are made; NULL: none */
    const cse_settings *freezing; /* with the settings that cse_freezing_new takes */
    int64_t memory_limit_bytes;   /* of all processes; 0: none */
} cse_session_sections;

/* cse_configure with checked settings instead of the texts of those names, which are ignored. */
cse_status cse_session_configure(const cse_configuration *configuration,
                                 const cse_session_sections *sections);

/* Of checked settings (cse_recompute_setting_table; may be NULL), in `arena`. NULL when they ask
 * for nothing. */
const cse_recompute_request *cse_session_recompute_request(cse_arena *arena,
                                                           const cse_settings *settings);
/* Takes the section `precision` into a session that is being opened. */
cse_status cse_session_take_precision(cse_session *session, const cse_settings *settings);
/* Settles what the run computes in, and why, for people; `precision` may be NULL. */
void cse_session_explain_format(cse_session *session, const cse_settings *precision);
/* Logs it, once, for a program. */
void cse_session_tell_format(cse_session *session);

/* The session's persistent states as a checkpoint whose tensors borrow their values. Release the
 * array with free. */
void cse_session_checkpoint(cse_session *session, cse_checkpoint *checkpoint);

/* Pages that values of states are borrowed from belong to the session from now on. */
void cse_session_keep_pages(cse_session *session, void *start, size_t bytes);
/* Closes the checkpoints in which values of states lie, and gives such pages back. */
void cse_session_end_mapped(cse_session *session);

/* Whether states may be saved now; settles what a checkpoint holds. `caller` begins the message. */
cse_status cse_session_may_save(cse_session *session, const char *caller);
/* Writes a checkpoint of this session, and tells of it. */
cse_status cse_session_save(cse_session *session, const cse_checkpoint *checkpoint,
                            const char *path);
/* Whether a state belongs to a part; *rest: its name there. */
bool cse_state_is_of(const cse_state *state, cse_state_part part, const char **rest);
/* As cse_save, with only those states whose names begin with one of the words (ended by NULL). The
 * checkpoints that follow do not follow this one. */
cse_status cse_session_save_only(const char *path, const char *const *states);

/* Opens the data of an executor; every file is compared with what the session read before. */
cse_status cse_session_open_data(cse_session *session, const cse_settings *input,
                                 cse_dataloader **loader);
/* Notes what the files that were opened last are for; compares those of training with the data of
 * the checkpoint that was loaded: a run that is resumed fails with CSE_DATA when they are others,
 * any other use is told. */
cse_status cse_session_settle_data(cse_session *session, bool training);
/* Takes the data of a checkpoint that is loaded from `path`. */
void cse_session_take_data(cse_session *session, const cse_checkpoint *checkpoint,
                           const char *path);
/* The identity of the files as text, in the session's memory. */
const char *cse_session_data_text(cse_session *session);
/* Leaves the names of the classes of training, and the tokenizer that lies beside its data, in
 * model_dir, for those who use the model. */
void cse_session_keep_names(const cse_session *session, const cse_dataloader *loader);
void cse_session_clear_loaded(cse_session *session);
void cse_session_clear_data(cse_session *session);

/* The links of a training step: from the graph that was traced, and from what it was compiled to
 * and is to read. */
void cse_session_take_code(cse_session *session, const char *fingerprint);
void cse_session_take_artefact(cse_session *session, const char *digest);
/* The links of a checkpoint that is written now, valid until the next call; NULL: nothing was
 * trained. */
const char *cse_session_links(cse_session *session);
/* The same without one that is still being computed. */
const char *cse_session_known_links(cse_session *session);
/* A checkpoint that was loaded, or written: the next one follows it. */
void cse_session_go_on_from(cse_session *session, const cse_checkpoint *checkpoint,
                            const char *path);
void cse_session_link_to(cse_session *session, const cse_checkpoint *checkpoint, const char *path);

/* The public cse_configure without a record of the run. */
cse_status cse_session_configure_texts(const cse_configuration *configuration);
/* Before an execution, and before a number is reported. */
void cse_session_begin_record(cse_session *session);
/* Hands a number to the observers, of the step that is handed out or of those done so far. */
void cse_session_report_scalar(cse_session *session, const char *name, double value);

/* time_limit.c: the clock from which job_time_sec counts, of a process before this one; 0: none. */
void cse_session_start_time(cse_session *session, int64_t started_ns);

/* Adds this execution with its labels to run_meta.json; nothing without labels. */
cse_status cse_session_record_job(const cse_session *session);

/* cse_executor_new; `options->input` is not looked at. */
cse_executor *cse_session_executor_new(const cse_executor_options *options,
                                       const cse_settings *input);

#endif
