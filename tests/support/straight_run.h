/* Short names of run/contracts/straight_run.h. */
#ifndef CSE_TESTS_SUPPORT_STRAIGHT_RUN_H
#define CSE_TESTS_SUPPORT_STRAIGHT_RUN_H

#include "run/contracts/straight_run.h"

#define straight_run cse_straight_run
#define straight_run_init cse_straight_run_init
#define straight_run_clear cse_straight_run_clear
#define straight_run_frame cse_straight_run_frame
#define straight_run_step cse_straight_run_step
#define straight_run_state cse_straight_run_state
#define straight_run_fetched cse_straight_run_fetched

#endif
