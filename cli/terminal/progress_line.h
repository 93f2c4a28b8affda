/* The progress line: from what a run has reached to one line that fits the terminal.
 *
 * A pure function. The line is made of parts; each is shown whole or not at all, and those that do
 * not fit are left out in the order of cse_progress_part, the last first. */
#ifndef CSE_CLI_TERMINAL_PROGRESS_LINE_H
#define CSE_CLI_TERMINAL_PROGRESS_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/job/job_event.h"

/* By importance. */
typedef enum cse_progress_part {
    CSE_PART_HEAD, /* "train 860/1872"; where that is too long "860/1872", "860" or nothing */
    CSE_PART_LOSS,
    CSE_PART_TIME_LEFT,
    CSE_PART_EPOCH,
    CSE_PART_RATE,
    CSE_PART_LEARNING_RATE,
    CSE_PART_BAR,
    CSE_PARTS
} cse_progress_part;

typedef struct cse_progress_state {
    cse_job_phase phase;
    bool has_step;            /* false: only the phase, and for how long */
    int64_t step, last_step;  /* last_step 0: not known */
    double epoch, last_epoch; /* 0: not known */
    double loss;
    bool has_loss;
    double learning_rate;      /* NaN: none */
    double samples_per_second; /* 0: not known */
    double seconds_left;       /* NaN: not known */
    double phase_seconds;      /* since the phase began */
} cse_progress_state;

enum { CSE_PROGRESS_LINE_BYTES = 512, CSE_PROGRESS_COLUMNS = 200 };

typedef struct cse_progress_format {
    int width;   /* most columns; more than CSE_PROGRESS_COLUMNS are not used */
    bool colour; /* with escape sequences, which take no columns */
    bool live;   /* with bar and time left; false: a line that stays */
} cse_progress_format;

/* Writes the line, without an end of line; `text` has CSE_PROGRESS_LINE_BYTES. Returns its columns,
 * at most the width. */
int cse_progress_line(const cse_progress_state *state, cse_progress_format format, char *text);

/* "0:42", "12:07" or "3:05:10" in `text`, which is returned; above a year "-". */
const char *cse_short_duration(double seconds, char text[24]);

#endif
