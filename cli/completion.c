/* Walks the words before the one to complete, to know whether that is a command, an option, an
 * option's value or an argument, and which. */
#include "cli/completion.h"

#include <stdlib.h>
#include <string.h>

#include "cli/client_command.h"
#include "cli/command_line.h"
#include "cli/help.h"
#include "cli/list_tables.h"
#include "engine/base/arena.h"
#include "engine/base/config/settings.h"
#include "engine/base/name.h"
#include "engine/graph/passes/pass.h"
#include "run/job/kinds.h"
#include "store/states.h"

enum { MOST_ARGUMENTS = 64 };

/* The words before the one to complete. */
typedef struct given {
    const cse_command *command;
    const char *arguments[MOST_ARGUMENTS];
    int argument_count;
    cse_given_option server[2]; /* --server and --token_file, for the client */
    int server_count;
    const cse_option *open; /* an option that waits for its value; NULL: none */
    bool options_ended;
} given;

void cse_candidate(cse_candidates *c, const char *word, const char *doc)
{
    if (strncmp(word, c->begun, strlen(c->begun)) != 0)
        return;
    for (int i = 0; i < c->given_count; i++)
        if (strcmp(c->given[i], word) == 0)
            return;
    CSE_GROW(c->given, c->given_count, c->given_capacity);
    c->given[c->given_count++] = cse_strdup(word);
    c->goes_on = c->goes_on || (*word != '\0' && word[strlen(word) - 1] == '=');
    fprintf(c->out, "%s%s\t%s\n", c->lead, word, doc != NULL ? doc : "");
}

void cse_candidate_choices(cse_candidates *c, const char *prefix, const char *choices)
{
    while (*choices != '\0') {
        const size_t length = strcspn(choices, "|");
        cse_text word = { 0 };
        cse_text_add(&word, "%s%.*s", prefix, (int)length, choices);
        cse_candidate(c, word.data, NULL);
        cse_text_clear(&word);
        choices += length + (choices[length] == '|');
    }
}

/* ---- lists ---- */

static void complete_commands(cse_candidates *c)
{
    for (const cse_command *const *command = cse_commands; *command != NULL; command++)
        if (!(*command)->hidden)
            cse_candidate(c, (*command)->name, (*command)->summary);
    if (*c->begun == '-') {
        cse_candidate(c, "--help", "shows the commands");
        cse_candidate(c, "--version", "shows the version");
    }
}

static void complete_kinds(cse_candidates *c)
{
    for (const cse_kind *kind = cse_kinds; kind->name != NULL; kind++)
        cse_candidate(c, kind->name, "plugins");
    for (const cse_listed_table *table = cse_listed_tables; table->name != NULL; table++)
        cse_candidate(c, table->name, table->summary);
}

static void complete_plugins(cse_candidates *c, const char *kind_name)
{
    for (const cse_kind *kind = cse_kinds; kind->name != NULL; kind++)
        if (strcmp(kind->name, kind_name) == 0)
            for (const cse_descriptor *const *d = kind->table; *d != NULL; d++)
                cse_candidate(c, (*d)->name, (*d)->summary);
}

/* A list by its name in a descriptor. */
static void complete_source(cse_candidates *c, const char *source)
{
    if (strncmp(source, "states", 6) == 0)
        for (int s = 0; s < CSE_RUN_STATE_COUNT; s++)
            cse_candidate(c, cse_run_state_name((cse_run_state)s),
                          cse_run_state_doc((cse_run_state)s));
    if (strncmp(source, "passes", 6) == 0) {
        for (const cse_pass *pass = cse_passes; pass->name != NULL; pass++)
            cse_candidate(c, pass->name, pass->summary);
        cse_candidate(c, "all", "after each pass");
    }
}

/* The jobs of the server, if one is known and answers. */
static void complete_jobs(cse_candidates *c, given *g)
{
    const cse_command_line line = { .command = g->command,
                                    .options = g->server,
                                    .option_count = g->server_count };
    cse_client *api = NULL;
    cse_client_answer answer = { 0 };
    const json_t *job;
    size_t i;
    fflush(c->out);
    if (cse_client_open(&line, &api) == CSE_OK &&
        cse_client_call(api, &(cse_client_request){ .path = "/api/v1/jobs?limit=200" }, &answer) ==
            CSE_OK)
        json_array_foreach(json_object_get(answer.json, "jobs"), i, job)
        {
            cse_text doc = { 0 };
            cse_text_add(&doc, "%s %s", cse_json_text(job, "state", ""),
                         cse_json_text(job, "name", ""));
            for (char *byte = doc.data; *byte != '\0'; byte++)
                *byte = (unsigned char)*byte < ' ' ? ' ' : *byte;
            /* A shell puts the word on its command line as it is. */
            if (cse_name_is_good(cse_json_text(job, "id", "")))
                cse_candidate(c, cse_json_text(job, "id", ""), doc.data);
            cse_text_clear(&doc);
        }
    cse_client_answer_clear(&answer);
    cse_client_close(&api);
}

/* ---- an option's value, an argument ---- */

/* What descriptors call a value that is a path; false for another one. */
static bool complete_path(cse_candidates *c, const char *kind)
{
    if (strstr(kind, "CONFIG") != NULL)
        fprintf(c->out, ":file .yaml\n");
    else if (strstr(kind, "DIR") != NULL || strncmp(kind, "RUN", 3) == 0)
        fprintf(c->out, ":directory\n");
    else if (strstr(kind, "FILE") != NULL)
        fprintf(c->out, ":file\n");
    else
        return false;
    return true;
}

/* The words behind NAME= in the command's `values`; NULL: none. */
static const char *values_of(const cse_command *command, const char *name)
{
    const size_t length = strlen(name);
    for (const char *v = command->values; v != NULL; v = strchr(v, ' ')) {
        v += *v == ' ';
        if (strncmp(v, name, length) == 0 && v[length] == '=')
            return v + length + 1;
    }
    return NULL;
}

static void complete_value(cse_candidates *c, given *g, const cse_option *option)
{
    const cse_setting *setting =
        option->path != NULL ? cse_config_setting_find(option->path) : NULL;
    const char *values = values_of(g->command, option->name);
    if (strcmp(option->name, "checkpoint_path") == 0)
        fprintf(c->out, ":file .mdl\n");
    if (strcmp(option->name, "set") == 0) {
        cse_complete_setting(c);
    } else if (option->argument == NULL) {
        cse_candidate_choices(c, "", "true|false");
    } else if (setting != NULL && setting->choices != NULL) {
        cse_candidate_choices(c, "", setting->choices);
    } else if (values != NULL && *values == '@') {
        complete_source(c, values + 1);
    } else if (values != NULL) {
        char *words = strndup(values, strcspn(values, " "));
        cse_candidate_choices(c, "", words);
        free(words);
    } else if (strncmp(option->argument, "JOB", 3) == 0) {
        complete_jobs(c, g);
    } else if (strcmp(option->name, "checkpoint_path") == 0) {
        cse_candidate(c, "newest", "the newest of model_dir");
        cse_candidate(c, "null", "no checkpoint");
    } else {
        complete_path(c, option->argument);
    }
}

static void complete_option(cse_candidates *c, const cse_command *command)
{
    const bool dashes = strncmp(c->begun, "--", 2) == 0 && strchr(c->begun + 2, '-') != NULL;
    for (const cse_option *o = command->options; o != NULL && o->name != NULL; o++) {
        cse_text word = { 0 }, doc = { 0 };
        cse_text_add(&word, "--%s", o->name);
        for (char *w = word.data; dashes && *w != '\0'; w++)
            *w = *w == '_' ? '-' : *w;
        cse_option_help(o, &doc);
        cse_candidate(c, word.data, doc.data);
        cse_text_clear(&word);
        cse_text_clear(&doc);
    }
    cse_candidate(c, "--help", "shows the arguments and options");
}

/* Whether `token` ("info|verify|digest") has the word. */
static bool token_has(const char *token, const char *word)
{
    const size_t length = strlen(word);
    for (const char *t = token; t != NULL; t = strchr(t, '|')) {
        t += *t == '|';
        if (strncmp(t, word, length) == 0 && strchr("|, ", t[length]) != NULL)
            return true;
    }
    return false;
}

/* What the usage line calls the argument: "JOB|MODEL_DIR". A first word that stands in the line
 * ("save JOB|MODEL_DIR") begins the count. */
static const char *argument_kind(const given *g, cse_text *copy)
{
    char *tokens[16] = { NULL }, *rest = NULL;
    int count = 0, at = g->argument_count;
    cse_text_add(copy, "%s", g->command->arguments);
    for (char *t = strtok_r(copy->data, " ", &rest); t != NULL && count < 16;
         t = strtok_r(NULL, " ", &rest))
        tokens[count++] = t;
    for (int i = 0; i < count && g->argument_count > 0 && g->command->words != NULL; i++)
        if (token_has(tokens[i], g->arguments[0]))
            at = i + g->argument_count;
    if (count == 0)
        return "";
    return tokens[at < count ? at : count - 1];
}

static void complete_argument(cse_candidates *c, given *g)
{
    const cse_command *command = g->command;
    cse_text copy = { 0 };
    if (g->argument_count >= command->max_arguments) {
        complete_option(c, command);
        return;
    }
    const char *kind = argument_kind(g, &copy);
    if (g->argument_count == 0 && command->words != NULL) {
        cse_candidate_choices(c, "", command->words);
    } else if (strcmp(command->name, "list") == 0) {
        if (g->argument_count == 0)
            complete_kinds(c);
        else
            complete_plugins(c, g->arguments[0]);
    } else {
        if (strcmp(command->name, "checkpoint") == 0 && strstr(kind, "FILE") != NULL)
            fprintf(c->out, ":file .mdl\n");
        else
            complete_path(c, kind);
        if (strstr(kind, "JOB") != NULL)
            complete_jobs(c, g);
    }
    cse_text_clear(&copy);
}

/* ---- the line ---- */

static const cse_option *find_option(const cse_command *command, const char *word, size_t length)
{
    char *name = strndup(word, length);
    const cse_option *found = NULL;
    for (const cse_option *o = command->options; o != NULL && o->name != NULL; o++)
        if (cse_option_name_equal(o->name, name))
            found = o;
    free(name);
    return found;
}

static void keep_option(given *g, const cse_option *option, const char *value)
{
    if (g->server_count < 2 &&
        (strcmp(option->name, "server") == 0 || strcmp(option->name, "token_file") == 0))
        g->server[g->server_count++] = (cse_given_option){ option, value };
}

static void take_word(given *g, const char *word)
{
    if (g->open != NULL) {
        keep_option(g, g->open, word);
        g->open = NULL;
    } else if (!g->options_ended && strcmp(word, "--") == 0) {
        g->options_ended = true;
    } else if (!g->options_ended && strncmp(word, "--", 2) == 0) {
        const size_t length = strcspn(word + 2, "=");
        const cse_option *option = find_option(g->command, word + 2, length);
        if (option != NULL && word[2 + length] == '=')
            keep_option(g, option, word + 3 + length);
        else if (option != NULL && option->argument != NULL)
            g->open = option;
    } else if (!g->options_ended && word[0] == '-' && word[1] != '\0') {
        for (const cse_option *o = g->command->options; o != NULL && o->name != NULL; o++)
            if (cse_option_letter(g->command, o) == word[1] && o->argument != NULL)
                g->open = o;
    } else if (g->argument_count < MOST_ARGUMENTS) {
        g->arguments[g->argument_count++] = word;
    }
}

static void complete_word(cse_candidates *c, given *g, const char *word)
{
    const size_t length = strcspn(word, "=");
    const bool is_option = !g->options_ended && word[0] == '-';
    if (g->open != NULL) {
        complete_value(c, g, g->open);
    } else if (is_option && strncmp(word, "--", 2) == 0 && word[length] == '=') {
        const cse_option *option = find_option(g->command, word + 2, length - 2);
        char *lead = strndup(word, length + 1);
        c->lead = lead;
        c->begun = word + length + 1;
        if (option != NULL)
            complete_value(c, g, option);
        free(lead);
    } else if (is_option) {
        complete_option(c, g->command);
    } else {
        complete_argument(c, g);
    }
}

void cse_complete(int count, char **words, FILE *out)
{
    given g = { .command = NULL };
    if (count < 1)
        return;
    cse_candidates c = { .out = out, .lead = "", .begun = words[count - 1] };
    for (const cse_command *const *command = cse_commands; *command != NULL; command++)
        if (!(*command)->hidden && cse_option_name_equal((*command)->name, words[0]))
            g.command = *command;
    if (count == 1) {
        complete_commands(&c);
    } else if (g.command != NULL) {
        for (int i = 1; i < count - 1; i++)
            take_word(&g, words[i]);
        complete_word(&c, &g, words[count - 1]);
    }
    if (c.goes_on)
        fprintf(out, ":nospace\n");
    for (int i = 0; i < c.given_count; i++)
        free(c.given[i]);
    free(c.given);
}
