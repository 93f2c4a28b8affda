/* JSON as commands print it. */
#ifndef CSE_CLI_TERMINAL_JSON_VALUES_H
#define CSE_CLI_TERMINAL_JSON_VALUES_H

#include "engine/base/json_value.h"

/* Prints the value as one line on stdout; numbers keep all their digits. What could drive a
 * terminal is escaped inside of the strings. */
void cse_json_print(const json_t *value);
/* The same of JSON that is text already, of a server or of a table; its end of line is added. */
void cse_json_print_text(const char *json);

#endif
