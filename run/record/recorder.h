/* What a job leaves in its run store: one function for each thing that happens.
 *
 * A job without a store has no recorder; every function accepts NULL and does nothing then. All are
 * called from the job's thread, except that log lines come from any. */
#ifndef CSE_RUN_RECORD_RECORDER_H
#define CSE_RUN_RECORD_RECORDER_H

#include "run/job/job.h"
#include "run/session/session.h"

typedef struct cse_recorder cse_recorder;

/* Named values of a training step that become series. Those beyond are left out; a log line says
 * so, and the key dropped_series of the run store how many. */
enum { CSE_RECORDER_MOST_SERIES = 256 };

/* Opens the run store of the session's model_dir, which must exist, and says what is run; the state
 * is COMPILING then. A disk that is full is no reason to fail: *recorder is NULL then, and a line
 * says so. Fails as cse_store_open does when another run holds model_dir, or run.db is something
 * else. */
cse_status cse_recorder_open(cse_session *session, const cse_job_settings *settings,
                             cse_recorder **recorder);
/* Says how the job ended: `status` with its message. */
void cse_recorder_close(cse_recorder **recorder, cse_status status, const cse_job_result *result);

/* Directory for the sockets of executions, or NULL. */
const char *cse_recorder_directory(const cse_recorder *recorder);
struct cse_store;
/* The store itself, for those who report more; NULL without a recorder. */
struct cse_store *cse_recorder_store(cse_recorder *recorder);

/* A value that no training step changes, for the curves. */
void cse_recorder_constant(cse_recorder *recorder, const char *name, double value);
/* An execution of `step` begins; the values it fetches become series. */
void cse_recorder_begin(cse_recorder *recorder, const cse_step *step);
/* A step of it was committed. */
void cse_recorder_step(cse_recorder *recorder, const cse_record *record);
/* A closure was called for the record. */
void cse_recorder_closure(cse_recorder *recorder, const cse_step_closure_entry *entry,
                          const cse_record *record, int64_t called_ns);
void cse_recorder_phase(cse_recorder *recorder, cse_phase phase, const char *message);
void cse_recorder_endpoint(cse_recorder *recorder, const char *endpoint);
void cse_recorder_scale(cse_recorder *recorder, int num_csx);

void cse_recorder_topology(cse_recorder *recorder, const char *json);
void cse_recorder_spans(cse_recorder *recorder, const cse_process_span *spans, int count);
void cse_recorder_kernels(cse_recorder *recorder, const cse_kernel_time *times, int count);

void cse_recorder_graph(cse_recorder *recorder, const char *step_name, const cse_graph *graph);
void cse_recorder_compiled(cse_recorder *recorder);
void cse_recorder_checkpoint(cse_recorder *recorder, int64_t step, const char *path,
                             int64_t write_ns);
/* A value of the whole run at a step: "val_loss". */
void cse_recorder_metric(cse_recorder *recorder, const char *name, int64_t step, double value);
/* A line that people are shown. */
void cse_recorder_line(cse_recorder *recorder, const char *line);

#endif
