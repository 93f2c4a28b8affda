/* What SQLite's result codes say of a file. */
#ifndef CSE_STORE_RESULT_CODE_H
#define CSE_STORE_RESULT_CODE_H

#include <stdbool.h>

/* The file is not what SQLite wrote. `code` may be an extended one. */
bool cse_is_damage(int code);

#endif
