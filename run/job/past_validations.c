/* Points of all attempts at the run; of those for the same step the newest attempt's stands. */
#include "run/job/past_validations.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/log.h"
#include "store/reader.h"

typedef struct point {
    const char *name;
    int order; /* of the name, as names were first met */
    int64_t step, attempt;
    double value;
} point;

struct cse_past_validations {
    cse_arena *arena;
    point *points; /* sorted by step, then by name */
    int count, capacity;
    const char **names; /* [name_count] */
    int name_count, name_capacity;
    cse_callback_metric *metrics; /* of the step that was asked for last */
};

static int order_of(cse_past_validations *past, const char *name)
{
    for (int i = 0; i < past->name_count; i++)
        if (strcmp(past->names[i], name) == 0)
            return i;
    CSE_GROW(past->names, past->name_count, past->name_capacity);
    past->names[past->name_count] = cse_arena_string(past->arena, name);
    return past->name_count++;
}

static void add(cse_past_validations *past, const char *name, point value)
{
    CSE_GROW(past->points, past->count, past->capacity);
    value.order = order_of(past, name);
    value.name = past->names[value.order];
    past->points[past->count++] = value;
}

static void take_point(void *self, const cse_curve *curve, const cse_curve_row *row)
{
    if (row == NULL || row->count != 1)
        return;
    add(self, curve->name,
        (point){ .step = row->first_step, .attempt = curve->attempt, .value = row->last });
}

static int by_step_and_name(const void *one, const void *other)
{
    const point *a = one, *b = other;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    return a->attempt < b->attempt ? -1 : a->attempt > b->attempt;
}

static void settle(cse_past_validations *past)
{
    int kept = 0;
    if (past->count > 0)
        qsort(past->points, (size_t)past->count, sizeof *past->points, by_step_and_name);
    for (int i = 0; i < past->count; i++) {
        const point *last = kept > 0 ? &past->points[kept - 1] : NULL;
        if (last != NULL && last->step == past->points[i].step &&
            last->order == past->points[i].order)
            kept--; /* the newest attempt's stands */
        past->points[kept++] = past->points[i];
    }
    past->count = kept;
    past->metrics = cse_calloc((size_t)past->count + 1, sizeof *past->metrics);
}

cse_past_validations *cse_past_validations_read(const char *model_dir, const char *const *names)
{
    cse_store_reader *reader = NULL;
    cse_past_validations *past = cse_calloc(1, sizeof *past);
    past->arena = cse_arena_new();
    if (cse_store_reader_open(model_dir, &reader) == CSE_OK &&
        cse_store_reader_metrics(reader,
                                 &(cse_metrics_query){ .names = names, .max_points = 1 << 24 },
                                 take_point, past) != CSE_OK)
        cse_log_line(CSE_LOG_WARNING, "earlier validations are not known: %s", cse_error_message());
    cse_store_reader_close(&reader);
    settle(past);
    return past;
}

/* Values in hexadecimal digits, which lose nothing. */
void cse_past_validations_print(const cse_past_validations *past, cse_text *text)
{
    for (int i = 0; past != NULL && i < past->count; i++)
        cse_text_add(text, "%lld %a %s\n", (long long)past->points[i].step, past->points[i].value,
                     past->points[i].name);
}

cse_past_validations *cse_past_validations_parse(const char *text)
{
    cse_past_validations *past = cse_calloc(1, sizeof *past);
    past->arena = cse_arena_new();
    while (*text != '\0') {
        char *end, *name;
        const int64_t step = strtoll(text, &end, 10);
        const double value = strtod(end, &name);
        const size_t length = strcspn(name, "\n");
        if (*name != ' ' || name == end)
            break;
        add(past, cse_arena_printf(past->arena, "%.*s", (int)length - 1, name + 1),
            (point){ .step = step, .value = value });
        text = name + length + (name[length] == '\n');
    }
    settle(past);
    return past;
}

void cse_past_validations_destroy(cse_past_validations **past)
{
    if (*past == NULL)
        return;
    free((*past)->metrics);
    free((*past)->points);
    free((*past)->names);
    cse_arena_destroy(&(*past)->arena);
    free(*past);
    *past = NULL;
}

bool cse_past_validations_after(cse_past_validations *past, int64_t step,
                                cse_callback_validation *validation)
{
    int first = 0, count = 0;
    for (int end = past != NULL ? past->count : 0; first < end;) {
        const int middle = first + (end - first) / 2;
        if (past->points[middle].step > step)
            end = middle;
        else
            first = middle + 1;
    }
    if (past == NULL || first == past->count)
        return false;
    const point *points = past->points + first;
    for (; first + count < past->count && points[count].step == points->step; count++)
        past->metrics[count] = (cse_callback_metric){ points[count].name, points[count].value };
    *validation = (cse_callback_validation){
        .step = points->step, .metric_count = count, .metrics = past->metrics, .replayed = true
    };
    return true;
}
