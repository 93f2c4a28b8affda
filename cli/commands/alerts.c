/* `csengine alerts`: when the conditions of a run held, or when others would have. */
#include <jansson.h>
#include <stdio.h>
#include <time.h>

#include "cli/arguments/command_line.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "cli/terminal/table.h"
#include "run/alerts/alert_list.h"

static const char *text_in(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static void print_table(const json_t *alerts)
{
    static const char *const heads[] = { "time", "step", "alert", "condition", "values", NULL };
    cse_table *table = cse_table_new(heads);
    size_t index;
    const json_t *alert;
    json_array_foreach(alerts, index, alert)
    {
        const time_t time = (time_t)(json_integer_value(json_object_get(alert, "time_ms")) / 1000);
        char clock[32] = "";
        struct tm local;
        if (localtime_r(&time, &local) != NULL)
            strftime(clock, sizeof clock, "%Y-%m-%d %H:%M:%S", &local);
        cse_table_add(table, "%s", clock);
        cse_table_add(table, "%lld", (long long)json_integer_value(json_object_get(alert, "step")));
        cse_table_add(table, "%s",
                      json_is_true(json_object_get(alert, "begins")) ? "begins" : "over");
        cse_table_add(table, "%s", text_in(alert, "condition"));
        cse_table_add(table, "%s", text_in(alert, "values"));
    }
    cse_table_print(table, stdout);
    cse_table_destroy(&table);
}

static int run(const cse_command_line *line)
{
    const int count = line->argument_count - 1;
    cse_store_reader *reader = NULL;
    cse_alert_list list = { .most = 0 };
    cse_status status = cse_store_reader_open(line->arguments[0], &reader);
    if (status == CSE_OK && count > 0)
        status = cse_alerts_try(reader, (const char *const *)(line->arguments + 1), count, &list);
    else if (status == CSE_OK)
        status = cse_alerts_told(reader, &list);
    cse_store_reader_close(&reader);
    if (status == CSE_OK && cse_option_is_on(line, "json"))
        cse_json_print(list.alerts);
    else if (status == CSE_OK && list.total > 0)
        print_table(list.alerts);
    else if (status == CSE_OK)
        cse_print("%s\n", count > 0 ? "none of the conditions ever held" : "no alerts");
    json_decref(list.alerts);
    return cse_report(status);
}

static const cse_option options[] = {
    { "json", NULL, NULL, "a JSON array on stdout" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "alerts model_dir/a", "the alerts that the run has given" },
    { "alerts model_dir/a 'loss > 3 * median(loss, 100)' 'no step for 60 s'",
      "when these would have been given, before they are written into a configuration" },
    { 0 },
};

const cse_command cse_command_alerts = {
    .name = "alerts",
    .group = CSE_GROUP_LOOK,
    .summary = "the alerts of a run, or a trial of new ones on it",
    .arguments = "MODEL_DIR [CONDITION...]",
    .doc =
        "Lists when the conditions of the section `alerts` began to hold and ceased to. With\n"
        "CONDITIONs: when these would have, by the curves that the run has left.\n"
        "\n"
        "A condition compares series of the run and numbers, with + - * / < <= > >= = != and, or,\n"
        "not, and parentheses.\n"
        "A name is its last value. last, mean, median, min, max, std, sum (SERIES, N) are of its\n"
        "last N points, without N of all so far; change(SERIES, N) within N steps, as in\n"
        "`skipped_steps > 5 in 100`. finite(X); no step for 60 s; no val_loss for 10 min.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 64,
    .examples = examples,
    .run = run,
};
