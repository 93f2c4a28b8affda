/* The processor's matrix units (AMX). */
#ifndef CSE_KERNELS_MATRIX_UNITS_H
#define CSE_KERNELS_MATRIX_UNITS_H

#include <stdbool.h>

/* Whether they multiply bfloat16 here. The first call requests their registers for the process. */
bool cse_matrix_units_run_here(void);

#endif
