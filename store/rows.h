/* The tables of the run store as one list: column names and types, event types, and priorities for
 * when the queue is full. Writer, reader and events use this list, so a row has the same fields in
 * the database, in a reader's JSON and in a live event.
 *
 * A row in memory is a header and its fields, one after the other: an integer or a number in 8
 * bytes, a text or blob as its length in 8 bytes (-1: NULL) and its bytes, padded to 8. */
#ifndef CSE_STORE_ROWS_H
#define CSE_STORE_ROWS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/text.h"

/* What is dropped first when the queue is full. */
typedef enum cse_row_priority {
    CSE_PRIORITY_SAMPLE,
    CSE_PRIORITY_METRIC,
    CSE_PRIORITY_KEPT
} cse_row_priority;

/* Types of columns: i integer, d number, s text, j JSON text, b blob (in JSON: base64).
 * X(kind, table, columns, types, event type or NULL, priority) */
#define CSE_ROW_TABLE(X)                                                                         \
    X(RUN, "run", "key value", "ss", NULL, KEPT)                                                 \
    X(TRANSITION, "transitions", "seq time_ms from_state to_state reason message attempt",       \
      "iissssi", "state", KEPT)                                                                  \
    X(SERIES, "series", "id name", "is", NULL, KEPT)                                             \
    X(POINT, "points", "series attempt step time_ms value", "iiiid", NULL, METRIC)               \
    X(BUCKET, "buckets",                                                                         \
      "series attempt level bucket first_step last_step count minimum maximum sum last time_ms " \
      "finite",                                                                                  \
      "iiiiiiiddddii", NULL, METRIC)                                                             \
    X(CLOSURE, "closures", "id attempt step issued_ms delivered_ms name payload", "iiiiisj",     \
      "closure", METRIC)                                                                         \
    X(CHECKPOINT, "checkpoints",                                                                 \
      "id attempt step time_ms path bytes digest write_ms verified deleted", "iiiisisiii",       \
      "checkpoint", KEPT)                                                                        \
    X(LOG, "logs", "id time_ms role rank level message host", "iisisss", "log", METRIC)          \
    X(EVENT, "events", "id time_ms type payload", "iisj", NULL, KEPT)                            \
    X(TENSOR, "tensors", "id attempt name scope op kind source_dtype dtype backward file line",  \
      "iissssssisi", NULL, KEPT)                                                                 \
    X(NUMERICS, "numerics",                                                                      \
      "tensor attempt step count nan inf saturated flushed zeros absorbed max_exponent "         \
      "first_microbatch digest histogram",                                                       \
      "iiiiiiiiiiiibb", NULL, SAMPLE)                                                            \
    X(SPAN, "timeline", "attempt step process kind start_ns end_ns", "iissii", NULL, SAMPLE)     \
    X(KERNEL, "kernels", "attempt step process kernel calls total_ns min_ns median_ns",          \
      "iisiiiii", NULL, SAMPLE)                                                                  \
    X(TOPOLOGY, "topology", "time_ms payload", "ij", "topology", SAMPLE)                         \
    X(GOODPUT, "goodput",                                                                        \
      "attempt start_ms time_ms starting_ms compute_ms input_ms update_ms communication_ms "     \
      "save_ms validation_ms recovery_ms paused_ms idle_ms",                                     \
      "iiiiiiiiiiiii", NULL, METRIC)                                                             \
    X(CHAIN, "chain", "step attempt states samples chain", "iibbb", NULL, METRIC)                \
    X(CHAIN_LINKS, "links", "step attempt before links", "iibs", NULL, KEPT)                     \
    X(ARTEFACT, "artefacts", "name time_ms media_type content", "sisb", NULL, KEPT)

typedef enum cse_row_kind {
#define CSE_ROW_ENUM(kind, table, columns, types, event, priority) CSE_ROW_##kind,
    CSE_ROW_TABLE(CSE_ROW_ENUM)
#undef CSE_ROW_ENUM
        CSE_ROW_COUNT,
    CSE_ROW_POINTS = CSE_ROW_COUNT, /* several points of one step; see cse_row_add_points */
    CSE_ROW_STEPS_FROM, /* this attempt does the steps from this one on (store/supersede.h) */
} cse_row_kind;

enum { CSE_MOST_COLUMNS = 16 };

typedef struct cse_row_description {
    const char *table, *columns, *types;
    const char *event;
    cse_row_priority priority;
} cse_row_description;

const cse_row_description *cse_row_describe(cse_row_kind kind);

/* Appends a row; arguments follow the kind's types: int64_t, double, const char *, and for a blob
 * const void * and size_t. */
void cse_row_add(cse_text *out, cse_row_kind kind, ...);
void cse_row_add_list(cse_text *out, cse_row_kind kind, va_list arguments);

/* The points of one step: `values` of `series`. */
typedef struct cse_row_points {
    int64_t step, time_ms;
    int count;
    const int *series;
    const double *values;
} cse_row_points;
size_t cse_row_points_bytes(int count);
/* Writes cse_row_points_bytes(count) bytes. */
void cse_row_put_points(unsigned char *at, const cse_row_points *points);

/* One field of a decoded row. */
typedef struct cse_field {
    int64_t integer;
    double number;
    const char *text; /* texts are zero-terminated; NULL for NULL */
    size_t size;
} cse_field;

/* Decodes the row at offset *at of `rows` and advances *at; false at the end. For CSE_ROW_POINTS
 * only the kind is set: see cse_row_read_point. */
typedef struct cse_row {
    cse_row_kind kind;
    int count;
    cse_field fields[CSE_MOST_COLUMNS];
    const unsigned char *body;
    size_t bytes; /* with its header */
} cse_row;
bool cse_row_next(const cse_text *rows, size_t *at, cse_row *row);

/* Of a row of points: how many, and each. */
typedef struct cse_point {
    int series;
    int64_t step, time_ms;
    double value;
} cse_point;
int cse_row_point_count(const cse_row *row);
cse_point cse_row_point(const cse_row *row, int index);

/* How many rows of each kind were dropped. */
typedef struct cse_dropped {
    int64_t points, logs, closures, samples, events;
} cse_dropped;
void cse_dropped_count(cse_dropped *dropped, const cse_row *row);
void cse_dropped_add(cse_dropped *to, const cse_dropped *more);
bool cse_dropped_any(const cse_dropped *dropped);
/* The counts as JSON, for a gap event and the write-failure journal. */
void cse_dropped_json(cse_text *out, const cse_dropped *dropped);

/* One field as JSON, by its column's type letter; and a whole row as a JSON object. */
void cse_field_add_json(cse_text *out, char type, const cse_field *field);
void cse_row_add_json(cse_text *out, const cse_row *row);
/* Appends the next of the words that `*columns` lists and moves on; false at the end. */
bool cse_next_column(const char **columns, char *name, size_t size);

#endif
