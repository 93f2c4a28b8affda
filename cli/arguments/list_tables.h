/* Tables for users and documents: the states of a job, the reasons of a failure, the exit codes.
 * They are printed from the tables that the code uses. */
#ifndef CSE_CLI_ARGUMENTS_LIST_TABLES_H
#define CSE_CLI_ARGUMENTS_LIST_TABLES_H

#include <stdbool.h>

typedef enum cse_list_form { CSE_LIST_TEXT, CSE_LIST_JSON, CSE_LIST_MARKDOWN } cse_list_form;

/* What `csengine list` lists beside the kinds of plugins; a NULL name ends the table. */
typedef struct cse_listed_table {
    const char *name, *summary;
} cse_listed_table;
extern const cse_listed_table cse_listed_tables[];

/* Prints "states", "phases", "reasons" or "exit_codes"; false for another name. */
bool cse_list_table(const char *name, cse_list_form form);

#endif
