/* Checks a word against a list of accepted ones. */
#ifndef CSE_CLI_ARGUMENTS_CHECK_WORD_H
#define CSE_CLI_ARGUMENTS_CHECK_WORD_H

#include "csengine/status.h"

/* Fails with "WHAT "WORD"; did you mean "..."?; accepted: ..." unless `word` is one of `accepted`,
 * which NULL ends. */
cse_status cse_check_word(const char *what, const char *word, const char *const *accepted);

#endif
