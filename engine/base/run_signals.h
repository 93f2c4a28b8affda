/* What a signal to all processes of a run means: a terminal that closes, a machine that goes down
 * or a scheduler sends one to each of them. The first process and the coordinator answer; all
 * others go on until the coordinator ends them, so that the step in flight can be saved.
 *
 * docs/operations.md has the table. SIGQUIT and SIGKILL end at once; SIGXCPU is a matter of the
 * limit that raises it. */
#ifndef CSE_BASE_RUN_SIGNALS_H
#define CSE_BASE_RUN_SIGNALS_H

typedef enum cse_run_signal {
    CSE_SIGNAL_OTHER,
    CSE_SIGNAL_END,     /* the run ends after the step in flight, with a checkpoint */
    CSE_SIGNAL_PREEMPT, /* the same: another needs the place */
    CSE_SIGNAL_NOTHING, /* of timers, descriptors and profilers: says nothing about the run */
} cse_run_signal;

cse_run_signal cse_run_signal_of(int number);

/* Calls `take` with the number of each signal that is not OTHER. */
void cse_run_signals_each(void (*take)(void *self, int number, cse_run_signal meaning), void *self);

/* In a process of a run that does not answer them: all but SIGTERM are ignored. Programs that it
 * starts inherit that. */
void cse_run_signals_ignore(void);

/* In a process that answers: those that mean nothing do not end it. Programs that it starts have
 * them as usual. */
void cse_run_signals_pass_over(void);

#endif
