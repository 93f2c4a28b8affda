/* What a job is doing and how far it is, told as events (job.h) for a display: its phase, and
 * between the logged steps the newest step, a few times a second.
 *
 * It observes the session beside the recorder. A committed step costs one comparison of times, and
 * its loss is added to the trend of the training. */
#ifndef CSE_RUN_JOB_JOB_WATCH_H
#define CSE_RUN_JOB_JOB_WATCH_H

#include "run/job/job_event.h"
#include "run/record/loss_trend.h"
#include "run/session/observer.h"

typedef struct cse_job_watch_options {
    void (*on_event)(void *self, const cse_job_event *event); /* may be NULL */
    void *self;
    int64_t interval_ns; /* between two events of steps; 0: none */
    bool validates;      /* the run alternates training and validation */
} cse_job_watch_options;

typedef struct cse_job_watch {
    cse_job_watch_options options;
    const cse_session_report *report;
    const cse_step *step;          /* of the execution; NULL: none is under way */
    cse_session_observer observer; /* this watch's */
    cse_job_phase phase;
    int64_t told_ns, told_step; /* of the last step that was told */
    int64_t unix_ns;            /* Unix time minus the clock of committed_ns */
    int64_t stepped_ns;   /* when the last step of training was committed; 0: others came between */
    int64_t timed_steps;  /* that step_seconds is made of */
    double step_seconds;  /* of training, the mean of the last ones; 0: not known */
    double rate;          /* constant learning rate; NaN: by schedule, or not known */
    cse_loss_trend trend; /* of the training */
    const char *model_dir;
} cse_job_watch;

/* Adds the watch to the observers of the session, which must not change afterwards. */
void cse_job_watch_start(cse_job_watch *watch, const cse_job_watch_options *options,
                         cse_session *session);

/* Tells the phase, if it is another one. */
void cse_job_watch_phase(cse_job_watch *watch, cse_job_phase phase);

/* Fills what an event says of a committed step beside its number, loss and rates. */
void cse_job_watch_describe(const cse_job_watch *watch, const cse_values *values,
                            cse_job_event *event);

#endif
