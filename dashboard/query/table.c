/* Columns are looked up as the names of conditions are: what one filters by can be shown. */
#include "dashboard/query/table.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "dashboard/query/lookup.h"
#include "engine/base/arena.h"

/* Differs between any two runs, and says nothing. */
static const char own_folder[] = "trainer.init.model_dir";

static json_t *object_of(const json_t *values, const char *member)
{
    return json_object_get(values, member);
}

static void add_name(json_t *names, json_t *known, const char *name)
{
    if (json_object_get(known, name) != NULL)
        return;
    json_object_set_new(known, name, json_true());
    json_array_append_new(names, json_string(name));
}

/* The keys of a member of all runs, as they are met, and which of them differ. */
typedef struct key_list {
    json_t *names;     /* array */
    json_t *known;     /* the same as keys of an object: true, where two runs differ in it */
    const json_t *all; /* that member of the first run */
} key_list;

static void mark(key_list *keys, const char *key, bool differs)
{
    const json_t *before = json_object_get(keys->known, key);
    if (before == NULL)
        json_array_append_new(keys->names, json_string(key));
    if (before == NULL || (differs && !json_is_true(before)))
        json_object_set_new(keys->known, key, json_boolean(differs));
}

/* One look-up for each value: tables of a thousand runs have a hundred thousand of them. */
static void add_run(key_list *keys, const json_t *member)
{
    const char *key;
    json_t *value;
    size_t shared = 0;
    json_object_foreach((json_t *)(uintptr_t)member, key, value)
    {
        const json_t *first = json_object_get(keys->all, key);
        shared += first != NULL;
        if (first == NULL || !json_equal(first, value))
            mark(keys, key, true);
    }
    if (shared < json_object_size(keys->all))
        json_object_foreach((json_t *)(uintptr_t)keys->all, key,
                            value) if (json_object_get(member, key) == NULL) mark(keys, key, true);
}

static key_list keys_of(const json_t *runs, const char *of, const char *member)
{
    key_list keys = { .names = json_array(), .known = json_object() };
    size_t i;
    json_t *run, *value;
    const char *key;
    keys.all = object_of(object_of(json_array_get(runs, 0), of), member);
    json_object_foreach((json_t *)(uintptr_t)keys.all, key, value) mark(&keys, key, false);
    json_array_foreach(runs, i, run) if (i > 0)
        add_run(&keys, object_of(object_of(run, of), member));
    return keys;
}

/* Adds the names that differ to `differing`; gives all of them back. */
static json_t *take_names(key_list keys, json_t *differing)
{
    size_t i;
    json_t *name;
    json_array_foreach(keys.names, i, name)
    {
        const char *text = json_string_value(name);
        if (strcmp(text, own_folder) != 0 && json_is_true(json_object_get(keys.known, text)))
            json_array_append(differing, name);
    }
    json_decref(keys.known);
    return keys.names;
}

json_t *cse_table_names(const json_t *runs)
{
    json_t *differing = json_array(), *unused = json_array();
    json_t *settings = take_names(keys_of(runs, "values", "settings"), differing);
    json_t *labels = take_names(keys_of(runs, "job", "labels"), differing);
    json_t *series = take_names(keys_of(runs, "values", "metrics"), unused);
    json_decref(unused);
    return json_pack("{s:o, s:o, s:o, s:o}", "settings", settings, "labels", labels, "series",
                     series, "differing", differing);
}

json_t *cse_table_columns(const json_t *names)
{
    static const char *const lists[] = { "differing", "labels", "series" };
    json_t *columns = json_array(), *known = json_object(), *name;
    size_t i;
    for (size_t l = 0; l < sizeof lists / sizeof lists[0]; l++)
        json_array_foreach(json_object_get(names, lists[l]), i, name)
            add_name(columns, known, json_string_value(name));
    json_decref(known);
    return columns;
}

/* The first value of a name. */
static void take_first(void *self, const char *text)
{
    json_t **value = self;
    char *end = NULL;
    if (*value != NULL)
        return;
    const double number = strtod(text, &end);
    *value =
        end != text && *end == '\0' && isfinite(number) ? json_real(number) : json_string(text);
}

static json_t *value_of(const json_t *run, const char *name)
{
    json_t *value = NULL;
    cse_lookup(name, json_object_get(run, "job"), json_object_get(run, "values"), take_first,
               &value);
    return value != NULL ? value : json_null();
}

static json_t *values_of(const json_t *run, const json_t *names)
{
    size_t i;
    json_t *name, *values = json_array();
    json_array_foreach(names, i, name)
        json_array_append_new(values, value_of(run, json_string_value(name)));
    return values;
}

/* Of two lists of values of the same columns. */
static json_t *deltas_of(const json_t *values, const json_t *baseline)
{
    size_t i;
    json_t *value, *deltas = json_array();
    json_array_foreach(values, i, value)
    {
        const json_t *from = json_array_get(baseline, i);
        const bool numbers = json_is_real(value) && json_is_real(from);
        json_array_append_new(deltas,
                              numbers ? json_real(json_real_value(value) - json_real_value(from))
                                      : json_null());
    }
    return deltas;
}

json_t *cse_table_rows(const json_t *runs, const json_t *columns, const json_t *baseline)
{
    static const char *const members[] = { "id", "name", "state" };
    size_t i;
    json_t *run, *rows = json_array();
    json_t *from = baseline != NULL ? values_of(baseline, columns) : NULL;
    json_array_foreach(runs, i, run)
    {
        json_t *row = json_object(), *values = values_of(run, columns);
        for (size_t m = 0; m < sizeof members / sizeof members[0]; m++)
            json_object_set(row, members[m],
                            json_object_get(json_object_get(run, "job"), members[m]));
        json_object_set_new(row, "values", values);
        if (from != NULL)
            json_object_set_new(row, "deltas", deltas_of(values, from));
        json_array_append_new(rows, row);
    }
    json_decref(from);
    return rows;
}

/* ---- order ---- */

typedef struct place {
    json_t *value;
    size_t at;
    bool down;
} place;

static int rank_of(const json_t *value)
{
    return json_is_real(value) ? 0 : json_is_string(value) ? 1 : 2;
}

static int compare_places(const void *left, const void *right)
{
    const place *a = left, *b = right;
    const int rank = rank_of(a->value);
    int order = 0;
    if (rank != rank_of(b->value))
        return rank - rank_of(b->value);
    if (rank == 0) {
        const double x = json_real_value(a->value), y = json_real_value(b->value);
        order = (x > y) - (x < y);
    } else if (rank == 1) {
        order = strcasecmp(json_string_value(a->value), json_string_value(b->value));
    }
    if (order != 0)
        return a->down ? -order : order;
    return (a->at > b->at) - (a->at < b->at);
}

json_t *cse_table_sorted(const json_t *runs, const char *name, bool down)
{
    const size_t count = json_array_size(runs);
    place *places = cse_calloc(count + 1, sizeof *places);
    json_t *run, *sorted = json_array();
    size_t i;
    json_array_foreach(runs, i, run) places[i] = (place){ value_of(run, name), i, down };
    qsort(places, count, sizeof *places, compare_places);
    for (i = 0; i < count; i++) {
        json_array_append(sorted, json_array_get(runs, places[i].at));
        json_decref(places[i].value);
    }
    free(places);
    return sorted;
}

/* ---- groups ---- */

/* Of the numbers of column `c` in the rows; null: there are none. */
static json_t *figures_of(const json_t *rows, size_t c)
{
    double sum = 0, squares = 0, least = INFINITY, most = -INFINITY;
    int64_t count = 0;
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        const json_t *value = json_array_get(row, c);
        if (!json_is_real(value))
            continue;
        const double number = json_real_value(value), before = count > 0 ? sum / (double)count : 0;
        sum += number;
        count++;
        squares += (number - before) * (number - sum / (double)count); /* Welford */
        least = fmin(least, number);
        most = fmax(most, number);
    }
    if (count == 0)
        return json_null();
    return json_pack("{s:f, s:o, s:f, s:f, s:I}", "mean", sum / (double)count, "deviation",
                     count > 1 ? json_real(sqrt(squares / (double)(count - 1))) : json_null(),
                     "minimum", least, "maximum", most, "count", (json_int_t)count);
}

static json_t *group_of(json_t *groups, const json_t *key)
{
    size_t i;
    json_t *group;
    json_array_foreach(groups, i,
                       group) if (json_equal(json_object_get(group, "key"), key)) return group;
    group = json_pack("{s:O, s:[]}", "key", key, "rows");
    json_array_append_new(groups, group);
    return group;
}

json_t *cse_table_groups(const json_t *runs, const json_t *columns, const json_t *by)
{
    size_t i, c;
    json_t *run, *group, *column, *groups = json_array();
    json_array_foreach(runs, i, run)
    {
        json_t *key = values_of(run, by);
        group = group_of(groups, key);
        json_array_append_new(json_object_get(group, "rows"), values_of(run, columns));
        json_decref(key);
    }
    json_array_foreach(groups, i, group)
    {
        json_t *rows = json_object_get(group, "rows"), *figures = json_array();
        json_array_foreach(columns, c, column) json_array_append_new(figures, figures_of(rows, c));
        json_object_set_new(group, "count", json_integer((json_int_t)json_array_size(rows)));
        json_object_set_new(group, "columns", figures);
        json_object_del(group, "rows");
    }
    return groups;
}
