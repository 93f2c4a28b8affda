/* The floating-point mode in which every step is computed, in every process and thread: round to
 * nearest even, subnormal results and operands are zero (FTZ, DAZ). */
#ifndef CSE_BASE_FLOAT_MODE_H
#define CSE_BASE_FLOAT_MODE_H

#include <stdint.h>

/* That of the calling thread, for cse_float_mode_restore. */
typedef uint64_t cse_float_mode;
cse_float_mode cse_float_mode_of_thread(void);
void cse_float_mode_restore(cse_float_mode mode);

/* Sets it for the calling thread, and for those that it starts from then on. */
void cse_set_float_mode(void);

#endif
