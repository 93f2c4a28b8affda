/* A function of the generated C of a step, which has one for each group, or one for equal ones. */
#ifndef CSE_CODEGEN_GENERATED_FUNCTION_H
#define CSE_CODEGEN_GENERATED_FUNCTION_H

#include <stddef.h>

/* In the text of step.c, the function with this number (cse_program.functions_of), with the comment
 * before it, which has a line for each node of its first group. NULL: there is none. */
const char *cse_generated_function(const char *source, int number, size_t *size);

#endif
