/* A table of runs as comma-separated values (RFC 4180). */
#ifndef CSE_DASHBOARD_QUERY_TABLE_CSV_H
#define CSE_DASHBOARD_QUERY_TABLE_CSV_H

#include <jansson.h>

#include "engine/base/text.h"

/* Appends the rows of `table`, {columns, rows, groups, baseline} as the API shows it, or with `by`
 * (the names that it is grouped by; else NULL) its groups. */
void cse_table_csv(const json_t *table, const json_t *by, cse_text *out);

#endif
