/* What this machine's matrix products give, in one number: another processor, library or choice of
 * kernel that rounds one element differently gives another one. */
#ifndef CSE_EXECUTE_SELF_TEST_H
#define CSE_EXECUTE_SELF_TEST_H

#include <stdint.h>

/* Of small products in float32 and bfloat16, with operands as they are and transposed; takes some
 * milliseconds. Not to be called while a graph is traced. */
uint64_t cse_kernel_self_test(void);

#endif
