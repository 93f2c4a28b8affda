/* Fibers: functions that stop at a point of their own choice and go on later, in one thread. */
#ifndef CSE_TESTS_SIMULATION_FIBER_H
#define CSE_TESTS_SIMULATION_FIBER_H

#include <stdbool.h>

typedef struct fiber fiber;

/* Runs nothing yet. */
fiber *fiber_new(void (*body)(void *self), void *self);
/* Wherever it stands: what it still holds is the caller's to release. */
void fiber_destroy(fiber **fiber);

/* Runs the fiber until it stops; false when its body has returned. Not from within a fiber. */
bool fiber_resume(fiber *fiber);
/* Stops the fiber that is running. Without effect outside of one. */
void fiber_stop(void);
/* Whether a fiber is running. */
bool fiber_is_running(void);

#endif
