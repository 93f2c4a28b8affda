/* Text tables: columns as wide as their widest cell, separated by two blanks. */
#ifndef CSE_CLI_TERMINAL_TABLE_H
#define CSE_CLI_TERMINAL_TABLE_H

#include <stdint.h>
#include <stdio.h>

typedef struct cse_table cse_table;

/* `heads` is ended by NULL. */
cse_table *cse_table_new(const char *const *heads);
/* Adds a cell, from left to right, row by row. Control characters become "?"; an empty cell is
 * shown as "-". */
void cse_table_add(cse_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cse_table_print(const cse_table *table, FILE *out);
void cse_table_destroy(cse_table **table);

/* A time span in the two largest units: "45s", "3m20s", "5h12m", "3d4h". "-" when negative. */
enum { CSE_AGE_BYTES = 24 };
const char *cse_age_text(double seconds, char text[CSE_AGE_BYTES]);

#endif
