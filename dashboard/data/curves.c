/* Rows are turned into columns as they come: as the text of their numbers for JSON, as their bytes
 * for the binary form. */
#include "dashboard/data/curves.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/api/route.h"
#include "engine/base/arena.h"
#include "engine/base/json.h"
#include "store/replaced.h"

enum { STEP, LAST_STEP, TIME_MS, VALUE, MINIMUM, MAXIMUM, MEAN, NOT_FINITE, COLUMNS };

static const struct {
    const char *name;
    bool of_buckets; /* alone; points have no such column */
} columns[COLUMNS] = {
    [STEP] = { "step", false },       [LAST_STEP] = { "last_step", true },
    [TIME_MS] = { "time_ms", false }, [VALUE] = { "value", false },
    [MINIMUM] = { "minimum", true },  [MAXIMUM] = { "maximum", true },
    [MEAN] = { "mean", true },        [NOT_FINITE] = { "not_finite", true },
};

/* The answer in the making, and the curve that is being read. */
struct cse_curves {
    bool binary;
    const char *more;       /* of each curve that is read now */
    cse_text head, numbers; /* JSON; with `binary`, the columns of all curves */
    cse_text columns[COLUMNS];
    cse_curve curve; /* its name is NULL before the first */
    int64_t rows, points;
    bool has_curves, only_with_points;
};

typedef struct cse_curves writer;

static void add_real(writer *w, int column, double number)
{
    cse_text *cells = &w->columns[column];
    if (w->binary) {
        double finite = isfinite(number) ? number : (double)NAN;
        cse_text_add_bytes(cells, (const char *)&finite, sizeof finite);
        return;
    }
    cse_text_add_bytes(cells, ",", cells->size > 0);
    cse_json_add_finite(cells, number);
}

static void add_integer(writer *w, int column, int64_t number)
{
    cse_text *cells = &w->columns[column];
    if (w->binary) {
        add_real(w, column, (double)number);
        return;
    }
    cse_text_add_bytes(cells, ",", cells->size > 0);
    cse_json_add_integer(cells, number);
}

static void add_row(writer *w, const cse_curve_row *row)
{
    w->rows++;
    w->points += row->count;
    add_integer(w, STEP, row->first_step);
    add_integer(w, TIME_MS, row->time_ms);
    add_real(w, VALUE, row->last);
    if (w->curve.level == 0)
        return;
    add_integer(w, LAST_STEP, row->last_step);
    add_real(w, MINIMUM, row->minimum);
    add_real(w, MAXIMUM, row->maximum);
    add_real(w, MEAN, row->finite > 0 ? row->sum / (double)row->finite : (double)NAN);
    add_integer(w, NOT_FINITE, row->count - row->finite);
}

/* In the binary form the head says where each column stands among all numbers. */
static void add_column(writer *w, int column)
{
    cse_text *cells = &w->columns[column];
    cse_text_add(&w->head, ",\"%s\":", columns[column].name);
    if (w->binary)
        cse_text_add(&w->head, "{\"offset\":%zu,\"count\":%lld}", w->numbers.size / sizeof(double),
                     (long long)w->rows);
    else
        cse_text_add(&w->head, "[%s]", cells->size > 0 ? cells->data : "");
    if (w->binary && cells->size > 0)
        cse_text_add_bytes(&w->numbers, cells->data, cells->size);
    cells->size = 0;
}

static void end_curve(writer *w)
{
    if (w->curve.name == NULL)
        return;
    cse_text_add(&w->head, ",\"level\":%d,\"bucket_points\":%lld,\"count\":%lld", w->curve.level,
                 (long long)w->curve.bucket_points, (long long)w->points);
    for (int c = 0; c < COLUMNS; c++)
        if (w->curve.level > 0 || !columns[c].of_buckets)
            add_column(w, c);
    cse_text_add(&w->head, "%s}", w->more);
    w->curve.name = NULL;
}

static void begin_curve(writer *w, const cse_curve *curve)
{
    cse_text_add(&w->head, "%s{\"name\":", w->has_curves ? "," : "");
    w->has_curves = true;
    cse_json_add_string(&w->head, curve->name);
    cse_text_add(&w->head, ",\"attempt\":%lld", (long long)curve->attempt);
    w->curve = *curve;
    w->rows = w->points = 0;
}

/* Of a part of a run's history an attempt without points there is left out. */
static void take_row(void *self, const cse_curve *curve, const cse_curve_row *row)
{
    writer *w = self;
    if (row == NULL)
        end_curve(w);
    if (row == NULL ? !w->only_with_points : w->curve.name == NULL)
        begin_curve(w, curve);
    if (row != NULL)
        add_row(w, row);
}

/* Length of the head, head, blanks, numbers. */
static void join_binary(const cse_text *head, const cse_text *numbers, cse_text *out)
{
    size_t padded = (head->size + 7) / 8 * 8;
    unsigned char length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)padded >> (8 * i));
    cse_text_add_bytes(out, (const char *)length, sizeof length);
    cse_text_add_bytes(out, head->data, head->size);
    for (size_t i = head->size; i < padded; i++)
        cse_text_add_bytes(out, " ", 1);
    if (numbers->size > 0)
        cse_text_add_bytes(out, numbers->data, numbers->size);
}

cse_curves *cse_curves_new(bool binary, bool only_with_points)
{
    cse_curves *w = cse_calloc(1, sizeof *w);
    w->binary = binary;
    w->only_with_points = only_with_points;
    cse_text_add(&w->head, "{\"series\":[");
    return w;
}

cse_status cse_curves_read(cse_curves *w, cse_store_reader *reader, const cse_metrics_query *query,
                           const char *more)
{
    w->more = more;
    const cse_status status = cse_store_reader_metrics(reader, query, take_row, w);
    end_curve(w);
    return status;
}

cse_status cse_curves_read_replaced(cse_curves *w, cse_store_reader *reader,
                                    const cse_metrics_query *query, const char *more)
{
    w->more = more;
    const cse_status status = cse_store_reader_replaced(reader, query, take_row, w);
    end_curve(w);
    return status;
}

void cse_curves_end(cse_curves **curves, const cse_curves_head *head, cse_text *out)
{
    cse_curves *w = *curves;
    cse_text_add(&w->head,
                 "],\"names\":%s,\"attempts\":%lld,\"attempt_times\":%s,\"last_event_id\":%lld,"
                 "\"dropped_series\":%lld}",
                 head->names, (long long)head->attempts, head->times,
                 (long long)head->last_event_id, (long long)head->dropped_series);
    if (w->binary)
        join_binary(&w->head, &w->numbers, out);
    else
        cse_text_add_bytes(out, w->head.data, w->head.size);
    cse_text_clear(&w->head);
    cse_text_clear(&w->numbers);
    for (int c = 0; c < COLUMNS; c++)
        cse_text_clear(&w->columns[c]);
    free(w);
    *curves = NULL;
}
