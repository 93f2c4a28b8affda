/* Rows in memory: encoded by callers of the store, decoded by the writer's thread; see rows.h. */
#include "store/rows.h"

#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/json.h"

typedef struct header {
    uint32_t bytes; /* of the whole row, a multiple of 8 */
    uint32_t kind;
} header;

/* Precedes the points of a step. */
typedef struct points_head {
    header header;
    int64_t step, time_ms, count;
} points_head;

typedef struct stored_point {
    int64_t series;
    double value;
} stored_point;

static const cse_row_description descriptions[] = {
#define DESCRIPTION_ROW(kind, table_, columns_, types_, event_, priority_) \
    { .table = table_,                                                     \
      .columns = columns_,                                                 \
      .types = types_,                                                     \
      .event = event_,                                                     \
      .priority = CSE_PRIORITY_##priority_ },
    CSE_ROW_TABLE(DESCRIPTION_ROW)
    /* The points of one step have the priority of a point. */
    { .table = "points", .columns = "", .types = "", .priority = CSE_PRIORITY_METRIC },
    { .table = "points", .columns = "step", .types = "i", .priority = CSE_PRIORITY_KEPT },
};

const cse_row_description *cse_row_describe(cse_row_kind kind)
{
    return &descriptions[kind];
}

static void add_sized(cse_text *out, const void *bytes, size_t size)
{
    static const char zeros[8];
    int64_t length = bytes != NULL ? (int64_t)size : -1;
    cse_text_add_bytes(out, (const char *)&length, sizeof length);
    if (bytes == NULL)
        return;
    /* At least one zero follows, so that texts can be used in place. */
    cse_text_add_bytes(out, bytes, size);
    cse_text_add_bytes(out, zeros, 8 - size % 8);
}

void cse_row_add_list(cse_text *out, cse_row_kind kind, va_list arguments)
{
    size_t start = out->size;
    header head = { .kind = kind };
    cse_text_add_bytes(out, (const char *)&head, sizeof head);
    for (const char *type = descriptions[kind].types; *type != '\0'; type++) {
        if (*type == 'i') {
            int64_t integer = va_arg(arguments, int64_t);
            cse_text_add_bytes(out, (const char *)&integer, sizeof integer);
        } else if (*type == 'd') {
            double number = va_arg(arguments, double);
            cse_text_add_bytes(out, (const char *)&number, sizeof number);
        } else if (*type == 'b') {
            const void *blob = va_arg(arguments, const void *);
            add_sized(out, blob, va_arg(arguments, size_t));
        } else {
            const char *text = va_arg(arguments, const char *);
            add_sized(out, text, text != NULL ? strlen(text) : 0);
        }
    }
    head.bytes = (uint32_t)(out->size - start);
    memcpy(out->data + start, &head, sizeof head);
}

void cse_row_add(cse_text *out, cse_row_kind kind, ...)
{
    va_list arguments;
    va_start(arguments, kind);
    cse_row_add_list(out, kind, arguments);
    va_end(arguments);
}

size_t cse_row_points_bytes(int count)
{
    return sizeof(points_head) + (size_t)count * sizeof(stored_point);
}

void cse_row_put_points(unsigned char *at, const cse_row_points *points)
{
    const points_head head = { .header = { (uint32_t)cse_row_points_bytes(points->count),
                                           CSE_ROW_POINTS },
                               .step = points->step,
                               .time_ms = points->time_ms,
                               .count = points->count };
    memcpy(at, &head, sizeof head);
    at += sizeof head;
    for (int i = 0; i < points->count; i++) {
        const stored_point point = { points->series[i], points->values[i] };
        memcpy(at, &point, sizeof point);
        at += sizeof point;
    }
}

static const unsigned char *read_field(const unsigned char *at, char type, cse_field *field)
{
    *field = (cse_field){ .text = NULL };
    memcpy(&field->integer, at, 8);
    memcpy(&field->number, at, 8);
    at += 8;
    if (type == 'i' || type == 'd' || field->integer < 0)
        return at;
    field->text = (const char *)at;
    field->size = (size_t)field->integer;
    return at + field->size + (8 - field->size % 8);
}

bool cse_row_next(const cse_text *rows, size_t *at, cse_row *row)
{
    if (*at >= rows->size)
        return false;
    header head;
    memcpy(&head, rows->data + *at, sizeof head);
    *row = (cse_row){ .kind = (cse_row_kind)head.kind,
                      .body = (const unsigned char *)rows->data + *at,
                      .bytes = head.bytes };
    const unsigned char *field = row->body + sizeof head;
    for (const char *type = descriptions[head.kind].types; *type != '\0'; type++)
        field = read_field(field, *type, &row->fields[row->count++]);
    *at += head.bytes;
    return true;
}

int cse_row_point_count(const cse_row *row)
{
    points_head head;
    memcpy(&head, row->body, sizeof head);
    return (int)head.count;
}

cse_point cse_row_point(const cse_row *row, int index)
{
    points_head head;
    stored_point point;
    memcpy(&head, row->body, sizeof head);
    memcpy(&point, row->body + sizeof head + (size_t)index * sizeof point, sizeof point);
    return (cse_point){ .series = (int)point.series,
                        .step = head.step,
                        .time_ms = head.time_ms,
                        .value = point.value };
}

static void add_base64(cse_text *out, const unsigned char *bytes, size_t size)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    cse_text_add_bytes(out, "\"", 1);
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        unsigned group = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
                         (left > 2 ? bytes[i + 2] : 0);
        const char four[4] = { letters[group >> 18], letters[group >> 12 & 63],
                               left > 1 ? letters[group >> 6 & 63] : '=',
                               left > 2 ? letters[group & 63] : '=' };
        cse_text_add_bytes(out, four, 4);
    }
    cse_text_add_bytes(out, "\"", 1);
}

void cse_field_add_json(cse_text *out, char type, const cse_field *field)
{
    if (type == 'i')
        cse_json_add_integer(out, field->integer);
    else if (type == 'd')
        cse_json_add_number(out, field->number);
    else if (type == 'b' && field->text != NULL)
        add_base64(out, (const unsigned char *)field->text, field->size);
    else if (type == 'j' && field->text != NULL && field->size > 0)
        cse_text_add_bytes(out, field->text, field->size);
    else
        cse_json_add_string(out, type == 's' ? field->text : NULL);
}

bool cse_next_column(const char **columns, char *name, size_t size)
{
    size_t length = strcspn(*columns, " ");
    if (length == 0)
        return false;
    size_t kept = length < size - 1 ? length : size - 1;
    memcpy(name, *columns, kept);
    name[kept] = '\0';
    *columns += length + ((*columns)[length] == ' ');
    return true;
}

void cse_row_add_json(cse_text *out, const cse_row *row)
{
    const cse_row_description *description = &descriptions[row->kind];
    const char *columns = description->columns;
    char name[32];
    for (int i = 0; i < row->count && cse_next_column(&columns, name, sizeof name); i++) {
        cse_text_add(out, "%s\"%s\":", i == 0 ? "{" : ",", name);
        cse_field_add_json(out, description->types[i], &row->fields[i]);
    }
    cse_text_add_bytes(out, "}", 1);
}

/* ---- counts of dropped rows ---- */

void cse_dropped_count(cse_dropped *dropped, const cse_row *row)
{
    if (row->kind == CSE_ROW_POINTS)
        dropped->points += cse_row_point_count(row);
    else if (row->kind == CSE_ROW_LOG)
        dropped->logs++;
    else if (row->kind == CSE_ROW_CLOSURE)
        dropped->closures++;
    else if (row->kind == CSE_ROW_EVENT)
        dropped->events++;
    else if (row->kind != CSE_ROW_BUCKET)
        dropped->samples++;
}

void cse_dropped_add(cse_dropped *to, const cse_dropped *more)
{
    to->points += more->points;
    to->logs += more->logs;
    to->closures += more->closures;
    to->samples += more->samples;
    to->events += more->events;
}

bool cse_dropped_any(const cse_dropped *d)
{
    return d->points + d->logs + d->closures + d->samples + d->events > 0;
}

void cse_dropped_json(cse_text *out, const cse_dropped *d)
{
    cse_text_add(out,
                 "{\"points\":%lld,\"logs\":%lld,\"closures\":%lld,\"samples\":%lld,"
                 "\"events\":%lld}",
                 (long long)d->points, (long long)d->logs, (long long)d->closures,
                 (long long)d->samples, (long long)d->events);
}
