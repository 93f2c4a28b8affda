/* A table of runs: values by name, what differs between them, and figures over groups of equals. */
#ifndef CSE_DASHBOARD_QUERY_TABLE_H
#define CSE_DASHBOARD_QUERY_TABLE_H

#include <jansson.h>
#include <stdbool.h>

/* `runs` is an array of {"job": as the API shows it, "values": as cse_job_values gives them}. All
 * results are new arrays. */

/* What a column can be: {settings, labels, series: every name of the kind; differing: those of the
 * settings and labels in which two runs differ}. */
json_t *cse_table_names(const json_t *runs);

/* Of these names those that tell the runs apart: what differs, labels, and series. */
json_t *cse_table_columns(const json_t *names);

/* {id, name, state, values: [number|string|null for each column]} for each run; with a baseline
 * (a run, or NULL) also deltas: [number|null], by how much each number is above its. */
json_t *cse_table_rows(const json_t *runs, const json_t *columns, const json_t *baseline);

/* The runs in the order of a name's value: numbers, then texts, both rising, or with `down`
 * falling; runs without a value are last, and equals stay as they stood. */
json_t *cse_table_sorted(const json_t *runs, const char *name, bool down);

/* Runs that are alike in `by`: {key: [...], count, columns: [{mean, deviation, minimum, maximum,
 * count} or null for each column]}, in the order of their first runs. Figures are of the runs that
 * have a number; the deviation is that of a sample, null for one run. */
json_t *cse_table_groups(const json_t *runs, const json_t *columns, const json_t *by);

#endif
