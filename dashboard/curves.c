/* The rows are read as the text they are: no number is converted on its way from one JSON to the
 * other, so that a million points cost little more than their bytes. */
#include "dashboard/curves.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/route.h"

enum { MOST_FIELDS = 8 };

typedef struct series {
    const char *name; /* JSON string, with its quotes */
    size_t name_size;
    long long attempt, level, count;
    bool buckets;
    long rows;
    cse_text columns[MOST_FIELDS]; /* numbers with commas between */
} series;

/* Columns of the answer, by the field of a row they come from. */
static const struct {
    const char *name;
    int of_point, of_bucket; /* -1: not there; -2: sum / count */
} columns[] = {
    { "step", 0, 0 },     { "last_step", -1, 1 }, { "time_ms", 1, 7 }, { "value", 2, 6 },
    { "minimum", -1, 3 }, { "maximum", -1, 4 },   { "mean", -1, -2 },
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

/* One value of a row, as it stands; moves behind it. What is no finite number is null. */
static const char *next_field(const char **at, size_t *size)
{
    const char *begin = *at;
    if (*begin == '"') {
        const char *end = strchr(begin + 1, '"');
        *at = end != NULL ? end + 1 : begin + strlen(begin);
        *size = 4;
        return "null";
    }
    *size = strcspn(begin, ",]");
    *at = begin + *size;
    return begin;
}

static void add_cell(series *s, int column, const char *text, size_t size)
{
    if (s->columns[column].size > 0)
        cse_text_add_bytes(&s->columns[column], ",", 1);
    cse_text_add_bytes(&s->columns[column], text, size);
}

static void add_mean(series *s, int column, const char *sum, const char *count)
{
    cse_text mean = { 0 };
    double number = strtod(count, NULL);
    cse_json_number(&mean, *sum == 'n' || number <= 0 ? (double)NAN : strtod(sum, NULL) / number);
    add_cell(s, column, mean.data, mean.size);
    cse_text_clear(&mean);
}

/* `at` stands behind the '[' of a row; returns where it ends. */
static const char *take_row(series *s, const char *at)
{
    const char *fields[MOST_FIELDS];
    size_t sizes[MOST_FIELDS];
    int count = 0;
    while (*at != ']' && *at != '\0' && count < MOST_FIELDS) {
        fields[count] = next_field(&at, &sizes[count]);
        count++;
        if (*at == ',')
            at++;
    }
    s->rows++;
    s->count += s->buckets && count > 2 ? strtoll(fields[2], NULL, 10) : 1;
    for (int c = 0; c < COLUMNS; c++) {
        int field = s->buckets ? columns[c].of_bucket : columns[c].of_point;
        if (field == -2 && count > 5)
            add_mean(s, c, fields[5], fields[2]);
        else if (field >= 0 && field < count)
            add_cell(s, c, fields[field], sizes[field]);
    }
    return at + strcspn(at, "]");
}

/* The next series of the text, or NULL behind the last. */
static const char *take_series(const char *at, series *s)
{
    static const char mark[] = "{\"name\":";
    at = strstr(at, mark);
    if (at == NULL)
        return NULL;
    s->name = at + sizeof mark - 1;
    const char *end = s->name + 1;
    while (*end != '"' && *end != '\0')
        end += *end == '\\' && end[1] != '\0' ? 2 : 1;
    s->name_size = (size_t)(end - s->name) + 1;
    const char *attempt = strstr(end, "\"attempt\":"), *level = strstr(end, "\"level\":");
    at = strchr(end, '[');
    if (attempt == NULL || level == NULL || at == NULL)
        return NULL;
    s->attempt = strtoll(attempt + 10, NULL, 10);
    s->level = strtoll(level + 8, NULL, 10);
    const char *kind = strstr(level, "\"buckets\"");
    s->buckets = kind != NULL && kind < at;
    for (at++; *at == '[' || *at == ',';)
        at = *at == ',' ? at + 1 : take_row(s, at + 1) + 1;
    return at;
}

static void clear_series(series *s)
{
    for (int c = 0; c < COLUMNS; c++)
        cse_text_clear(&s->columns[c]);
}

static bool has_column(const series *s, int column)
{
    return (s->buckets ? columns[column].of_bucket : columns[column].of_point) != -1;
}

static void add_head(const series *s, bool first, cse_text *out)
{
    cse_text_add(out, "%s{\"name\":", first ? "" : ",");
    cse_text_add_bytes(out, s->name, s->name_size);
    cse_text_add(out, ",\"attempt\":%lld,\"level\":%lld,\"count\":%lld", s->attempt, s->level,
                 s->count);
}

static void add_json(const series *s, bool first, cse_text *out)
{
    add_head(s, first, out);
    for (int c = 0; c < COLUMNS; c++) {
        if (!has_column(s, c))
            continue;
        cse_text_add(out, ",\"%s\":[", columns[c].name);
        if (s->columns[c].size > 0)
            cse_text_add_bytes(out, s->columns[c].data, s->columns[c].size);
        cse_text_add_bytes(out, "]", 1);
    }
    cse_text_add_bytes(out, "}", 1);
}

/* The head says where each column stands among all numbers. */
static void add_binary(const series *s, bool first, cse_text *out, cse_text *numbers)
{
    add_head(s, first, out);
    for (int c = 0; c < COLUMNS; c++) {
        if (!has_column(s, c))
            continue;
        cse_text_add(out, ",\"%s\":{\"offset\":%zu,\"count\":%ld}", columns[c].name,
                     numbers->size / sizeof(double), s->rows);
        const char *at = s->columns[c].data;
        for (long row = 0; at != NULL && row < s->rows; row++) {
            double number = *at == 'n' ? (double)NAN : strtod(at, NULL);
            cse_text_add_bytes(numbers, (const char *)&number, sizeof number);
            at = strchr(at, ',');
            at = at != NULL ? at + 1 : NULL;
        }
    }
    cse_text_add_bytes(out, "}", 1);
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

cse_status cse_curves_turn(const char *rows, const cse_curves_head *head, bool binary,
                           cse_text *out)
{
    cse_text text = { 0 }, numbers = { 0 };
    cse_text_add(&text, "{\"series\":[");
    bool first = true;
    for (const char *at = rows; at != NULL;) {
        series s = { .count = 0 };
        at = take_series(at, &s);
        if (at != NULL && binary)
            add_binary(&s, first, &text, &numbers);
        else if (at != NULL)
            add_json(&s, first, &text);
        first = false;
        clear_series(&s);
    }
    cse_text_add(&text,
                 "],\"names\":%s,\"attempts\":%lld,\"last_event_id\":%lld,\"dropped_series\":%lld}",
                 head->names, (long long)head->attempts, (long long)head->last_event_id,
                 (long long)head->dropped_series);
    if (binary)
        join_binary(&text, &numbers, out);
    else
        cse_text_add_bytes(out, text.data, text.size);
    cse_text_clear(&text);
    cse_text_clear(&numbers);
    return CSE_OK;
}
