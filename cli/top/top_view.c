/* From above: the server, the list, the chosen job's curve beside its processes, its newest log
 * lines, the keys. */
#include "cli/top/top_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "cli/client/follow.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text_cells.h"
#include "engine/base/arena.h"

enum { HEAD_ROWS = 2, FOOT_ROWS = 1, LOG_ROWS = 4, LABEL = 10, PROCESSES = 30, MOST_LINE = 400 };

#define INVERSE "\033[7m"
#define BOLD "\033[1m"
#define NORMAL "\033[0m"

/* ---- order ---- */

const char *const cse_top_sorts[] = { "newest",   "id",   "state", "step",
                                      "progress", "loss", "rate",  NULL };
enum { BY_AGE, BY_ID, BY_STATE, BY_STEP, BY_PROGRESS, BY_LOSS, BY_RATE };

/* What needs attention or works comes first. */
static int rank_of_state(const char *state)
{
    static const char *const order[] = { "RUNNING",   "STALLED",   "RECOVERING", "STARTING",
                                         "COMPILING", "STOPPING",  "PAUSED",     "QUEUED",
                                         "FAILED",    "CANCELLED", "SUCCEEDED",  NULL };
    int at = 0;
    while (order[at] != NULL && strcmp(order[at], state) != 0)
        at++;
    return at;
}

static double progress_of(const json_t *job)
{
    const json_t *progress = json_object_get(job, "progress");
    const double last = cse_json_real(progress, "last_step", 0);
    return last > 0 ? cse_json_real(progress, "step", 0) / last : (double)NAN;
}

static double value_of(const json_t *job, int sort)
{
    static const char *const members[] = {
        [BY_STEP] = "step", [BY_LOSS] = "loss", [BY_RATE] = "samples_per_second"
    };
    if (sort == BY_STATE)
        return rank_of_state(cse_json_text(job, "state", ""));
    if (sort == BY_PROGRESS)
        return progress_of(job);
    return cse_json_real(json_object_get(job, "progress"), members[sort], (double)NAN);
}

typedef struct place {
    json_t *job;
    int at, sort;
    bool reversed;
} place;

/* Numbers fall, but for the loss and the state; those without one are last. */
static int compare(const void *left, const void *right)
{
    const place *a = left, *b = right;
    int order = 0;
    if (a->sort == BY_ID) {
        order = strcasecmp(cse_json_text(a->job, "id", ""), cse_json_text(b->job, "id", ""));
    } else if (a->sort != BY_AGE) {
        const double x = value_of(a->job, a->sort), y = value_of(b->job, a->sort);
        if (isnan(x) || isnan(y)) {
            if (isnan(x) != isnan(y))
                return isnan(x) ? 1 : -1;
        } else {
            const bool rises = a->sort == BY_LOSS || a->sort == BY_STATE;
            order = rises ? (x > y) - (x < y) : (x < y) - (x > y);
        }
    }
    if (order == 0)
        order = (a->at > b->at) - (a->at < b->at);
    return a->reversed ? -order : order;
}

json_t *cse_top_sorted(const cse_top_data *data, const cse_top_view *view)
{
    const size_t count = json_array_size(data->jobs);
    place *places = cse_calloc(count + 1, sizeof *places);
    json_t *sorted = json_array();
    for (size_t i = 0; i < count; i++)
        places[i] = (place){ json_array_get(data->jobs, i), (int)i, view->sort, view->reversed };
    qsort(places, count, sizeof *places, compare);
    for (size_t i = 0; i < count; i++)
        json_array_append(sorted, places[i].job);
    free(places);
    return sorted;
}

int cse_top_choose(const json_t *sorted, cse_top_view *view)
{
    size_t i;
    json_t *job;
    json_array_foreach(sorted, i, job) if (strcmp(cse_json_text(job, "id", ""), view->chosen) ==
                                           0) return (int)i;
    snprintf(view->chosen, sizeof view->chosen, "%s",
             cse_json_text(json_array_get(sorted, 0), "id", ""));
    return json_array_size(sorted) > 0 ? 0 : -1;
}

int cse_top_list_rows(const cse_top_view *view, int jobs)
{
    const int most = (view->rows - HEAD_ROWS - FOOT_ROWS) * 2 / 5;
    return jobs < 1 ? 1 : jobs < most ? jobs : most;
}

/* ---- lines ---- */

static void add_line(const cse_top_view *view, const char *text, const char *mark, cse_text *out)
{
    const bool is_marked = mark != NULL && view->coloured;
    cse_text_add(out, "%s", is_marked ? mark : "");
    cse_add_cell(out, text, view->columns);
    cse_text_add(out, "%s\n", is_marked ? NORMAL : "");
}

static void add_summary(const cse_top_data *data, const cse_top_view *view, cse_text *out)
{
    char line[MOST_LINE];
    int running = 0, waiting = 0;
    double rate = 0;
    size_t i;
    json_t *job;
    json_array_foreach(data->jobs, i, job)
    {
        const char *state = cse_json_text(job, "state", "");
        const double own = cse_json_real(json_object_get(job, "progress"), "samples_per_second", 0);
        const bool runs = strcmp(state, "RUNNING") == 0;
        running += runs;
        waiting += strcmp(state, "QUEUED") == 0;
        rate += runs ? own : 0;
    }
    snprintf(line, sizeof line, "csengine top  %s  %s%s", view->clock, data->server,
             view->is_paused ? "  (paused)" : "");
    add_line(view, line, BOLD, out);
    if (data->error[0] != '\0')
        snprintf(line, sizeof line, "%s", data->error);
    else
        snprintf(line, sizeof line,
                 "%lld job%s%s%.80s, %d running, %d queued, %.6g samples/s; by %s%s",
                 (long long)data->total, data->total == 1 ? "" : "s",
                 data->where[0] != '\0' ? " with " : "", data->where, running, waiting, rate,
                 cse_top_sorts[view->sort], view->reversed ? ", reversed" : "");
    add_line(view, line, NULL, out);
}

/* ---- the list ---- */

static void number_text(double value, char text[24])
{
    if (isfinite(value))
        snprintf(text, 24, "%.5g", value);
    else
        snprintf(text, 24, "-");
}

static void add_job(const json_t *job, const cse_top_view *view, cse_text *line)
{
    const json_t *progress = json_object_get(job, "progress");
    const double share = progress_of(job);
    char step[24], loss[24], rate[24], percent[24] = "-", age[CSE_AGE_BYTES];
    number_text(cse_json_real(progress, "loss", (double)NAN), loss);
    number_text(cse_json_real(progress, "samples_per_second", (double)NAN), rate);
    snprintf(step, sizeof step, "%lld", (long long)cse_json_whole(progress, "step", 0));
    if (isfinite(share))
        snprintf(percent, sizeof percent, "%d%%", (int)(100 * share));
    const char *left = cse_age_text(cse_json_real(progress, "eta_seconds", -1), age);
    const json_t *health = json_array_get(json_object_get(job, "health"), 0);
    const int id = view->columns - 62 > 10 ? view->columns - 62 : 10;
    cse_add_cell(line, cse_json_text(job, "id", ""), id > 24 ? 24 : id);
    cse_text_add(line, " ");
    cse_add_cell(line, cse_json_text(job, "state", ""), 10);
    cse_add_cell(line, step, -10);
    cse_add_cell(line, percent, -5);
    cse_add_cell(line, loss, -10);
    cse_add_cell(line, rate, -11);
    cse_add_cell(line, left, -8);
    cse_text_add(line, "  ");
    cse_text_add(line, "%s", cse_json_text(health, "kind", ""));
}

static void add_list(const cse_top_data *data, const json_t *sorted, cse_top_view *view,
                     cse_text *out)
{
    cse_text line = { 0 };
    const int jobs = (int)json_array_size(sorted), rows = cse_top_list_rows(view, jobs);
    const int chosen = cse_top_choose(sorted, view);
    const int id = view->columns - 62 > 10 ? view->columns - 62 : 10;
    if (chosen >= 0 && chosen < view->first)
        view->first = chosen;
    if (chosen >= view->first + rows)
        view->first = chosen - rows + 1;
    if (view->first > jobs - rows)
        view->first = jobs - rows > 0 ? jobs - rows : 0;
    cse_add_cell(&line, "JOB", id > 24 ? 24 : id);
    cse_add_cell(&line, " STATE           STEP    %      LOSS  SAMPLES/S    LEFT  HEALTH", 70);
    add_line(view, line.data, INVERSE, out);
    for (int i = view->first; i < view->first + rows; i++) {
        const json_t *job = json_array_get(sorted, (size_t)i);
        line.size = 0;
        if (job != NULL)
            add_job(job, view, &line);
        else if (i == 0)
            cse_text_add(&line, "%s",
                         data->where[0] != '\0' ? "no job matches" : "there are no jobs");
        add_line(view, line.size > 0 ? line.data : "", i == chosen ? INVERSE : NULL, out);
    }
    cse_text_clear(&line);
}

/* ---- the chosen job ---- */

static void add_title(const cse_top_data *data, const json_t *job, const cse_top_view *view,
                      cse_text *out)
{
    char line[2 * MOST_LINE], least[24];
    const json_t *progress = json_object_get(job, "progress");
    const char *message = cse_json_text(job, "message", "");
    const char *waits = cse_json_text(job, "waiting_for", NULL);
    number_text(cse_json_real(progress, "minimum_loss", (double)NAN), least);
    snprintf(line, sizeof line, "%s  %s of %lld steps  least loss %s%s%.120s", data->series,
             cse_json_text(job, "id", ""), (long long)cse_json_whole(progress, "last_step", 0),
             least, waits != NULL || *message != '\0' ? "  " : "", waits != NULL ? waits : message);
    add_line(view, line, BOLD, out);
}

/* "replica 0   [#####     ] 52 %". */
static void process_text(const json_t *process, char text[96])
{
    enum { BAR = 8 };
    char bar[BAR + 1], name[40];
    const double busy = cse_json_real(process, "busy", (double)NAN);
    const int filled = isfinite(busy) ? (int)(busy * BAR + 0.5) : 0;
    const int64_t rank = cse_json_whole(process, "rank", -1);
    for (int i = 0; i < BAR; i++)
        bar[i] = i < filled ? '#' : ' ';
    bar[BAR] = '\0';
    snprintf(name, sizeof name, "%s", cse_json_text(process, "role", ""));
    if (rank >= 0)
        snprintf(name, sizeof name, "%s %lld", cse_json_text(process, "role", ""), (long long)rank);
    if (isfinite(busy))
        snprintf(text, 96, "%-15.15s[%s]%3d%%", name, bar, (int)(100 * busy + 0.5));
    else
        snprintf(text, 96, "%-15.15s%s", name, cse_json_text(process, "state", ""));
}

static void add_process(const cse_top_data *data, int row, int rows, cse_text *line)
{
    const json_t *processes = json_object_get(data->topology, "processes");
    const int count = (int)json_array_size(processes);
    char text[96] = "";
    if (count == 0 && row == 0)
        snprintf(text, sizeof text, "no processes");
    else if (row == rows - 1 && count > rows)
        snprintf(text, sizeof text, "and %d more", count - rows + 1);
    else if (row < count)
        process_text(json_array_get(processes, (size_t)row), text);
    cse_add_cell(line, text, PROCESSES);
}

/* The label of the highest and the lowest row of the curve. */
static void add_label(int row, int rows, double low, double high, cse_text *line)
{
    char text[24] = "";
    if (row == 0 || row == rows - 1)
        number_text(row == 0 ? high : low, text);
    cse_add_cell(line, text, -(LABEL - 1));
    cse_text_add(line, " ");
}

static void add_curve(const cse_top_data *data, const cse_top_view *view, int rows, cse_text *out)
{
    const bool beside = view->columns >= LABEL + 2 * PROCESSES;
    const int width = view->columns - LABEL - (beside ? PROCESSES + 2 : 0);
    const cse_curve_plot plot = { .x = data->steps,
                                  .y = data->values,
                                  .count = data->count,
                                  .columns = width,
                                  .rows = rows,
                                  .plain = view->plain };
    cse_text curve = { 0 }, line = { 0 };
    double low = (double)NAN, high = (double)NAN;
    const bool is_drawn = cse_plot_curve(&plot, &curve, &low, &high);
    const char *at = is_drawn ? curve.data : "";
    for (int row = 0; row < rows; row++) {
        cse_text own = { 0 };
        const size_t length = strcspn(at, "\n");
        line.size = 0;
        add_label(row, rows, low, high, &line);
        cse_text_add_bytes(&own, at, length);
        if (!is_drawn && row == 0)
            cse_text_add(&own, "no values of %s", data->series);
        cse_add_cell(&line, own.data != NULL ? own.data : "", width);
        if (beside) {
            cse_text_add(&line, "  ");
            add_process(data, row, rows, &line);
        }
        add_line(view, line.data, NULL, out);
        at += length + (at[length] == '\n');
        cse_text_clear(&own);
    }
    cse_text_clear(&curve);
    cse_text_clear(&line);
}

static void add_log(const cse_top_data *data, const cse_top_view *view, int rows, cse_text *out)
{
    const int count = (int)json_array_size(data->lines);
    for (int i = count - rows; i < count; i++) {
        char text[MOST_LINE] = "", clock[16];
        const json_t *line = i >= 0 ? json_array_get(data->lines, (size_t)i) : NULL;
        const time_t seconds = (time_t)(cse_json_whole(line, "time_ms", 0) / 1000);
        struct tm local;
        localtime_r(&seconds, &local);
        strftime(clock, sizeof clock, "%H:%M:%S", &local);
        if (line != NULL)
            snprintf(text, sizeof text, "%s %-7s %s", clock, cse_json_text(line, "level", ""),
                     cse_json_text(line, "message", ""));
        add_line(view, text, NULL, out);
    }
}

/* ---- help and keys ---- */

static void add_help(const cse_top_view *view, int rows, cse_text *out)
{
    static const char *const lines[] = {
        "Up Down PgUp PgDn Home End   choose a job",
        "s, F6       sort by the next column; r reverses the order",
        "/, F4, F3   only the jobs for which a condition holds, as in `csengine get jobs --where`:",
        "            state=FAILED, val_accuracy>0.8 lr<=0.01; Enter applies it, Esc does not",
        "m           the next series in the curve; M the one before",
        "space       stop asking, and go on",
        "h, ?, F1    this help; any key ends it",
        "q, F10      end; Ctrl-C does the same",
    };
    enum { LINES = sizeof lines / sizeof lines[0] };
    for (int i = 0; i < rows; i++)
        add_line(view, i < LINES ? lines[i] : "", NULL, out);
}

static void add_keys(const cse_top_view *view, cse_text *out)
{
    char line[MOST_LINE];
    if (view->typing != NULL)
        snprintf(line, sizeof line, "where: %.300s_", view->typing);
    else
        snprintf(line, sizeof line,
                 "F1 help  / where  s sort  r reverse  m series  space pause  q end");
    add_line(view, line, INVERSE, out);
}

void cse_top_draw(const cse_top_data *data, const json_t *sorted, cse_top_view *view, cse_text *out)
{
    if (view->rows < CSE_TOP_LEAST_ROWS || view->columns < CSE_TOP_LEAST_COLUMNS) {
        char line[MOST_LINE];
        snprintf(line, sizeof line, "%d x %d: needs %d x %d; q ends", view->columns, view->rows,
                 CSE_TOP_LEAST_COLUMNS, CSE_TOP_LEAST_ROWS);
        add_line(view, line, NULL, out);
        return;
    }
    const int jobs = (int)json_array_size(sorted), list = cse_top_list_rows(view, jobs);
    const int rest = view->rows - HEAD_ROWS - FOOT_ROWS - list - 1;
    const int logs = rest > LOG_ROWS + 6 ? LOG_ROWS : rest / 3;
    const int chosen = cse_top_choose(sorted, view);
    add_summary(data, view, out);
    add_list(data, sorted, view, out);
    if (view->shows_help) {
        add_help(view, rest, out);
    } else {
        add_title(data, chosen >= 0 ? json_array_get(sorted, (size_t)chosen) : NULL, view, out);
        add_curve(data, view, rest - logs - 1, out);
        add_log(data, view, logs, out);
    }
    add_keys(view, out);
}
