/* Numbers have all digits that they need to be read as the same again. */
#include "dashboard/query/table_csv.h"

#include <stdbool.h>

#include "engine/base/escape.h"
#include "engine/base/json.h"

static void add_cell(cse_text *out, const json_t *value)
{
    cse_text_add(out, ",");
    if (json_is_string(value))
        cse_escape_csv(out, json_string_value(value));
    else if (json_is_integer(value))
        cse_text_add_number(out, json_integer_value(value));
    else if (json_is_real(value))
        cse_json_add_number(out, json_real_value(value));
}

static void add_head(cse_text *out, const char *name, const char *of)
{
    cse_text whole = { 0 };
    cse_text_add(&whole, "%s%s%s", of, *of != '\0' ? " of " : "", name);
    cse_text_add(out, ",");
    cse_escape_csv(out, whole.data);
    cse_text_clear(&whole);
}

static void add_rows(const json_t *table, cse_text *out)
{
    const json_t *columns = json_object_get(table, "columns");
    const bool has_deltas = json_is_object(json_object_get(table, "baseline"));
    json_t *one, *row;
    size_t i, c;
    cse_text_add(out, "id,name,state");
    json_array_foreach(columns, c, one) add_head(out, json_string_value(one), "");
    if (has_deltas)
        json_array_foreach(columns, c, one) add_head(out, json_string_value(one), "delta");
    cse_text_add(out, "\r\n");
    json_array_foreach(json_object_get(table, "rows"), i, row)
    {
        cse_escape_csv(out, json_string_value(json_object_get(row, "id")));
        add_cell(out, json_object_get(row, "name"));
        add_cell(out, json_object_get(row, "state"));
        json_array_foreach(json_object_get(row, "values"), c, one) add_cell(out, one);
        json_array_foreach(json_object_get(row, "deltas"), c, one) add_cell(out, one);
        cse_text_add(out, "\r\n");
    }
}

static void add_groups(const json_t *table, const json_t *by, cse_text *out)
{
    static const char *const figures[] = { "mean", "deviation", "minimum", "maximum", "count" };
    enum { FIGURES = sizeof figures / sizeof figures[0] };
    json_t *one, *group;
    size_t i, c;
    cse_text_add(out, "runs");
    json_array_foreach(by, c, one) add_head(out, json_string_value(one), "");
    json_array_foreach(json_object_get(table, "columns"), c, one) for (int f = 0; f < FIGURES; f++)
        add_head(out, json_string_value(one), figures[f]);
    cse_text_add(out, "\r\n");
    json_array_foreach(json_object_get(table, "groups"), i, group)
    {
        cse_text_add_number(out, json_integer_value(json_object_get(group, "count")));
        json_array_foreach(json_object_get(group, "key"), c, one) add_cell(out, one);
        json_array_foreach(json_object_get(group, "columns"), c, one) for (int f = 0; f < FIGURES;
                                                                           f++)
            add_cell(out, json_object_get(one, figures[f]));
        cse_text_add(out, "\r\n");
    }
}

void cse_table_csv(const json_t *table, const json_t *by, cse_text *out)
{
    if (by != NULL)
        add_groups(table, by, out);
    else
        add_rows(table, out);
}
