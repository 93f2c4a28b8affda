/* Points of all attempts at the run; of those for the same step the newest attempt's stands. */
#include "run/job/past_validations.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/log.h"
#include "store/reader.h"

typedef struct point {
    const char *name;
    int64_t step, attempt;
    double value;
} point;

struct cse_past_validations {
    cse_arena *arena;
    point *points;
    int count, capacity;
    cse_callback_metric *metrics; /* of the step that was asked for last */
};

static point *find(cse_past_validations *past, const char *name, int64_t step)
{
    for (int i = 0; i < past->count; i++)
        if (past->points[i].step == step && strcmp(past->points[i].name, name) == 0)
            return &past->points[i];
    return NULL;
}

static void take_point(void *self, const cse_curve *curve, const cse_curve_row *row)
{
    cse_past_validations *past = self;
    if (row == NULL || row->count != 1)
        return;
    point *known = find(past, curve->name, row->first_step);
    if (known == NULL) {
        CSE_GROW(past->points, past->count, past->capacity);
        known = &past->points[past->count++];
        *known =
            (point){ .name = cse_arena_string(past->arena, curve->name), .step = row->first_step };
    } else if (known->attempt > curve->attempt) {
        return;
    }
    known->attempt = curve->attempt;
    known->value = row->last;
}

cse_past_validations *cse_past_validations_read(const char *model_dir, const char *const *names)
{
    cse_store_reader *reader = NULL;
    cse_past_validations *past = cse_calloc(1, sizeof *past);
    past->arena = cse_arena_new();
    if (cse_store_reader_open(model_dir, &reader) != CSE_OK)
        return past;
    if (cse_store_reader_metrics(reader,
                                 &(cse_metrics_query){ .names = names, .max_points = 1 << 24 },
                                 take_point, past) != CSE_OK)
        cse_log_line(CSE_LOG_WARNING, "earlier validations are not known to the callbacks: %s",
                     cse_error_message());
    cse_store_reader_close(&reader);
    past->metrics = cse_calloc((size_t)past->count + 1, sizeof *past->metrics);
    return past;
}

/* Values in hexadecimal digits, which lose nothing. */
void cse_past_validations_print(const cse_past_validations *past, cse_text *text)
{
    for (int i = 0; past != NULL && i < past->count; i++)
        cse_text_add(text, "%lld %a %s\n", (long long)past->points[i].step, past->points[i].value,
                     past->points[i].name);
}

static const char *copy_name(cse_arena *arena, const char *name, size_t length)
{
    char *copy = cse_arena_alloc(arena, length + 1); /* zeroed */
    memcpy(copy, name, length);
    return copy;
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
        CSE_GROW(past->points, past->count, past->capacity);
        past->points[past->count++] = (point){ .name = copy_name(past->arena, name + 1, length - 1),
                                               .step = step,
                                               .value = value };
        text = name + length + (name[length] == '\n');
    }
    past->metrics = cse_calloc((size_t)past->count + 1, sizeof *past->metrics);
    return past;
}

void cse_past_validations_destroy(cse_past_validations **past)
{
    if (*past == NULL)
        return;
    free((*past)->metrics);
    free((*past)->points);
    cse_arena_destroy(&(*past)->arena);
    free(*past);
    *past = NULL;
}

bool cse_past_validations_after(cse_past_validations *past, int64_t step,
                                cse_callback_validation *validation)
{
    int64_t next = INT64_MAX;
    int count = 0;
    for (int i = 0; past != NULL && i < past->count; i++)
        if (past->points[i].step > step && past->points[i].step < next)
            next = past->points[i].step;
    if (next == INT64_MAX)
        return false;
    for (int i = 0; i < past->count; i++)
        if (past->points[i].step == next)
            past->metrics[count++] =
                (cse_callback_metric){ past->points[i].name, past->points[i].value };
    *validation = (cse_callback_validation){
        .step = next, .metric_count = count, .metrics = past->metrics, .replayed = true
    };
    return true;
}
