/* What a job tells those who follow it. */
#include "engine/base/error.h"
#include "run/job/job_parts.h"
#include "run/record/recorder.h"

void cse_job_emit(const cse_job *j, const cse_job_event *event)
{
    if (j->environment->on_event != NULL)
        j->environment->on_event(j->environment->self, event);
}

void cse_job_emit_text(const cse_job *j, int kind, int64_t step, const char *text)
{
    char printable[PATH_MAX + 64], line[PATH_MAX + 96];
    cse_text_printable(text, printable, sizeof printable); /* it holds a path */
    cse_job_event event = { .step = step, .text = printable };
    event.kind = kind == CSE_JOB_CHECKPOINT ? CSE_JOB_CHECKPOINT : CSE_JOB_LOG;
    cse_job_emit(j, &event);
    snprintf(line, sizeof line, "%s%s", kind == CSE_JOB_CHECKPOINT ? "saved checkpoint " : "",
             printable);
    cse_recorder_line(j->recorder, line);
}

/* Logs a warning, which the run store keeps as well. */
void cse_job_warn(const cse_job *j, const cse_error *warning)
{
    char text[4096];
    cse_job_event event = { .step = cse_global_step(), .text = text, .warning = warning };
    event.kind = CSE_JOB_WARNING;
    cse_error_print(warning, text, sizeof text);
    cse_log_line(CSE_LOG_WARNING, "%s", text);
    cse_job_emit(j, &event);
}

bool cse_job_executes(const cse_job *j)
{
    const cse_job_settings *s = j->settings;
    return s->mode != CSE_JOB_COMPILE && !s->session.compile_only && !s->session.validate_only;
}
