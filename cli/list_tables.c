/* Builds rows of cells, then prints them in one of three formats. */
#include "cli/list_tables.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cli/table.h"
#include "csengine/status.h"
#include "engine/base/config/cluster_table.h"
#include "engine/base/text.h"
#include "store/states.h"

enum { MAX_COLUMNS = 6 };

const cse_listed_table cse_listed_tables[] = {
    { "commands", "of csengine" },
    { "passes", "transformations of a step graph, in order" },
    { "settings", "every setting of CONFIG.yaml" },
    { "hints", "settings of other hardware, accepted without an effect" },
    { "states", "of a job, and which may follow which" },
    { "phases", "what a job does in its state" },
    { "reasons", "why a job can be FAILED, with its exit code" },
    { "exit_codes", "of every command" },
    { NULL, NULL },
};

/* A table that is being built; the heads are the names of JSON members. */
typedef struct listed {
    const char *heads[MAX_COLUMNS];
    json_t *rows;
} listed;

static json_t *add_row(listed *l)
{
    json_t *row = json_object();
    json_array_append_new(l->rows, row);
    return row;
}

static void add_hints(listed *l)
{
    for (int i = 0; cse_config_hint_at(i) != NULL; i++) {
        json_t *row = add_row(l);
        json_object_set_new(row, "setting", json_string(cse_config_hint_at(i)->path));
        json_object_set_new(row, "why_it_has_no_effect",
                            json_string(cse_config_hint_at(i)->reason));
    }
}

static void add_states(listed *l)
{
    for (int s = 0; s < CSE_RUN_STATE_COUNT; s++) {
        cse_text followers = { 0 };
        for (int t = 0; t < CSE_RUN_STATE_COUNT; t++)
            if (cse_run_state_may_follow((cse_run_state)s, (cse_run_state)t))
                cse_text_add(&followers, "%s%s", followers.size > 0 ? ", " : "",
                             cse_run_state_name((cse_run_state)t));
        json_t *row = add_row(l);
        const char *text = followers.data != NULL ? followers.data : "none: it is final";
        json_object_set_new(row, "state", json_string(cse_run_state_name((cse_run_state)s)));
        json_object_set_new(row, "meaning", json_string(cse_run_state_doc((cse_run_state)s)));
        json_object_set_new(row, "may_be_followed_by", json_string(text));
        cse_text_clear(&followers);
    }
}

/* "RUNNING, PAUSING, CANCELLING": where an activity, when it is one, makes it the phase. */
static json_t *states_of(cse_run_phase phase)
{
    cse_text states = { 0 };
    for (int s = 0; s < CSE_RUN_STATE_COUNT; s++)
        if (cse_run_phase_in((cse_run_state)s, phase) == phase)
            cse_text_add(&states, "%s%s", states.size > 0 ? ", " : "",
                         cse_run_state_name((cse_run_state)s));
    json_t *text = json_string(states.data != NULL ? states.data : "");
    cse_text_clear(&states);
    return text;
}

static void add_phases(listed *l)
{
    for (int p = 0; p < CSE_RUN_PHASE_COUNT; p++) {
        json_t *row = add_row(l);
        json_object_set_new(row, "phase", json_string(cse_run_phase_name((cse_run_phase)p)));
        json_object_set_new(row, "meaning", json_string(cse_run_phase_doc((cse_run_phase)p)));
        json_object_set_new(row, "in_states", states_of((cse_run_phase)p));
    }
}

static void add_reasons(listed *l)
{
    for (int r = 0; r < CSE_RUN_REASON_COUNT; r++) {
        cse_run_reason reason = (cse_run_reason)r;
        json_t *row = add_row(l);
        json_object_set_new(row, "reason", json_string(cse_run_reason_name(reason)));
        json_object_set_new(row, "meaning", json_string(cse_run_reason_doc(reason)));
        char others[32];
        cse_run_reason_other_exit_codes(reason, others, sizeof others);
        json_object_set_new(row, "exit_code", json_integer(cse_run_reason_exit_code(reason)));
        json_object_set_new(row, "also", json_string(others));
        json_object_set_new(row, "retryable", json_boolean(cse_run_reason_retryable(reason)));
    }
}

static void add_exit_codes(listed *l)
{
    static const cse_status statuses[] = {
#define CSE_LIST_STATUS(code, exit_code, retryable, text) code,
        CSE_STATUS_TABLE(CSE_LIST_STATUS)
#undef CSE_LIST_STATUS
    };
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        json_t *row = add_row(l);
        json_object_set_new(row, "exit_code", json_integer(cse_status_exit_code(statuses[i])));
        json_object_set_new(row, "meaning", json_string(cse_status_text(statuses[i])));
        json_object_set_new(row, "retryable", json_boolean(cse_status_retryable(statuses[i])));
    }
}

static const struct {
    const char *name;
    const char *heads[MAX_COLUMNS];
    void (*add)(listed *l);
} tables[] = {
    { "hints", { "setting", "why_it_has_no_effect" }, add_hints },
    { "states", { "state", "meaning", "may_be_followed_by" }, add_states },
    { "phases", { "phase", "meaning", "in_states" }, add_phases },
    { "reasons", { "reason", "meaning", "exit_code", "also", "retryable" }, add_reasons },
    { "exit_codes", { "exit_code", "meaning", "retryable" }, add_exit_codes },
};

static const char *cell_text(const json_t *cell, char number[24])
{
    if (json_is_string(cell))
        return json_string_value(cell);
    if (json_is_boolean(cell))
        return json_is_true(cell) ? "yes" : "no";
    snprintf(number, 24, "%lld", (long long)json_integer_value(cell));
    return number;
}

/* The head with blanks for underscores. */
static const char *head_text(const char *head, char text[32])
{
    snprintf(text, 32, "%s", head);
    for (char *c = text; *c != '\0'; c++)
        *c = *c == '_' ? ' ' : *c;
    return text;
}

static void print_markdown(const listed *l)
{
    size_t i;
    json_t *row;
    char number[24], head[32];
    for (int c = 0; l->heads[c] != NULL; c++)
        printf("| %s ", head_text(l->heads[c], head));
    printf("|\n");
    for (int c = 0; l->heads[c] != NULL; c++)
        printf("|---");
    printf("|\n");
    json_array_foreach(l->rows, i, row)
    {
        for (int c = 0; l->heads[c] != NULL; c++)
            printf("| %s ", cell_text(json_object_get(row, l->heads[c]), number));
        printf("|\n");
    }
}

static void print_text(const listed *l)
{
    size_t i;
    json_t *row;
    char number[24], heads[MAX_COLUMNS][32];
    const char *texts[MAX_COLUMNS] = { NULL };
    for (int c = 0; l->heads[c] != NULL; c++)
        texts[c] = head_text(l->heads[c], heads[c]);
    cse_table *table = cse_table_new(texts);
    json_array_foreach(l->rows, i, row) for (int c = 0; l->heads[c] != NULL; c++)
        cse_table_add(table, "%s", cell_text(json_object_get(row, l->heads[c]), number));
    cse_table_print(table, stdout);
    cse_table_destroy(&table);
}

bool cse_list_table(const char *name, cse_list_form form)
{
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (strcmp(tables[i].name, name) != 0)
            continue;
        listed l = { .rows = json_array() };
        memcpy(l.heads, tables[i].heads, sizeof l.heads);
        tables[i].add(&l);
        if (form == CSE_LIST_JSON) {
            json_dumpf(l.rows, stdout, JSON_INDENT(1));
            putchar('\n');
        } else if (form == CSE_LIST_MARKDOWN) {
            print_markdown(&l);
        } else {
            print_text(&l);
        }
        json_decref(l.rows);
        return true;
    }
    return false;
}
