/* Progress output. The rate is smoothed: 0.6 times the current rate plus 0.4 times the smoothed
 * rate before it. */
#include "cli/progress.h"

#include <math.h>
#include <string.h>

#include "cli/json_values.h"
#include "engine/base/error.h"

const char *cse_duration_text(double seconds, char *text, size_t size)
{
    if (!(seconds >= 0) || seconds > 1e9)
        seconds = seconds > 0 ? 1e9 : 0;
    long whole = lround(seconds);
    snprintf(text, size, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
    return text;
}

static void close_line(cse_progress *progress)
{
    if (progress->line_is_open)
        fputc('\n', progress->out);
    progress->line_is_open = false;
}

static void print_json(cse_progress *progress, json_t *object)
{
    json_dumpf(object, progress->out, JSON_COMPACT);
    fputc('\n', progress->out);
    fflush(progress->out);
    json_decref(object);
}

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
    print_json(progress, object);
}

static void print_step(cse_progress *progress, const cse_job_event *event)
{
    char line[256], remaining[32], rest[64] = "";
    bool training = event->kind == CSE_JOB_STEP;
    if (training && progress->batch_size > 0 && event->global_samples_per_second > 0) {
        double seconds = (double)(event->last_step - event->step) * (double)progress->batch_size /
                         event->global_samples_per_second;
        snprintf(rest, sizeof rest, ", TimeRemaining=%s",
                 cse_duration_text(seconds, remaining, sizeof remaining));
    }
    snprintf(line, sizeof line,
             "| %s Device=CPU, %s=%lld, Loss=%.5f, Rate=%.2f samples/sec, "
             "GlobalRate=%.2f samples/sec%s",
             training ? "Train" : "Eval", training ? "Step" : "Batch", (long long)event->step,
             (double)event->loss, progress->rate, event->global_samples_per_second, rest);
    if (progress->live)
        fprintf(progress->out, "\r%s\033[K", line);
    else
        fprintf(progress->out, "%s\n", line);
    progress->line_is_open = progress->live;
    if (progress->live && event->step >= event->last_step) {
        close_line(progress);
        progress->has_rate = false;
    }
}

static void show_step(cse_progress *progress, const cse_job_event *event)
{
    double current = event->samples_per_second;
    progress->rate = progress->has_rate ? 0.6 * current + 0.4 * progress->rate : current;
    progress->has_rate = true;
    if (progress->json)
        print_step_json(progress, event);
    else
        print_step(progress, event);
    if (event->step >= event->last_step)
        progress->has_rate = false;
    fflush(progress->out);
}

void cse_progress_event(cse_progress *progress, const cse_job_event *event)
{
    switch (event->kind) {
    case CSE_JOB_STEP:
    case CSE_JOB_EVAL_STEP:
        show_step(progress, event);
        break;
    case CSE_JOB_LOG:
    case CSE_JOB_CHECKPOINT:
        if (progress->json) {
            fprintf(stderr, "%s%s\n", event->kind == CSE_JOB_CHECKPOINT ? "saved checkpoint " : "",
                    event->text);
            break;
        }
        close_line(progress);
        fprintf(progress->out, "%s%s\n",
                event->kind == CSE_JOB_CHECKPOINT ? "Saved checkpoint " : "", event->text);
        fflush(progress->out);
        break;
    }
}

static const char *state_of(cse_status status, const cse_job_result *result)
{
    if (status == CSE_INTERRUPTED || (status == CSE_OK && result->stopped))
        return "CANCELLED";
    return status == CSE_OK ? "SUCCEEDED" : "FAILED";
}

/* Why the job failed: the text, and the fields of each error. */
static void add_errors(json_t *object, const cse_diagnostics *diagnostics)
{
    json_t *list = json_array();
    json_object_set_new(object, "error", json_string(cse_error_message()));
    if (diagnostics == NULL || diagnostics->count == 0)
        json_array_append_new(list, cse_error_json(cse_error_last()));
    for (int i = 0; diagnostics != NULL && i < diagnostics->count; i++)
        json_array_append_new(list, cse_error_json(diagnostics->errors[i]));
    json_object_set_new(object, "diagnostics", list);
}

void cse_progress_not_begun(cse_progress *progress, const cse_diagnostics *diagnostics)
{
    if (!progress->json)
        return;
    json_t *object = json_object();
    json_object_set_new(object, "event", json_string("end"));
    json_object_set_new(object, "state", json_string("FAILED"));
    add_errors(object, diagnostics);
    print_json(progress, object);
}

static void print_end_json(cse_progress *progress, cse_status status, const cse_job_result *result)
{
    json_t *object = json_object(), *metrics = json_object();
    for (int i = 0; i < result->metric_count; i++)
        json_object_set_new(metrics, result->metrics[i].name,
                            cse_json_finite(result->metrics[i].value));
    json_object_set_new(object, "event", json_string("end"));
    json_object_set_new(object, "state", json_string(state_of(status, result)));
    json_object_set_new(object, "steps", json_integer(result->steps));
    json_object_set_new(object, "train_seconds", cse_json_finite(result->train_seconds));
    json_object_set_new(object, "samples_per_second", cse_json_finite(result->samples_per_second));
    json_object_set_new(object, "metrics", metrics);
    json_object_set_new(object, "weights_digest", json_string(result->weights_digest));
    json_object_set_new(object, "checkpoint", json_string(result->checkpoint_path));
    if (status != CSE_OK)
        add_errors(object, NULL);
    print_json(progress, object);
}

static void print_metrics(cse_progress *progress, const cse_job_result *result)
{
    for (int i = 0; i < result->metric_count; i++)
        if (strcmp(result->metrics[i].name, "loss") == 0)
            fprintf(progress->out, "Avg Eval Loss: %.5f\n", result->metrics[i].value);
        else
            fprintf(progress->out, "%s: %.4f\n", result->metrics[i].name, result->metrics[i].value);
}

void cse_progress_end(cse_progress *progress, cse_job_mode mode, cse_status status,
                      const cse_job_result *result)
{
    close_line(progress);
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
                (long long)(result->steps_run * progress->batch_size), result->train_seconds);
    }
    if (result->weights_digest[0] != '\0')
        fprintf(progress->out, "Weights digest: %s\n", result->weights_digest);
    if (result->checkpoint_path[0] != '\0')
        fprintf(progress->out, "Checkpoint: %s\n", result->checkpoint_path);
    fflush(progress->out);
}
