/* The rows of each committed step, in the coordinator. Few rows enter the list, which is kept in
 * its order. */
#include "run/job/validated_samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/position.h"
#include "engine/base/arena.h"
#include "engine/base/types/shape.h"

static const struct {
    const char *name;
    cse_sample_rows_kind kind;
} kinds[] = {
    { "samples.classes", CSE_ROWS_CLASSES },
    { "samples.confidence", CSE_ROWS_CONFIDENCE },
    { "samples.tokens", CSE_ROWS_TOKENS },
    { "samples.numbers", CSE_ROWS_NUMBERS },
};

/* ---- one sample ---- */

/* Minus infinite: it has no label that counts, and is never among the worst. */
static double loss_of(const cse_validated_samples *s, const float *row)
{
    double sum = 0;
    int64_t count = 0;
    const bool has_label = s->kind == CSE_ROWS_CLASSES || s->kind == CSE_ROWS_CONFIDENCE;
    if (s->kind != CSE_ROWS_TOKENS)
        return has_label && row[1] < 0 ? (double)-INFINITY : (double)row[0];
    for (int64_t t = 0; t < s->columns; t++)
        if (!(row[t] < 0)) {
            sum += (double)row[t];
            count++;
        }
    return count > 0 ? sum / (double)count : (double)-INFINITY;
}

static bool is_worse(double loss, int64_t number, const cse_worst_sample *than)
{
    if (isnan(loss) != isnan(than->loss))
        return isnan(loss);
    if (!isnan(loss) && loss != than->loss)
        return loss > than->loss;
    return number < than->number;
}

/* Where an epoch is validated more than once a sample comes again. */
static bool is_kept(const cse_validated_samples *s, int64_t number)
{
    for (int i = 0; i < s->count; i++)
        if (s->worst[i].number == number)
            return true;
    return false;
}

static void keep(cse_validated_samples *s, double loss, int64_t number, const float *row)
{
    if (is_kept(s, number))
        return;
    float *memory =
        s->count < s->most ? s->rows + s->count++ * s->columns : s->worst[s->most - 1].row;
    int at = s->count - 1;
    for (; at > 0 && is_worse(loss, number, &s->worst[at - 1]); at--)
        s->worst[at] = s->worst[at - 1];
    memcpy(memory, row, (size_t)s->columns * sizeof *row);
    s->worst[at] = (cse_worst_sample){ .number = number, .loss = loss, .row = memory };
}

static void count_classes(cse_validated_samples *s, const float *row)
{
    const int label = (int)row[1];
    int best = 0;
    if (label < 0)
        return; /* it is left out of the loss, too */
    if (s->kind == CSE_ROWS_CONFIDENCE) {
        cse_class_curves_add(&s->curves, label, (int)row[2], row[3], NULL);
        return;
    }
    for (int c = 1; c < s->curves.classes; c++)
        best = row[2 + c] > row[2 + best] ? c : best;
    cse_class_curves_add(&s->curves, label, best, row[2 + best], row + 2);
}

/* ---- a step ---- */

static bool is_full(const cse_validated_samples *s)
{
    return s->count == s->most;
}

static void look_at_microbatch(cse_validated_samples *s, int64_t step, int64_t m, const float *rows)
{
    const cse_batching *batching = cse_dataloader_batching_view(s->session->execution.loader);
    const int64_t of_data = cse_dataloader_input_view(s->session->execution.loader)->sample_count;
    const int64_t size = s->step->graph->micro_batch_size;
    int64_t *numbers = NULL;
    for (int64_t i = 0; i < size; i++) {
        const float *row = rows + i * s->columns;
        const double loss = loss_of(s, row);
        if (s->kind == CSE_ROWS_CLASSES || s->kind == CSE_ROWS_CONFIDENCE)
            count_classes(s, row);
        if (loss == (double)-INFINITY ||
            (is_full(s) && !isnan(loss) && loss < s->worst[s->most - 1].loss))
            continue;
        if (numbers == NULL) {
            numbers = cse_calloc((size_t)size, sizeof *numbers);
            cse_position_samples(batching, of_data, cse_position_of(batching, of_data, step, m),
                                 numbers, NULL);
        }
        if (!is_full(s) || is_worse(loss, numbers[i], &s->worst[s->most - 1]))
            keep(s, loss, numbers[i], row);
    }
    free(numbers);
}

static void on_step(void *self, const cse_record *record)
{
    cse_validated_samples *s = self;
    if (!s->takes || s->fetch < 0)
        return;
    const cse_graph *graph = s->step->graph;
    const float *rows = (const void *)(record->fetched + graph->fetches[s->fetch].offset_bytes);
    const int64_t numbers = graph->micro_batch_size * s->columns;
    for (int64_t m = 0; m < graph->microbatch_count; m++)
        look_at_microbatch(s, record->step, m, rows + m * numbers);
    s->seen += graph->microbatch_count * graph->micro_batch_size;
}

/* ---- an execution ---- */

static void take_kind(cse_validated_samples *s, cse_sample_rows_kind kind, int64_t columns)
{
    s->kind = kind;
    s->columns = columns;
    s->rows = cse_calloc((size_t)(s->most * columns), sizeof *s->rows);
    s->curves.classes = kind == CSE_ROWS_CLASSES ? (int)columns - 2 : 0;
}

/* A batch that is smaller than the others has a step of its own, with the same columns. */
static void on_start(void *self, const cse_step *step, const cse_session_report *report)
{
    cse_validated_samples *s = self;
    (void)report;
    s->step = step;
    s->fetch = -1;
    for (int f = 0; s->takes && f < step->graph->fetch_count; f++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            const cse_fetch_entry *fetch = &step->graph->fetches[f];
            if (strcmp(fetch->name, kinds[k].name) != 0)
                continue;
            if (s->kind == CSE_ROWS_NONE)
                take_kind(s, kinds[k].kind, fetch->value->shape.dims[1]);
            if (s->kind == kinds[k].kind && s->columns == fetch->value->shape.dims[1])
                s->fetch = f;
        }
}

void cse_validated_samples_attach(cse_validated_samples *s, cse_session *session, int most,
                                  cse_session_observer *after)
{
    *s = (cse_validated_samples){ .session = session, .most = most, .fetch = -1 };
    s->observer = (cse_session_observer){ .self = s, .on_start = on_start, .on_step = on_step };
    s->observer.next = after->next;
    s->observer.events.next = after->events.next;
    after->next = &s->observer;
    after->events.next = &s->observer.events;
}

void cse_validated_samples_begin(cse_validated_samples *s)
{
    cse_validated_samples_clear(s);
    s->takes = s->most > 0;
}

void cse_validated_samples_end(cse_validated_samples *s)
{
    s->whole = s->takes && s->seen > 0 && s->seen == s->session->report.samples;
    s->takes = false;
    s->step = NULL;
    s->fetch = -1;
}

void cse_validated_samples_clear(cse_validated_samples *s)
{
    free(s->rows);
    s->rows = NULL;
    s->kind = CSE_ROWS_NONE;
    s->columns = s->seen = s->count = 0;
    s->whole = false;
    memset(&s->curves, 0, sizeof s->curves);
}
