/* Prints text of a model: valid UTF-8 as it is, control characters as \xNN. */
#ifndef CSE_CLI_TERMINAL_TEXT_OUTPUT_H
#define CSE_CLI_TERMINAL_TEXT_OUTPUT_H

#include <stddef.h>

/* On stdout, at once; the text holds whole characters. */
void cse_print_model_text(const char *text, size_t size);

#endif
