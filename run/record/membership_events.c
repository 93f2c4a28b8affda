/* The hosts that a run waits for at its start do not join it: a host that was never present before
 * is only noted. A host that was lost and came back between two reports is recognised by its count
 * of losses. */
#include "run/record/membership_events.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "store/reader.h"

static void add_event(cse_store *store, json_t *payload)
{
    char *text = json_dumps(payload, JSON_COMPACT);
    if (text != NULL)
        cse_store_event(store, "membership", text);
    free(text);
    json_decref(payload);
}

void cse_membership_replaced(cse_store *store, const cse_recovery *recovery)
{
    add_event(store, json_pack("{s:s, s:s, s:s, s:I, s:I, s:s}", "what", "process", "name",
                               recovery->process, "change", "replaced", "time_ms",
                               (json_int_t)recovery->lost_ms, "milliseconds",
                               (json_int_t)recovery->milliseconds, "reason", recovery->reason));
}

/* ---- hosts ---- */

struct cse_host_membership {
    cse_store *store;
    json_t
        *known; /* {name: {"is": "expected"|"new"|"present"|"lost", "losses"}}; NULL: no report */
};

cse_host_membership *cse_host_membership_new(cse_store *store, const char *model_dir)
{
    cse_host_membership *rows = cse_calloc(1, sizeof *rows);
    cse_store_reader *reader = NULL;
    cse_text text = { 0 };
    rows->store = store;
    if (cse_store_attempt(store) > 1 && cse_store_reader_open(model_dir, &reader) == CSE_OK &&
        cse_store_reader_key(reader, "hosts", &text) && text.data != NULL)
        rows->known = json_loads(text.data, 0, NULL);
    cse_store_reader_close(&reader);
    cse_text_clear(&text);
    return rows;
}

void cse_host_membership_destroy(cse_host_membership **rows)
{
    if (*rows == NULL)
        return;
    json_decref((*rows)->known);
    free(*rows);
    *rows = NULL;
}

static void tell(const cse_host_membership *rows, const char *name, bool joined, const char *reason)
{
    add_event(rows->store,
              json_pack("{s:s, s:s, s:s, s:I, s:n, s:s}", "what", "host", "name", name, "change",
                        joined ? "joined" : "left", "time_ms", (json_int_t)cse_unix_ms(),
                        "milliseconds", "reason", reason != NULL ? reason : ""));
}

static const char *text_of(const json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));
    return text != NULL ? text : "";
}

/* What a host is from now on; tells what follows from what it was. */
static const char *look(const cse_host_membership *rows, const json_t *host, const json_t *known)
{
    const char *name = text_of(host, "name"), *state = text_of(host, "state");
    const char *was = known != NULL ? text_of(known, "is") : rows->known != NULL ? "new" : "";
    const bool is_present = strcmp(state, "present") == 0, is_lost = strcmp(state, "lost") == 0;
    const bool was_present = strcmp(was, "present") == 0;
    const bool again = json_integer_value(json_object_get(host, "losses")) >
                       json_integer_value(json_object_get(known, "losses"));
    if (was_present && (is_lost || (is_present && again)))
        tell(rows, name, false, text_of(host, "why"));
    if (is_present &&
        ((was_present && again) || strcmp(was, "lost") == 0 || strcmp(was, "new") == 0))
        tell(rows, name, true, "");
    if (is_present || is_lost)
        return is_present ? "present" : "lost";
    return was[0] != '\0' ? was : "expected";
}

static void tell_removed(const cse_host_membership *rows, const json_t *now)
{
    const char *name;
    json_t *known;
    json_object_foreach(rows->known, name, known) if (json_object_get(now, name) == NULL &&
                                                      strcmp(text_of(known, "is"), "present") == 0)
        tell(rows, name, false, "the run goes on with other hosts");
}

static void keep(cse_host_membership *rows, json_t *now)
{
    char *text = NULL;
    if (!json_equal(now, rows->known))
        text = json_dumps(now, JSON_COMPACT);
    if (text != NULL)
        cse_store_set(rows->store, "hosts", text);
    free(text);
    json_decref(rows->known);
    rows->known = now;
}

void cse_host_membership_take(cse_host_membership *rows, const char *report)
{
    if (rows == NULL || strstr(report, "\"hosts\":") == NULL)
        return;
    json_t *object = json_loads(report, 0, NULL), *now = json_object(), *host;
    const json_t *hosts = json_object_get(object, "hosts");
    size_t i;
    json_array_foreach(hosts, i, host)
    {
        const char *name = text_of(host, "name");
        const char *is = look(rows, host, json_object_get(rows->known, name));
        json_object_set_new(now, name,
                            json_pack("{s:s, s:I}", "is", is, "losses",
                                      json_integer_value(json_object_get(host, "losses"))));
    }
    tell_removed(rows, now);
    if (json_array_size(hosts) > 0)
        keep(rows, now);
    else
        json_decref(now);
    json_decref(object);
}
