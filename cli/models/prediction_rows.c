/* Texts are printable ones; CSV is that of RFC 4180, with a point in numbers. */
#include "cli/models/prediction_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/escape.h"
#include "engine/base/text.h"

void cse_prediction_row_add(cse_prediction_row *row, const char *text, double probability)
{
    CSE_GROW(row->predictions, row->count, row->capacity);
    row->predictions[row->count++] = (cse_prediction){ cse_strdup(text), probability };
}

void cse_prediction_row_clear(cse_prediction_row *row)
{
    for (int i = 0; i < row->count; i++)
        free(row->predictions[i].text);
    free(row->predictions);
    free(row->place);
    free(row->label);
    *row = (cse_prediction_row){ .sample = 0 };
}

void cse_prediction_row_table(const cse_prediction_row *row, cse_table *table)
{
    cse_text text = { 0 };
    for (int i = 0; i < row->count; i++) {
        const cse_prediction *p = &row->predictions[i];
        cse_text_add(&text, "%s%s", i > 0 ? ", " : "", p->text);
        if (!isnan(p->probability))
            cse_text_add(&text, " (%.4f)", p->probability);
    }
    cse_table_add(table, "%" PRId64, row->sample);
    cse_table_add(table, "%s", row->place != NULL ? row->place : "");
    cse_table_add(table, "%s", row->label != NULL ? row->label : "");
    cse_table_add(table, "%s", text.size > 0 ? text.data : "");
    cse_text_clear(&text);
}

static void print_field(const char *text)
{
    cse_text field = { 0 };
    if (text == NULL)
        return;
    cse_escape_csv(&field, text);
    fwrite(field.data, 1, field.size, stdout);
    cse_text_clear(&field);
}

void cse_prediction_row_csv(const cse_prediction_row *row, bool first)
{
    if (first)
        puts("sample,place,label,rank,prediction,probability");
    for (int i = 0; i < row->count; i++) {
        printf("%" PRId64 ",", row->sample);
        print_field(row->place);
        putchar(',');
        print_field(row->label);
        printf(",%d,", i + 1);
        print_field(row->predictions[i].text);
        putchar(',');
        if (!isnan(row->predictions[i].probability))
            printf("%.9g", row->predictions[i].probability);
        putchar('\n');
    }
}

static void add(json_t *line, const char *name, json_t *value)
{
    if (json_object_get(line, name) == NULL)
        json_object_set(line, name, value);
    json_decref(value);
}

void cse_prediction_row_json(const cse_prediction_row *row, json_t *line)
{
    add(line, "sample", json_integer(row->sample));
    if (row->place != NULL)
        add(line, "place", json_string(row->place));
    if (row->label != NULL)
        add(line, "label_name", json_string(row->label));
    if (row->count == 0)
        return;
    add(line, "prediction", json_string(row->predictions[0].text));
    if (!isnan(row->predictions[0].probability))
        add(line, "probability", json_real(row->predictions[0].probability));
}
