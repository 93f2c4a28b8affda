/* Numbers stand below each other; names are cut so that a row fits a line. */
#include "cli/terminal/confusion.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/terminal/printing.h"
#include "engine/base/arena.h"
#include "engine/base/escape.h"
#include "engine/base/text.h"

enum { SHOWN_CLASSES = 20, SHOWN_PAIRS = 10, MOST_NAME = 14, CELL = 7 };

static void name_of(const cse_job_confusion *c, int number, size_t most, char *text, size_t size)
{
    char printable[256];
    if (c->names == NULL) {
        snprintf(text, size, "%d", number);
        return;
    }
    cse_text_printable(c->names[number], printable, sizeof printable);
    snprintf(text, size, "%.*s", (int)most, printable);
}

static double at(const cse_job_confusion *c, int row, int column)
{
    return c->counts[row * c->classes + column];
}

/* Of the diagonal's element over its row or column; "-" of nothing. */
static void print_share(FILE *out, double correct, double all)
{
    if (all > 0)
        fprintf(out, " %*.4f", CELL, correct / all);
    else
        fprintf(out, " %*s", CELL, "-");
}

static void show_all(FILE *out, const cse_job_confusion *c)
{
    char name[64];
    fprintf(out, "%*s", MOST_NAME, "");
    for (int column = 0; column < c->classes; column++) {
        name_of(c, column, CELL, name, sizeof name);
        cse_print_to(out, " %*s", CELL, name);
    }
    fprintf(out, " %*s\n", CELL, "recall");
    for (int row = 0; row < c->classes; row++) {
        double sum = 0;
        name_of(c, row, MOST_NAME, name, sizeof name);
        cse_print_to(out, "%-*s", MOST_NAME, name);
        for (int column = 0; column < c->classes; column++) {
            sum += at(c, row, column);
            fprintf(out, " %*.6g", CELL, at(c, row, column));
        }
        print_share(out, at(c, row, row), sum);
        fprintf(out, "\n");
    }
    fprintf(out, "%-*s", MOST_NAME, "precision");
    for (int column = 0; column < c->classes; column++) {
        double sum = 0;
        for (int row = 0; row < c->classes; row++)
            sum += at(c, row, column);
        print_share(out, at(c, column, column), sum);
    }
    fprintf(out, "\n");
}

/* The cells beside the diagonal with the greatest counts. */
static void show_most_frequent(FILE *out, const cse_job_confusion *c)
{
    bool *taken = cse_calloc((size_t)c->classes * (size_t)c->classes, sizeof *taken);
    for (int shown = 0; shown < SHOWN_PAIRS; shown++) {
        int best = -1;
        for (int i = 0; i < c->classes * c->classes; i++)
            if (i / c->classes != i % c->classes && !taken[i] && c->counts[i] > 0 &&
                (best < 0 || c->counts[i] > c->counts[best]))
                best = i;
        if (best < 0)
            break;
        char label[64], prediction[64];
        taken[best] = true;
        name_of(c, best / c->classes, 40, label, sizeof label);
        name_of(c, best % c->classes, 40, prediction, sizeof prediction);
        cse_print_to(out, "%*.6g  %s taken for %s\n", CELL, c->counts[best], label, prediction);
    }
    free(taken);
}

void cse_confusion_show(FILE *out, const cse_job_confusion *c)
{
    if (c->classes > SHOWN_CLASSES) {
        cse_print_to(out, "%s, the most frequent confusions:\n", c->name);
        show_most_frequent(out, c);
        return;
    }
    cse_print_to(out, "%s, rows are labels, columns predictions:\n", c->name);
    show_all(out, c);
}

static void add_class(cse_text *line, const cse_job_confusion *c, int number)
{
    if (c->names != NULL)
        cse_escape_csv(line, c->names[number]);
    else
        cse_text_add(line, "%d", number);
}

static void print_cell(FILE *file, const cse_job_confusion *c, int row, int column)
{
    cse_text line = { 0 };
    cse_escape_csv(&line, c->name);
    cse_text_add(&line, ",");
    add_class(&line, c, row);
    cse_text_add(&line, ",");
    add_class(&line, c, column);
    cse_text_add(&line, ",%.15g\n", at(c, row, column));
    fwrite(line.data, 1, line.size, file);
    cse_text_clear(&line);
}

cse_status cse_confusion_write_csv(const char *path, const cse_job_result *result)
{
    if (result->confusion_count == 0)
        return cse_fail(CSE_USAGE, "--confusion_csv: the configuration asks for no confusion "
                                   "matrix: add metrics: [{confusion_matrix: {num_classes: N}}]");
    FILE *file = fopen(path, "we");
    if (file == NULL)
        return cse_fail(CSE_IO, "%s: cannot be written: %s", path, strerror(errno));
    fputs("matrix,label,prediction,count\n", file);
    for (int i = 0; i < result->confusion_count; i++) {
        const cse_job_confusion *c = &result->confusions[i];
        for (int cell = 0; cell < c->classes * c->classes; cell++)
            print_cell(file, c, cell / c->classes, cell % c->classes);
    }
    const bool failed = ferror(file) != 0;
    return fclose(file) != 0 || failed
               ? cse_fail(CSE_IO, "%s: cannot be written: %s", path, strerror(errno))
               : CSE_OK;
}
