/* Records a training job in its run store: the recorder observes the session, and the job reports
 * what the session does not know (checkpoint paths, metrics, log lines, how it ended).
 *
 * A job without a store has no recorder: every function accepts NULL and does nothing then. All are
 * called from the job's thread; log lines come from any. */
#ifndef CSE_RUN_RECORD_RECORDER_H
#define CSE_RUN_RECORD_RECORDER_H

#include "run/record/record_tail.h"
#include "run/record/recorder_options.h"
#include "run/session/observer.h"
#include "store/store.h"

typedef struct cse_recorder cse_recorder;

/* Opens the run store of model_dir, which must exist, and sets the run's state to COMPILING. When
 * the disk is full, *recorder becomes NULL with a warning, and training goes on without a store.
 * Fails as cse_store_open does when another run uses model_dir or run.db is no run store. */
cse_status cse_recorder_open(const cse_recorder_options *options, cse_recorder **recorder);

/* How the job ended; a status that is not CSE_OK comes with the stored error message. */
typedef struct cse_recorder_end {
    cse_status status;
    bool stopped;               /* before its last step */
    const char *weights_digest; /* "": unknown */
    bool left_alone;            /* the run's first process was killed: its end is no request */
    const char *hands_on;       /* the run goes on, for this reason; NULL: it has ended */
} cse_recorder_end;
/* Whether model_dir has an earlier attempt at the run. */
bool cse_recorder_goes_on(const cse_recorder *recorder);
void cse_recorder_close(cse_recorder **recorder, const cse_recorder_end *end);

/* The recorder as the session's observer; of NULL one without callbacks. */
cse_session_observer cse_recorder_observer(cse_recorder *recorder);

/* Adds a constant series. Called before the first execution. */
void cse_recorder_constant(cse_recorder *recorder, const char *name, double value);
/* A value of the whole run at a step: "val_loss". */
void cse_recorder_metric(cse_recorder *recorder, const char *name, int64_t step, double value);
/* A validation begins, with the compilation of its step; it lasts until the next step of training,
 * or the end. */
void cse_recorder_validating(cse_recorder *recorder);
/* The training is about to be ended as if its last step had been reached. */
void cse_recorder_end_early(cse_recorder *recorder);
/* A checkpoint is being written. */
void cse_recorder_saving(cse_recorder *recorder, bool saving);
/* The last checkpoint waits for room. */
void cse_recorder_storage(cse_recorder *recorder, bool waits);
/* Keeps a file of JSON, in place of the one of that name. */
void cse_recorder_artefact(cse_recorder *recorder, const char *name, const char *json);
/* Adds a line of progress to the log. */
void cse_recorder_line(cse_recorder *recorder, const char *line);
/* A checkpoint that was written, with the digest of its tensors; times are of cse_clock_ns. */
typedef struct cse_written_checkpoint {
    int64_t step, start_ns, end_ns;
    const char *path, *digest, *identity; /* identity: "", or as in links.h */
} cse_written_checkpoint;
void cse_recorder_checkpoint(cse_recorder *recorder, const cse_written_checkpoint *written);

#endif
