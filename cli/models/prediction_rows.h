/* How `csengine predict` prints what it says of a sample, whatever that is: the same columns for
 * rows of tables, pictures and texts, as a table for people, as CSV and as lines of JSON. */
#ifndef CSE_CLI_MODELS_PREDICTION_ROWS_H
#define CSE_CLI_MODELS_PREDICTION_ROWS_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/terminal/table.h"

/* One of the most likely things, or a value. */
typedef struct cse_prediction {
    char *text;         /* the name of a class, a value, a token; owned by the row */
    double probability; /* NaN: it has none */
} cse_prediction;

/* Start from a zeroed struct; release with cse_prediction_row_clear. */
typedef struct cse_prediction_row {
    int64_t sample;
    char *place; /* the file, and where in it; NULL: not known */
    char *label; /* what the data say; NULL: they do not */
    cse_prediction *predictions;
    int count, capacity;
} cse_prediction_row;

void cse_prediction_row_add(cse_prediction_row *row, const char *text, double probability);
void cse_prediction_row_clear(cse_prediction_row *row);

/* The names of the columns of the table. */
#define CSE_PREDICTION_HEADS "SAMPLE", "PLACE", "LABEL", "PREDICTION"
/* Adds a row to a table that begins with these columns. */
void cse_prediction_row_table(const cse_prediction_row *row, cse_table *table);
/* Prints sample,place,label,rank,prediction,probability: a line for each prediction, from the most
 * likely one on, rank 1; before the first row, with `first`, the names of these columns. */
void cse_prediction_row_csv(const cse_prediction_row *row, bool first);
/* Adds those of the members sample, place, label_name, prediction and probability that the line
 * does not have. */
void cse_prediction_row_json(const cse_prediction_row *row, json_t *line);

#endif
