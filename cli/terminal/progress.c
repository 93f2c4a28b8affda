/* Progress output. The rate is smoothed as the Trainer's: 0.6 times the current rate plus 0.4 times
 * the smoothed rate before it. The live line's rate has a time constant instead, because its
 * intervals are short. */
#include "cli/terminal/progress.h"

#include <math.h>
#include <string.h>

#include "cli/terminal/confusion.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "run/job/job_confusion.h"

static const double rate_seconds = 2; /* time constant of the live line's rate */

const char *cse_duration_text(double seconds, char *text, size_t size)
{
    if (!(seconds >= 0) || seconds > 1e9)
        seconds = seconds > 0 ? 1e9 : 0;
    long whole = lround(seconds);
    snprintf(text, size, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
    return text;
}

static void print_json(cse_progress *progress, json_t *object)
{
    json_dumpf(object, progress->out, JSON_COMPACT);
    fputc('\n', progress->out);
    fflush(progress->out);
    json_decref(object);
}

/* ---- a logged step ---- */

static void print_step_json(cse_progress *progress, const cse_job_event *event)
{
    uint32_t bits;
    memcpy(&bits, &event->loss, sizeof bits);
    char digits[9];
    snprintf(digits, sizeof digits, "%08x", (unsigned)bits);
    bool training = event->kind == CSE_JOB_STEP;
    json_t *object = json_object();
    json_object_set_new(object, "event", json_string(training ? "step" : "eval_step"));
    json_object_set_new(object, "step", json_integer(event->step));
    json_object_set_new(object, "loss", cse_json_finite((double)event->loss));
    json_object_set_new(object, "loss_bits", json_string(digits));
    if (training) {
        bool known = event->last_epoch > 0;
        json_object_set_new(object, "epoch", known ? json_real(event->epoch) : json_null());
        json_object_set_new(object, "learning_rate", cse_json_finite(event->learning_rate));
    }
    json_object_set_new(object, "samples_per_second", cse_json_finite(event->samples_per_second));
    json_object_set_new(object, "time_ms", json_integer(event->time_ms));
    print_json(progress, object);
}

static double seconds_to(const cse_job_event *event, int64_t step, double samples_per_second)
{
    if (event->batch_size <= 0 || !(samples_per_second > 0))
        return (double)NAN;
    return (double)(step - event->step) * (double)event->batch_size / samples_per_second;
}

/* The words of the reference's Trainer. Its ">" means: more loops, of a length not known, come in
 * addition. */
static void print_step_text(cse_progress *progress, const cse_job_event *event)
{
    char loop_text[32], run_text[32], rest[96] = "";
    bool training = event->kind == CSE_JOB_STEP;
    const double rate = event->global_samples_per_second;
    const double loop = seconds_to(event, event->loop_last_step, rate);
    const double run = seconds_to(event, event->last_step, rate);
    if (isfinite(loop))
        snprintf(rest, sizeof rest, ", LoopTimeRemaining=%s, TimeRemaining%s%s",
                 cse_duration_text(loop, loop_text, sizeof loop_text),
                 event->more_loops ? ">" : "=", cse_duration_text(run, run_text, sizeof run_text));
    fprintf(progress->out,
            "| %s Device=CPU, %s=%lld, Loss=%.5f, Rate=%.2f samples/sec, "
            "GlobalRate=%.2f samples/sec%s\n",
            training ? "Train" : "Eval", training ? "Step" : "Batch", (long long)event->step,
            (double)event->loss, progress->rate, rate, rest);
}

static void print_step_line(cse_progress *progress, const cse_job_event *event)
{
    char text[CSE_PROGRESS_LINE_BYTES];
    bool training = event->kind == CSE_JOB_STEP;
    const cse_progress_state state = {
        .phase = training ? CSE_JOB_TRAINING : CSE_JOB_VALIDATING,
        .has_step = true,
        .step = event->step,
        .last_step = event->last_step,
        .epoch = event->epoch,
        .last_epoch = event->last_epoch,
        .loss = (double)event->loss,
        .has_loss = true,
        .learning_rate = event->learning_rate,
        .samples_per_second = progress->rate,
        .seconds_left = (double)NAN,
    };
    cse_progress_line(
        &state, (cse_progress_format){ .width = cse_terminal_width(fileno(progress->out)) }, text);
    cse_print_to(progress->out, "%s\n", text);
}

static void show_step(cse_progress *progress, const cse_job_event *event)
{
    double current = event->samples_per_second;
    progress->rate = progress->has_rate ? 0.6 * current + 0.4 * progress->rate : current;
    progress->has_rate = event->step < event->last_step;
    if (progress->quiet)
        return;
    if (progress->json)
        print_step_json(progress, event);
    else if (progress->terminal)
        print_step_line(progress, event);
    else
        print_step_text(progress, event);
    fflush(progress->out);
}

/* ---- the live line ---- */

static void draw_state(void *self, int width, char *text)
{
    cse_progress *progress = self;
    cse_progress_state state = progress->state;
    state.phase_seconds = (double)(cse_clock_ns() - progress->phase_ns) / 1e9;
    cse_progress_line(
        &state, (cse_progress_format){ .width = width, .colour = cse_may_colour(1), .live = true },
        text);
}

/* What the line says of a step, beside the rate. */
static void keep_step(cse_progress *progress, const cse_job_event *event)
{
    cse_progress_state *s = &progress->state;
    progress->training = event->training;
    s->has_step = s->has_loss = true;
    s->step = event->step;
    s->last_step = event->last_step;
    s->epoch = event->epoch;
    s->last_epoch = event->last_epoch;
    s->loss = (double)event->loss;
    s->learning_rate = event->learning_rate;
    s->seconds_left = seconds_to(event, event->last_step, s->samples_per_second);
}

static void take_step(cse_progress *progress, const cse_job_event *event)
{
    cse_progress_state *s = &progress->state;
    const double current = event->samples_per_second;
    if (!s->has_step || progress->training != event->training)
        s->samples_per_second = 0;
    if (current > 0 && s->samples_per_second > 0) {
        const double steps = (double)(event->step - s->step);
        const double seconds = steps * (double)event->batch_size / current;
        const double kept = exp(-seconds / rate_seconds);
        s->samples_per_second = kept * s->samples_per_second + (1 - kept) * current;
    } else if (current > 0) {
        s->samples_per_second = current;
    }
    keep_step(progress, event);
}

/* A phase without steps of its own (saving, a recovery, a pause) goes on showing the last one. */
static void take_phase(cse_progress *progress, cse_job_phase phase)
{
    cse_progress_state *s = &progress->state;
    if (phase == CSE_JOB_PREPARING || phase == CSE_JOB_COMPILING || phase == CSE_JOB_STARTING)
        s->has_step = false;
    if ((phase == CSE_JOB_TRAINING || phase == CSE_JOB_VALIDATING) &&
        progress->training != (phase == CSE_JOB_TRAINING))
        s->has_step = false;
    s->phase = phase;
    progress->phase_ns = cse_clock_ns();
}

void cse_progress_start(cse_progress *progress)
{
    if (!progress->terminal || progress->json || progress->quiet)
        return;
    progress->state = (cse_progress_state){ .phase = CSE_JOB_PREPARING };
    progress->phase_ns = cse_clock_ns();
    progress->line = cse_live_line_open(
        &(cse_live_line_options){ .out = progress->out, .draw = draw_state, .self = progress });
}

/* ---- events ---- */

static void show_text(cse_progress *progress, const cse_job_event *event)
{
    bool saved = event->kind == CSE_JOB_CHECKPOINT;
    if (progress->quiet)
        return;
    if (progress->json)
        cse_print_to(stderr, "%s%s\n", saved ? "saved checkpoint " : "", event->text);
    else
        cse_print_to(progress->out, "%s%s\n", saved ? "Saved checkpoint " : "", event->text);
    fflush(progress->out);
}

/* The fields of the Diagnostic that the API shows. */
static void show_warning(cse_progress *progress, const cse_job_event *event)
{
    if (!progress->json)
        return; /* the log has printed it */
    json_t *object = json_pack("{s:s}", "event", "warning");
    json_t *fields = cse_error_json(event->warning);
    json_object_update(object, fields);
    json_decref(fields);
    print_json(progress, object);
}

static void show_complete(cse_progress *progress, const cse_job_event *event)
{
    if (progress->json)
        print_json(progress, json_pack("{s:s, s:I, s:I, s:s}", "event", "complete", "step",
                                       (json_int_t)event->step, "last_step",
                                       (json_int_t)event->last_step, "message", event->text));
    else
        cse_print_to(progress->out, "%s\n", event->text);
    fflush(progress->out);
}

static json_t *metrics_json(const cse_job_result *result)
{
    json_t *metrics = json_object();
    for (int i = 0; i < result->metric_count; i++)
        json_object_set_new(metrics, result->metrics[i].name,
                            cse_json_finite(result->metrics[i].value));
    return metrics;
}

static json_t *confusions_json(const cse_job_result *result)
{
    json_t *list = json_array();
    for (int i = 0; i < result->confusion_count; i++)
        json_array_append_new(list, cse_job_confusion_json(&result->confusions[i]));
    return list;
}

/* The metrics of one of several checkpoints. */
static void show_validated(cse_progress *progress, const cse_job_event *event)
{
    const cse_job_result *result = event->result;
    if (progress->json) {
        print_json(progress, json_pack("{s:s, s:I, s:s, s:o}", "event", "validated", "step",
                                       (json_int_t)event->step, "checkpoint", event->text,
                                       "metrics", metrics_json(result)));
        return;
    }
    fprintf(progress->out, "| Validated Device=CPU, GlobalStep=%lld", (long long)event->step);
    for (int i = 0; i < result->metric_count; i++)
        cse_print_to(progress->out, ", %s=%.5f", result->metrics[i].name, result->metrics[i].value);
    cse_print_to(progress->out, ", Checkpoint=%s\n", event->text);
    fflush(progress->out);
}

void cse_progress_event(cse_progress *progress, const cse_job_event *event)
{
    switch (event->kind) {
    case CSE_JOB_STEP:
    case CSE_JOB_EVAL_STEP:
        cse_live_line_lock(progress->line);
        show_step(progress, event);
        if (progress->line != NULL && progress->state.has_step)
            keep_step(progress, event);
        cse_live_line_unlock(progress->line);
        break;
    case CSE_JOB_LOG:
    case CSE_JOB_CHECKPOINT:
        cse_live_line_lock(progress->line);
        show_text(progress, event);
        cse_live_line_unlock(progress->line);
        break;
    case CSE_JOB_PHASE:
        cse_live_line_begin_change(progress->line);
        take_phase(progress, event->phase);
        cse_live_line_end_change(progress->line);
        break;
    case CSE_JOB_PROGRESS:
        cse_live_line_begin_change(progress->line);
        take_step(progress, event);
        cse_live_line_end_change(progress->line);
        break;
    case CSE_JOB_WARNING:
        show_warning(progress, event);
        break;
    case CSE_JOB_COMPLETE:
        cse_live_line_lock(progress->line);
        show_complete(progress, event);
        cse_live_line_unlock(progress->line);
        break;
    case CSE_JOB_VALIDATED:
        cse_live_line_lock(progress->line);
        show_validated(progress, event);
        cse_live_line_unlock(progress->line);
        break;
    case CSE_JOB_ACCEPTED:
        break;
    }
}

/* ---- the end ---- */

static const char *state_of(cse_status status, const cse_job_result *result)
{
    if (status == CSE_INTERRUPTED || (status == CSE_OK && result->stopped))
        return "CANCELLED";
    return status == CSE_OK ? "SUCCEEDED" : "FAILED";
}

/* Why the job failed: the text, the fields of each error, and whether the same job may succeed when
 * it is started again. */
static void add_errors(json_t *object, cse_status status, const cse_diagnostics *diagnostics)
{
    json_t *list = json_array();
    json_object_set_new(object, "retryable", json_boolean(cse_status_retryable(status)));
    json_object_set_new(object, "error", json_string(cse_error_message()));
    if (diagnostics == NULL || diagnostics->count == 0)
        json_array_append_new(list, cse_error_json(cse_error_last()));
    for (int i = 0; diagnostics != NULL && i < diagnostics->count; i++)
        json_array_append_new(list, cse_error_json(diagnostics->errors[i]));
    json_object_set_new(object, "diagnostics", list);
}

void cse_progress_not_begun(cse_progress *progress, cse_status status,
                            const cse_diagnostics *diagnostics)
{
    if (!progress->json)
        return;
    json_t *object = json_object();
    json_object_set_new(object, "event", json_string("end"));
    json_object_set_new(object, "state", json_string("FAILED"));
    add_errors(object, status, diagnostics);
    print_json(progress, object);
}

/* What the job takes of its host, where a step was planned. */
static void add_needs(json_t *object, const cse_execution_needs *needs)
{
    if (needs->cores == 0)
        return;
    json_object_set_new(object, "needs",
                        json_pack("{s:i, s:I, s:i, s:i, s:i}", "cores", needs->cores,
                                  "memory_bytes", (json_int_t)cse_execution_needs_bytes(needs),
                                  "replicas", needs->replicas, "weight_servers",
                                  needs->weight_servers, "input_workers", needs->input_workers));
}

/* What a training with states in a file has read and written. */
static json_t *disk_json(const cse_disk_load *disk)
{
    return json_pack("{s:I, s:I, s:f, s:f}", "read_bytes", (json_int_t)disk->read_bytes,
                     "written_bytes", (json_int_t)disk->written_bytes, "busy_seconds",
                     (double)disk->busy_ns * 1e-9, "waited_seconds",
                     (double)disk->waited_ns * 1e-9);
}

static void print_disk(cse_progress *progress, const cse_job_result *result)
{
    const double steps = (double)result->steps_run, busy_s = (double)result->disk.busy_ns * 1e-9;
    const double waited_s = (double)result->disk.waited_ns * 1e-9;
    if (result->disk.busy_ns == 0)
        return;
    fprintf(progress->out,
            "Disk: a step read %.1f MB and wrote %.1f MB; of %.1f s of the disk, %.1f s were "
            "hidden.\n",
            (double)result->disk.read_bytes / steps * 1e-6,
            (double)result->disk.written_bytes / steps * 1e-6, busy_s,
            busy_s > waited_s ? busy_s - waited_s : 0);
}

static void print_audits(cse_progress *progress, const cse_job_result *result)
{
    const cse_audit_counts *a = &result->audits;
    if (a->audited == 0 && a->unequal == 0)
        return;
    fprintf(progress->out,
            "Audits: %lld microbatch(es) computed again, %lld computation(s) wrong.\n",
            (long long)a->audited, (long long)a->unequal);
}

static void print_end_json(cse_progress *progress, cse_status status, const cse_job_result *result)
{
    json_t *object = json_object();
    json_object_set_new(object, "event", json_string("end"));
    json_object_set_new(object, "state", json_string(state_of(status, result)));
    json_object_set_new(object, "steps", json_integer(result->steps));
    json_object_set_new(object, "train_seconds", cse_json_finite(result->train_seconds));
    json_object_set_new(object, "samples_per_second", cse_json_finite(result->samples_per_second));
    if (result->disk.busy_ns > 0)
        json_object_set_new(object, "disk", disk_json(&result->disk));
    if (result->audits.audited > 0 || result->audits.unequal > 0)
        json_object_set_new(object, "audits",
                            json_pack("{s:I, s:I}", "microbatches",
                                      (json_int_t)result->audits.audited, "wrong",
                                      (json_int_t)result->audits.unequal));
    json_object_set_new(object, "metrics", metrics_json(result));
    if (result->confusion_count > 0)
        json_object_set_new(object, "confusion", confusions_json(result));
    json_object_set_new(object, "weights_digest", json_string(result->weights_digest));
    json_object_set_new(object, "checkpoint", json_string(result->checkpoint_path));
    json_object_set_new(object, "complete", json_boolean(result->complete));
    add_needs(object, &result->needs);
    if (status != CSE_OK)
        add_errors(object, status, NULL);
    print_json(progress, object);
}

static void print_metrics(cse_progress *progress, const cse_job_result *result)
{
    for (int i = 0; i < result->metric_count; i++)
        if (strcmp(result->metrics[i].name, "loss") == 0)
            fprintf(progress->out, "Avg Eval Loss: %.5f\n", result->metrics[i].value);
        else
            cse_print_to(progress->out, "%s: %.4f\n", result->metrics[i].name,
                         result->metrics[i].value);
    for (int i = 0; i < result->confusion_count; i++)
        cse_confusion_show(progress->out, &result->confusions[i]);
}

void cse_progress_end(cse_progress *progress, cse_job_mode mode, cse_status status,
                      const cse_job_result *result)
{
    cse_live_line_close(&progress->line);
    if (progress->json) {
        print_end_json(progress, status, result);
        return;
    }
    print_metrics(progress, result);
    if (status != CSE_OK)
        return;
    if (result->stopped)
        fprintf(progress->out, "Stopped at step %lld; start again to go on.\n",
                (long long)result->steps);
    if (mode == CSE_JOB_TRAIN && result->steps_run > 0) {
        if (!result->stopped)
            fprintf(progress->out, "Training completed successfully!\n");
        fprintf(progress->out, "Processed %lld training sample(s) in %.3f seconds.\n",
                (long long)result->samples_run, result->train_seconds);
        print_disk(progress, result);
        print_audits(progress, result);
    }
    if (result->weights_digest[0] != '\0')
        cse_print_to(progress->out, "Weights digest: %s\n", result->weights_digest);
    if (result->checkpoint_path[0] != '\0') {
        char path[sizeof result->checkpoint_path];
        cse_text_printable(result->checkpoint_path, path, sizeof path);
        cse_print_to(progress->out, "Checkpoint: %s\n", path);
    }
    fflush(progress->out);
}
