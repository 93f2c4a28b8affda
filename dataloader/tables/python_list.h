/* A list of strings as Python prints it: ['[CLS]', "don't", '\\']. */
#ifndef CSE_DATALOADER_TABLES_PYTHON_LIST_H
#define CSE_DATALOADER_TABLES_PYTHON_LIST_H

#include "csengine/status.h"

/* Splits the text in place: each string ends where it did, without its quotes and escapes, and
 * `*count` of them are in `strings`. CSE_DATA for other text, and for more than `most`. */
cse_status cse_python_list_split(char *text, char **strings, int most, int *count);

#endif
