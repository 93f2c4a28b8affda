/* All cells are stored before the first is printed, since widths depend on them. */
#include "cli/terminal/table.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/text.h"

struct cse_table {
    char **cells; /* the heads first */
    int columns, count, capacity;
};

/* Columns that the text takes on a terminal, one for each character of UTF-8. */
static int width_of(const char *text)
{
    int width = 0;
    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void keep(cse_table *table, char *cell)
{
    for (char *c = cell; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?'; /* also ends of lines and tabs, which would move the columns */
    CSE_GROW(table->cells, table->count, table->capacity);
    table->cells[table->count++] = cell;
}

cse_table *cse_table_new(const char *const *heads)
{
    cse_table *table = cse_calloc(1, sizeof *table);
    for (; heads[table->columns] != NULL; table->columns++)
        keep(table, cse_strdup(heads[table->columns]));
    return table;
}

void cse_table_add(cse_table *table, const char *format, ...)
{
    va_list arguments;
    char *cell = NULL;
    va_start(arguments, format);
    if (vasprintf(&cell, format, arguments) < 0)
        cell = cse_strdup("");
    va_end(arguments);
    const size_t whole = cse_text_printable(cell, NULL, 0);
    char *line = cse_malloc(whole + 1);
    cse_text_one_line(cell, line, whole + 1);
    free(cell);
    keep(table, line);
}

/* Of each column; cse_calloc. */
static int *widths_of(const cse_table *table)
{
    int *widths = cse_calloc((size_t)table->columns + 1, sizeof *widths);
    for (int i = 0; i < table->count; i++) {
        const int width = width_of(table->cells[i]), column = i % table->columns;
        widths[column] = width > widths[column] ? width : widths[column];
    }
    return widths;
}

void cse_table_print(const cse_table *table, FILE *out)
{
    int *widths = widths_of(table);
    for (int i = 0; i < table->count; i++) {
        const char *cell = table->cells[i][0] != '\0' ? table->cells[i] : "-";
        const int column = i % table->columns;
        const int widest = widths[column] > 1 ? widths[column] : 1;
        const bool ends = column + 1 == table->columns || i + 1 == table->count;
        fputs(cell, out);
        if (column + 1 < table->columns)
            fprintf(out, "%*s", widest - width_of(cell) + 2, "");
        if (ends)
            fputc('\n', out);
    }
    free(widths);
}

void cse_table_destroy(cse_table **table)
{
    if (*table == NULL)
        return;
    for (int i = 0; i < (*table)->count; i++)
        free((*table)->cells[i]);
    free((*table)->cells);
    free(*table);
    *table = NULL;
}

const char *cse_age_text(double seconds, char text[CSE_AGE_BYTES])
{
    if (!(seconds >= 0) || seconds > 1e10)
        return "-";
    long whole = (long)seconds;
    long days = whole / 86400, hours = whole / 3600 % 24, minutes = whole / 60 % 60;
    if (days > 0)
        snprintf(text, CSE_AGE_BYTES, "%ldd%ldh", days, hours);
    else if (hours > 0)
        snprintf(text, CSE_AGE_BYTES, "%ldh%ldm", hours, minutes);
    else if (minutes > 0)
        snprintf(text, CSE_AGE_BYTES, "%ldm%lds", minutes, whole % 60);
    else
        snprintf(text, CSE_AGE_BYTES, "%lds", whole);
    return text;
}
