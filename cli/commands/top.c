/* `csengine top`: the jobs of a server, or one run, as they go on: a screen that is drawn again
 * each second, with keys as in htop. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/client/client_command.h"
#include "cli/terminal/full_screen.h"
#include "cli/terminal/live_line.h"
#include "cli/terminal/report.h"
#include "cli/terminal/text_cells.h"
#include "cli/top/top_view.h"
#include "engine/base/arena.h"
#include "engine/base/clock.h"

enum { INTERVAL_MS = 1000, LEAST_INTERVAL_MS = 100, MOST_INTERVAL_MS = 3600000 };

typedef struct top {
    cse_top_data data;
    cse_top_view view;
    json_t *sorted;
    char typed[1001]; /* the condition in the making */
    int interval_ms;
    bool ends;
    int64_t read_ns; /* when it was asked last */
} top;

static const char *clock_text(char text[16])
{
    const time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    strftime(text, 16, "%H:%M:%S", &local);
    return text;
}

static void order(top *t)
{
    json_decref(t->sorted);
    t->sorted = cse_top_sorted(&t->data, &t->view);
}

/* The list, and what is shown of the chosen job. */
static cse_status read_all(top *t)
{
    const cse_status status = cse_top_data_read_jobs(&t->data);
    order(t);
    cse_top_choose(t->sorted, &t->view);
    cse_top_data_read_job(&t->data, t->view.chosen);
    t->read_ns = cse_clock_ns();
    return status;
}

static void draw(top *t, cse_text *out)
{
    char now[16];
    t->view.clock = clock_text(now);
    cse_top_draw(&t->data, t->sorted, &t->view, out);
    t->view.clock = NULL;
}

static void draw_screen(top *t)
{
    cse_text out = { 0 };
    const cse_screen_size size = cse_full_screen_size();
    t->view.rows = size.rows;
    t->view.columns = size.columns;
    draw(t, &out);
    cse_full_screen_draw(out.data);
    cse_text_clear(&out);
}

/* ---- keys ---- */

static void choose(top *t, int by)
{
    const int count = (int)json_array_size(t->sorted);
    int at = cse_top_choose(t->sorted, &t->view) + by;
    at = at >= count ? count - 1 : at < 0 ? 0 : at;
    const json_t *job = json_array_get(t->sorted, (size_t)at);
    snprintf(t->view.chosen, sizeof t->view.chosen, "%s", cse_json_text(job, "id", ""));
    cse_top_data_read_job(&t->data, t->view.chosen);
}

static void sort_by_next(top *t)
{
    t->view.sort = cse_top_sorts[t->view.sort + 1] != NULL ? t->view.sort + 1 : 0;
    order(t);
}

static void take_series(top *t, int by)
{
    const int count = (int)json_array_size(t->data.names);
    int at = 0;
    while (at < count && strcmp(json_string_value(json_array_get(t->data.names, (size_t)at)),
                                t->data.series) != 0)
        at++;
    if (count == 0)
        return;
    at = at < count ? (at + by + count) % count : 0;
    snprintf(t->data.series, sizeof t->data.series, "%s",
             json_string_value(json_array_get(t->data.names, (size_t)at)));
    cse_top_data_read_job(&t->data, t->view.chosen);
}

static void begin_typing(top *t)
{
    if (t->data.from.run != NULL) {
        snprintf(t->data.error, sizeof t->data.error,
                 "one run is shown: conditions are on the jobs of a server");
        return;
    }
    snprintf(t->typed, sizeof t->typed, "%s", t->data.where);
    t->view.typing = t->typed;
}

/* A condition that the server refuses is told, and stays to be mended. */
static void apply_typed(top *t)
{
    char before[sizeof t->data.where];
    memcpy(before, t->data.where, sizeof before);
    snprintf(t->data.where, sizeof t->data.where, "%s", t->typed);
    t->view.first = 0;
    if (read_all(t) == CSE_OK)
        t->view.typing = NULL;
    else
        memcpy(t->data.where, before, sizeof before);
}

static void type_key(top *t, int key)
{
    const size_t length = strlen(t->typed);
    if (key == CSE_KEY_ENTER)
        apply_typed(t);
    else if (key == CSE_KEY_ESCAPE)
        t->view.typing = NULL;
    else if (key == CSE_KEY_BACKSPACE && length > 0)
        t->typed[length - 1] = '\0';
    else if (key == 'U' - '@')
        t->typed[0] = '\0';
    else if (key >= ' ' && key < 256 && key != CSE_KEY_BACKSPACE && length + 1 < sizeof t->typed) {
        t->typed[length] = (char)key;
        t->typed[length + 1] = '\0';
    }
}

static void move(top *t, int key)
{
    const int all = (int)json_array_size(t->sorted), page = cse_top_list_rows(&t->view, all);
    switch (key) {
    case CSE_KEY_UP:
    case 'k':
        choose(t, -1);
        break;
    case CSE_KEY_DOWN:
    case 'j':
        choose(t, 1);
        break;
    case CSE_KEY_PAGE_UP:
        choose(t, -page);
        break;
    case CSE_KEY_PAGE_DOWN:
        choose(t, page);
        break;
    case CSE_KEY_HOME:
        choose(t, -all);
        break;
    case CSE_KEY_END:
        choose(t, all);
        break;
    default:
        break;
    }
}

static void take_key(top *t, int key)
{
    if (key == CSE_KEY_CLOSED)
        t->ends = true;
    if (key == CSE_KEY_RESIZED || key == CSE_KEY_NONE || key == CSE_KEY_CLOSED)
        return;
    if (t->view.typing != NULL) {
        type_key(t, key);
        return;
    }
    if (t->view.shows_help) {
        t->view.shows_help = false;
        return;
    }
    switch (key) {
    case 'q':
    case 'Q':
    case CSE_KEY_F10:
        t->ends = true;
        break;
    case 'h':
    case '?':
    case CSE_KEY_F1:
        t->view.shows_help = true;
        break;
    case 's':
    case CSE_KEY_F1 + 5:
        sort_by_next(t);
        break;
    case 'r':
    case 'I':
        t->view.reversed = !t->view.reversed;
        order(t);
        break;
    case '/':
    case CSE_KEY_F1 + 2:
    case CSE_KEY_F1 + 3:
        begin_typing(t);
        break;
    case 'm':
    case 'M':
        take_series(t, key == 'm' ? 1 : -1);
        break;
    case ' ':
        t->view.is_paused = !t->view.is_paused;
        break;
    default:
        move(t, key);
        break;
    }
}

static void follow(top *t)
{
    while (!t->ends) {
        draw_screen(t);
        const int64_t passed_ms = (cse_clock_ns() - t->read_ns) / 1000000;
        const bool waits = t->view.is_paused || passed_ms < t->interval_ms;
        const int wait_ms = t->view.is_paused ? t->interval_ms : t->interval_ms - (int)passed_ms;
        take_key(t, cse_full_screen_key(waits ? wait_ms : 0));
        if (!t->view.is_paused && t->view.typing == NULL &&
            (cse_clock_ns() - t->read_ns) / 1000000 >= t->interval_ms)
            (void)read_all(t); /* a failure is shown until the next answer */
    }
}

/* ---- the command ---- */

static cse_status read_sort(const cse_command_line *line, top *t)
{
    const char *name = cse_option_value(line, "sort");
    if (name == NULL)
        return CSE_OK;
    for (int i = 0; cse_top_sorts[i] != NULL; i++)
        if (strcmp(name, cse_top_sorts[i]) == 0) {
            t->view.sort = i;
            return CSE_OK;
        }
    return cse_fail(CSE_USAGE,
                    "--sort %s: accepted are newest, id, state, step, progress, loss, rate", name);
}

static cse_status read_interval(const cse_command_line *line, top *t)
{
    const char *text = cse_option_value(line, "interval");
    char *end = NULL;
    t->interval_ms = INTERVAL_MS;
    if (text == NULL)
        return CSE_OK;
    const double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds * 1000 >= LEAST_INTERVAL_MS) ||
        !(seconds * 1000 <= MOST_INTERVAL_MS))
        return cse_fail(CSE_USAGE, "--interval %s: accepted are seconds from 0.1 to 3600", text);
    t->interval_ms = (int)(seconds * 1000);
    return CSE_OK;
}

static cse_status read_options(const cse_command_line *line, top *t)
{
    const char *where = cse_option_value(line, "where");
    CSE_TRY(read_sort(line, t));
    CSE_TRY(read_interval(line, t));
    if (where != NULL && t->data.from.run != NULL)
        return cse_fail(CSE_USAGE, "--where is a condition on the jobs of a server; %s is one run",
                        line->arguments[0]);
    if (where != NULL && strlen(where) >= sizeof t->data.where)
        return cse_fail(CSE_USAGE, "--where: the condition is longer than %zu bytes",
                        sizeof t->data.where - 1);
    snprintf(t->data.where, sizeof t->data.where, "%s", where != NULL ? where : "");
    if (t->data.from.run == NULL && line->argument_count > 0) {
        snprintf(t->data.asked, sizeof t->data.asked, "%s", line->arguments[0]);
        snprintf(t->view.chosen, sizeof t->view.chosen, "%s", line->arguments[0]);
    }
    return CSE_OK;
}

static int rows_of_environment(void)
{
    const char *lines = getenv("LINES");
    const int rows = lines != NULL ? atoi(lines) : 0;
    return rows >= CSE_TOP_LEAST_ROWS ? rows : 24;
}

static void print_once(top *t)
{
    cse_text out = { 0 };
    t->view.rows = cse_is_terminal(1) ? cse_full_screen_size().rows : rows_of_environment();
    t->view.columns = cse_terminal_width(1);
    t->view.coloured = false;
    draw(t, &out);
    fputs(out.data, stdout);
    cse_text_clear(&out);
}

static cse_status show(const cse_command_line *line, top *t)
{
    CSE_TRY(read_options(line, t));
    CSE_TRY(read_all(t));
    t->view.plain = !cse_terminal_is_utf8();
    t->view.coloured = true; /* marks, no colours: NO_COLOR keeps them */
    if (cse_option_is_on(line, "once")) {
        print_once(t);
        return CSE_OK;
    }
    CSE_TRY(cse_full_screen_open("--once prints one frame"));
    follow(t);
    cse_full_screen_close();
    return CSE_OK;
}

static int run(const cse_command_line *line)
{
    top *t = cse_calloc(1, sizeof *t);
    cse_status status = cse_top_data_open(line, &t->data);
    if (status == CSE_OK)
        status = show(line, t);
    cse_top_data_close(&t->data);
    json_decref(t->sorted);
    free(t);
    return cse_report(status);
}

static const cse_option options[] = {
    CSE_CLIENT_SERVER_OPTIONS,
    { "where", "EXPR", NULL, "only the jobs for which it holds, as in `csengine get jobs`" },
    { "sort", "COLUMN", NULL,
      "the order of the list: newest (the default), id, state, step, progress, loss, rate" },
    { "interval", "S", NULL, "seconds between two questions; default 1" },
    { "once", NULL, NULL, "prints one frame and ends: no terminal is needed" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "top", "the jobs of the local server" },
    { "top runs/mnist", "one run, without a server" },
    { "top --where 'state=RUNNING' --sort loss", "the jobs that run, the least loss first" },
    { 0 },
};

const cse_command cse_command_top = {
    .name = "top",
    .group = CSE_GROUP_LOOK,
    .summary = "shows jobs as they go on, in the terminal",
    .arguments = "[JOB|MODEL_DIR]",
    .doc = "The list of jobs and, of the chosen one, its curve, processes and newest log lines. "
           "Keys: arrows choose, s sorts, / takes a condition, m the next series, F1 shows all, q "
           "ends.",
    .options = options,
    .min_arguments = 0,
    .max_arguments = 1,
    .values = "sort=newest|id|state|step|progress|loss|rate",
    .examples = examples,
    .run = run,
};
