/* The head is placed first, then parts by importance as long as they fit; what remains is the
 * bar's. */
#include "cli/terminal/progress_line.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PART_BYTES = 64, LEAST_BAR = 5, MOST_BAR = 32 };

typedef struct parts {
    char text[CSE_PARTS][PART_BYTES]; /* "" : left out */
    int columns;                      /* of all that are in, with the blanks between them */
} parts;

static const struct {
    const char *word, *colour;
} phases[] = {
    [CSE_JOB_PREPARING] = { "preparing", "\033[36m" },
    [CSE_JOB_COMPILING] = { "compiling", "\033[36m" },
    [CSE_JOB_STARTING] = { "starting", "\033[36m" },
    [CSE_JOB_TRAINING] = { "train", "\033[32m" },
    [CSE_JOB_VALIDATING] = { "validate", "\033[34m" },
    [CSE_JOB_SAVING] = { "save", "\033[36m" },
    [CSE_JOB_STORAGE] = { "storage", "\033[33m" },
    [CSE_JOB_RECOVERING] = { "recover", "\033[33m" },
    [CSE_JOB_PAUSED] = { "paused", "\033[33m" },
    [CSE_JOB_STOPPING] = { "stopping", "\033[33m" },
};

const char *cse_short_duration(double seconds, char text[24])
{
    if (!(seconds >= 0) || seconds > 366.0 * 86400) {
        snprintf(text, 24, "-");
        return text;
    }
    const long whole = lround(seconds);
    if (whole >= 3600)
        snprintf(text, 24, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
    else
        snprintf(text, 24, "%ld:%02ld", whole / 60, whole % 60);
    return text;
}

/* ---- the texts of the parts ---- */

static void write_count(const cse_progress_state *s, char text[44])
{
    if (s->last_step > 0)
        snprintf(text, 44, "%lld/%lld", (long long)s->step, (long long)s->last_step);
    else
        snprintf(text, 44, "%lld", (long long)s->step);
}

/* The longest form that fits. */
static void write_head(const cse_progress_state *s, int width, char *text)
{
    char count[44], duration[24];
    const char *word = phases[s->phase].word;
    write_count(s, count);
    if (s->has_step)
        snprintf(text, PART_BYTES, "%s %s", word, count);
    else
        snprintf(text, PART_BYTES, "%s %s", word, cse_short_duration(s->phase_seconds, duration));
    if ((int)strlen(text) > width)
        snprintf(text, PART_BYTES, "%s", s->has_step ? count : word);
    if ((int)strlen(text) > width && s->has_step)
        snprintf(text, PART_BYTES, "%lld", (long long)s->step);
    if ((int)strlen(text) > width)
        text[0] = '\0';
}

/* Four decimals, or for a size that they do not suit an exponent without a leading zero. */
static void write_loss(const cse_progress_state *s, char *text)
{
    const double size = fabs(s->loss);
    if (!s->has_loss)
        return;
    snprintf(text, PART_BYTES, "loss %.4f", s->loss);
    if (!isfinite(s->loss) || size == 0 || (size >= 0.01 && size < 1e5))
        return;
    snprintf(text, PART_BYTES, "loss %.2e", s->loss);
    char *digit = strchr(text, 'e') + 2;
    if (digit[0] == '0')
        memmove(digit, digit + 1, strlen(digit));
}

static void write_epoch(const cse_progress_state *s, char *text)
{
    if (!(s->epoch > 0))
        return;
    const double epoch = ceil(s->epoch), last = ceil(s->last_epoch);
    if (last >= epoch)
        snprintf(text, PART_BYTES, "epoch %.0f/%.0f", epoch, last);
    else
        snprintf(text, PART_BYTES, "epoch %.0f", epoch);
}

static void write_rate(const cse_progress_state *s, char *text)
{
    const double rate = s->samples_per_second;
    if (!(rate > 0))
        return;
    if (rate < 10)
        snprintf(text, PART_BYTES, "%.2f samples/s", rate);
    else if (rate < 99999.5)
        snprintf(text, PART_BYTES, "%.0f samples/s", rate);
    else if (rate < 999500)
        snprintf(text, PART_BYTES, "%.0fk samples/s", rate / 1e3);
    else
        snprintf(text, PART_BYTES, "%.3gM samples/s", rate / 1e6);
}

static void write_part(const cse_progress_state *s, cse_progress_part part, char *text)
{
    char duration[24];
    text[0] = '\0';
    if (part == CSE_PART_LOSS)
        write_loss(s, text);
    else if (part == CSE_PART_EPOCH)
        write_epoch(s, text);
    else if (part == CSE_PART_RATE)
        write_rate(s, text);
    else if (part == CSE_PART_LEARNING_RATE && isfinite(s->learning_rate))
        snprintf(text, PART_BYTES, "lr %.3g", s->learning_rate);
    else if (part == CSE_PART_TIME_LEFT && s->seconds_left >= 0)
        snprintf(text, PART_BYTES, "%s left", cse_short_duration(s->seconds_left, duration));
}

static void write_bar(const cse_progress_state *s, int columns, char *text)
{
    const int inner = columns - 2;
    double share = (double)s->step / (double)s->last_step;
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    const int full = (int)(share * inner);
    text[0] = '[';
    for (int i = 0; i < inner; i++)
        text[1 + i] = i < full ? '=' : i == full ? '>' : ' ';
    text[1 + inner] = ']';
    text[2 + inner] = '\0';
}

/* ---- the line ---- */

static void choose_parts(const cse_progress_state *s, cse_progress_format format, parts *p)
{
    write_head(s, format.width, p->text[CSE_PART_HEAD]);
    p->columns = (int)strlen(p->text[CSE_PART_HEAD]);
    if (p->columns == 0)
        return;
    for (int part = CSE_PART_HEAD + 1; part < CSE_PART_BAR && s->has_step; part++) {
        if (!format.live && part == CSE_PART_TIME_LEFT)
            continue;
        write_part(s, (cse_progress_part)part, p->text[part]);
        int columns = (int)strlen(p->text[part]);
        if (columns == 0)
            continue;
        if (p->columns + 1 + columns > format.width) {
            p->text[part][0] = '\0';
            return;
        }
        p->columns += 1 + columns;
    }
    int bar = format.width - p->columns - 1;
    if (!format.live || !s->has_step || s->last_step <= 0 || bar < LEAST_BAR)
        return;
    bar = bar > MOST_BAR ? MOST_BAR : bar;
    write_bar(s, bar, p->text[CSE_PART_BAR]);
    p->columns += 1 + bar;
}

int cse_progress_line(const cse_progress_state *state, cse_progress_format format, char *text)
{
    static const cse_progress_part order[] = { CSE_PART_HEAD,          CSE_PART_BAR,
                                               CSE_PART_EPOCH,         CSE_PART_LOSS,
                                               CSE_PART_LEARNING_RATE, CSE_PART_RATE,
                                               CSE_PART_TIME_LEFT };
    parts p = { .columns = 0 };
    size_t size = 0;
    if (format.width > CSE_PROGRESS_COLUMNS)
        format.width = CSE_PROGRESS_COLUMNS;
    choose_parts(state, format, &p);
    text[0] = '\0';
    for (int i = 0; i < CSE_PARTS; i++) {
        const char *part = p.text[order[i]];
        bool coloured = format.colour && order[i] == CSE_PART_HEAD;
        if (*part == '\0')
            continue;
        size += (size_t)snprintf(text + size, CSE_PROGRESS_LINE_BYTES - size, "%s%s%s%s",
                                 size > 0 ? " " : "", coloured ? phases[state->phase].colour : "",
                                 part, coloured ? "\033[0m" : "");
    }
    return p.columns;
}
