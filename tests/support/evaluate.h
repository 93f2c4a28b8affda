/* Short names of run/contracts/evaluate.h. */
#ifndef CSE_TESTS_SUPPORT_EVALUATE_H
#define CSE_TESTS_SUPPORT_EVALUATE_H

#include "run/contracts/evaluate.h"

#define evaluation cse_evaluation
#define evaluation_new cse_evaluation_new
#define evaluation_destroy cse_evaluation_destroy
#define evaluation_set cse_evaluation_set
#define evaluation_values cse_evaluation_values

#endif
