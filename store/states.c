/* Lookups in the two tables of states.h. Following states are lists of names, as in the
 * documentation. */
#include "store/states.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *followers, *doc;
    bool terminal, first;
} states[] = {
#define STATE_ROW(name_, terminal_, first_, followers_, doc_) \
    { #name_, followers_, doc_, terminal_, first_ },
    CSE_RUN_STATE_TABLE(STATE_ROW)
};

static const struct {
    const char *word, *doc;
} phases[] = {
#define PHASE_ROW(name_, word_, doc_) { word_, doc_ },
    CSE_RUN_PHASE_TABLE(PHASE_ROW)
};

static const struct {
    const char *name, *doc;
    bool retryable;
    int exit_code;
} reasons[] = {
#define REASON_ROW(name_, retryable_, exit_code_, doc_) { #name_, doc_, retryable_, exit_code_ },
    CSE_RUN_REASON_TABLE(REASON_ROW)
};

static bool is_state(cse_run_state state)
{
    return (int)state >= 0 && state < CSE_RUN_STATE_COUNT;
}

const char *cse_run_state_name(cse_run_state state)
{
    return is_state(state) ? states[state].name : "";
}

const char *cse_run_state_doc(cse_run_state state)
{
    return is_state(state) ? states[state].doc : "";
}

cse_run_state cse_run_state_of(const char *name)
{
    for (int s = 0; name != NULL && s < CSE_RUN_STATE_COUNT; s++)
        if (strcmp(states[s].name, name) == 0)
            return (cse_run_state)s;
    return CSE_RUN_NONE;
}

bool cse_run_state_is_terminal(cse_run_state state)
{
    return is_state(state) && states[state].terminal;
}

/* Whether `word` is one of the words of `list`, separated by single blanks. */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(list, word); at != NULL; at = strstr(at + 1, word))
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

bool cse_run_state_may_follow(cse_run_state from, cse_run_state to)
{
    if (!is_state(to))
        return false;
    return is_state(from) ? has_word(states[from].followers, states[to].name) : states[to].first;
}

const char *cse_run_phase_name(cse_run_phase phase)
{
    return (int)phase >= 0 && phase < CSE_RUN_PHASE_COUNT ? phases[phase].word : NULL;
}

const char *cse_run_phase_doc(cse_run_phase phase)
{
    return (int)phase >= 0 && phase < CSE_RUN_PHASE_COUNT ? phases[phase].doc : "";
}

cse_run_phase cse_run_phase_of(const char *word)
{
    for (int p = 0; word != NULL && p < CSE_RUN_PHASE_COUNT; p++)
        if (strcmp(phases[p].word, word) == 0)
            return (cse_run_phase)p;
    return CSE_RUN_PHASE_NONE;
}

cse_run_phase cse_run_phase_in(cse_run_state state, cse_run_phase activity)
{
    bool is_activity = activity == CSE_RUN_PHASE_VALIDATE || activity == CSE_RUN_PHASE_SAVE ||
                       activity == CSE_RUN_PHASE_STORAGE;
    switch (state) {
    case CSE_RUN_COMPILING:
        return CSE_RUN_PHASE_COMPILE;
    case CSE_RUN_STARTING:
        return CSE_RUN_PHASE_START;
    case CSE_RUN_RUNNING:
    case CSE_RUN_PAUSING:
    case CSE_RUN_CANCELLING:
        return is_activity ? activity : CSE_RUN_PHASE_TRAIN;
    case CSE_RUN_PAUSED:
        return CSE_RUN_PHASE_PAUSED;
    case CSE_RUN_RECOVERING:
        return CSE_RUN_PHASE_RECOVER;
    default:
        return CSE_RUN_PHASE_NONE;
    }
}

const char *cse_run_reason_name(cse_run_reason reason)
{
    return (unsigned)reason < CSE_RUN_REASON_COUNT ? reasons[reason].name : "";
}

const char *cse_run_reason_doc(cse_run_reason reason)
{
    return (unsigned)reason < CSE_RUN_REASON_COUNT ? reasons[reason].doc : "";
}

cse_run_reason cse_run_reason_of(const char *name)
{
    for (int r = 0; name != NULL && r < CSE_RUN_REASON_COUNT; r++)
        if (strcmp(reasons[r].name, name) == 0)
            return (cse_run_reason)r;
    return CSE_REASON_INTERNAL;
}

bool cse_run_reason_retryable(cse_run_reason reason)
{
    return (unsigned)reason < CSE_RUN_REASON_COUNT && reasons[reason].retryable;
}

int cse_run_reason_exit_code(cse_run_reason reason)
{
    return (unsigned)reason < CSE_RUN_REASON_COUNT ? reasons[reason].exit_code : 70;
}

cse_run_reason cse_run_reason_of_status(cse_status status, bool compiling)
{
    switch (status) {
    case CSE_USAGE:
    case CSE_CONFIG:
    case CSE_SHAPE:
        return CSE_REASON_CONFIG;
    case CSE_DATA:
    case CSE_NO_INPUT:
        return CSE_REASON_DATA;
    case CSE_FAILED:
        return compiling ? CSE_REASON_COMPILE : CSE_REASON_NUMERICS;
    case CSE_DIVERGED:
        return CSE_REASON_DIVERGED;
    case CSE_UNAVAILABLE:
        return CSE_REASON_PEER_LOST;
    case CSE_TEMPORARY:
        return CSE_REASON_NO_RESOURCES;
    case CSE_SYSTEM_LIMIT:
        return CSE_REASON_SYSTEM_LIMIT;
    case CSE_IO:
        return CSE_REASON_STORAGE;
    case CSE_CANNOT_CREATE:
        return CSE_REASON_CANNOT_CREATE;
    case CSE_PERMISSION:
        return CSE_REASON_REFUSED;
    case CSE_TIME_LIMIT:
        return CSE_REASON_TIME_LIMIT;
    case CSE_PREEMPTED:
        return CSE_REASON_PREEMPTED;
    case CSE_INTERRUPTED:
        return CSE_REASON_INTERRUPTED;
    case CSE_OK:
    case CSE_INTERNAL:
        break;
    }
    return CSE_REASON_INTERNAL;
}

static const cse_status statuses[] = {
#define STATUS_ROW(code, exit_code, retryable, text) code,
    CSE_STATUS_TABLE(STATUS_ROW)
#undef STATUS_ROW
};
enum { STATUS_COUNT = sizeof statuses / sizeof statuses[0] };

/* Nothing was computed where nothing but an exit code is left. */
cse_run_reason cse_run_reason_of_exit_code(int exit_code)
{
    for (int i = 0; i < STATUS_COUNT; i++)
        if (statuses[i] != CSE_OK && cse_status_exit_code(statuses[i]) == exit_code)
            return cse_run_reason_of_status(statuses[i], true);
    return CSE_RUN_REASON_COUNT;
}

void cse_run_reason_other_exit_codes(cse_run_reason reason, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < STATUS_COUNT; i++) {
        const int code = cse_status_exit_code(statuses[i]);
        const bool of_reason = cse_run_reason_of_status(statuses[i], true) == reason ||
                               cse_run_reason_of_status(statuses[i], false) == reason;
        char number[16];
        snprintf(number, sizeof number, "%d", code);
        if (statuses[i] == CSE_OK || !of_reason || code == cse_run_reason_exit_code(reason) ||
            strstr(text, number) != NULL || used + 8 > size)
            continue;
        used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", number);
    }
}
