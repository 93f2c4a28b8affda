/* A host that others wait for waits least itself: so the one with the smallest exposed share is the
 * slowest, by as much as the others have more. */
#include "run/job/host_reports.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/json.h"

enum { MOST_PROCESSES = 1024, MOST_CORES = 64 };
#define NOTABLE 0.05

/* ---- what is taken over ---- */

typedef struct member {
    const char *name;
    json_type type; /* JSON_REAL: any number */
} member;

static const member of_process[] = {
    { "name", JSON_STRING }, { "role", JSON_STRING },         { "rank", JSON_INTEGER },
    { "pid", JSON_INTEGER }, { "incarnation", JSON_INTEGER }, { "state", JSON_STRING },
    { "busy", JSON_REAL },   { "idle", JSON_REAL },           { "back_pressured", JSON_REAL },
    { NULL, JSON_NULL },
};
static const member of_link[] = {
    { "frames_per_second", JSON_REAL },
    { "mb_sent_per_second", JSON_REAL },
    { "mb_received_per_second", JSON_REAL },
    { "bytes_sent", JSON_INTEGER },
    { "bytes_received", JSON_INTEGER },
    { "reconnects", JSON_INTEGER },
    { "retransmits", JSON_INTEGER },
    { "refused", JSON_INTEGER },
    { NULL, JSON_NULL },
};

/* Of the host as a whole (host_sampler.h). */
static const member of_machine[] = {
    { "interval_ms", JSON_INTEGER },
    { "busy", JSON_REAL },
    { "clock_mhz", JSON_REAL },
    { "clock_least_mhz", JSON_REAL },
    { "memory_bytes", JSON_INTEGER },
    { "memory_free_bytes", JSON_INTEGER },
    { "disk_read_mb_per_second", JSON_REAL },
    { "disk_written_mb_per_second", JSON_REAL },
    { "disk_busy", JSON_REAL },
    { "network_received_mb_per_second", JSON_REAL },
    { "network_sent_mb_per_second", JSON_REAL },
    { "temperature_celsius", JSON_REAL },
    { NULL, JSON_NULL },
};

static json_t *members_of(const json_t *from, const member *members)
{
    json_t *taken = json_object();
    for (const member *m = members; m->name != NULL; m++) {
        json_t *value = json_object_get(from, m->name);
        if (m->type == JSON_REAL ? json_is_number(value)
                                 : value != NULL && json_typeof(value) == m->type)
            json_object_set(taken, m->name, value);
    }
    return taken;
}

static void take_processes(json_t *host, const json_t *report)
{
    json_t *processes = json_array(), *one;
    size_t i;
    json_array_foreach(json_object_get(report, "processes"), i,
                       one) if (i < MOST_PROCESSES && json_is_object(one))
        json_array_append_new(processes, members_of(one, of_process));
    json_object_set_new(host, "processes", processes);
}

static void take_links(json_t *host, const json_t *links, cse_host_group *group)
{
    json_t *taken = json_array(), *one;
    size_t i;
    json_array_foreach(links, i, one)
    {
        const json_t *to = json_object_get(one, "host");
        const json_int_t number = json_is_integer(to) ? json_integer_value(to) : -1;
        if (i >= CSE_MAX_HOSTS || !json_is_object(one) || number >= cse_host_group_size(group))
            continue;
        json_t *link = members_of(one, of_link);
        json_object_set_new(link, "to",
                            number >= 0 ? json_string(cse_host_group_name(group, (int)number))
                                        : json_null());
        json_array_append_new(taken, link);
    }
    json_object_set_new(host, "links", taken);
}

/* The first of a list that are of this type. */
static json_t *items_of(const json_t *from, const char *name, json_type type)
{
    json_t *taken = json_array(), *one;
    size_t i;
    json_array_foreach(json_object_get(from, name), i, one)
    {
        const bool fits = type == JSON_REAL ? json_is_number(one) : json_typeof(one) == type;
        if (i < MOST_CORES && fits)
            json_array_append(taken, one);
    }
    return taken;
}

static void take_machine(json_t *host, const json_t *sample)
{
    if (!json_is_object(sample))
        return;
    json_t *machine = members_of(sample, of_machine);
    if (json_is_array(json_object_get(sample, "cores")))
        json_object_set_new(machine, "cores", items_of(sample, "cores", JSON_REAL));
    json_object_set_new(machine, "not_readable", items_of(sample, "not_readable", JSON_STRING));
    json_object_set_new(host, "machine", machine);
}

static void take_report(json_t *host, const json_t *report, cse_host_group *group)
{
    const json_t *own = json_object_get(report, "host");
    const json_t *exposed = json_object_get(own, "exposed");
    double share = json_number_value(exposed);
    share = share > 0 ? share < 1 ? share : 1 : 0;
    json_object_set_new(host, "exposed", json_is_number(exposed) ? json_real(share) : json_null());
    take_processes(host, report);
    take_links(host, json_object_get(own, "links"), group);
    take_machine(host, json_object_get(report, "machine"));
}

/* ---- the hosts ---- */

static const char *state_name(cse_member_state state)
{
    static const char *const names[] = { "absent", "expected", "present", "lost" };
    return names[state];
}

/* When a lost host is tried again, of the Unix clock; null: never by itself. */
static void add_return(json_t *host, const cse_host_known *known)
{
    json_object_set_new(host, "losses", json_integer(known->losses));
    json_object_set_new(
        host, "returns_ms",
        known->is_lost && known->return_ns > 0
            ? json_integer(cse_unix_ms() + (known->return_ns - cse_clock_ns()) / 1000000)
            : json_null());
}

static json_t *host_of(cse_host_group *group, int number, int own, const json_t *report)
{
    cse_host_view view;
    cse_host_group_look(group, number, &view);
    json_t *host = json_pack("{s:s, s:s, s:b, s:b, s:s, s:o}", "name", view.name, "state",
                             state_name(view.state), "leads", number == own, "connected",
                             number == own || view.connected, "why", view.why, "steps_done",
                             view.steps_done >= 0 ? json_integer(view.steps_done) : json_null());
    if (number == own) {
        json_object_set_new(host, "report_age_ms", json_integer(0));
        take_report(host, report, group);
        return host;
    }
    int64_t age_ns = 0;
    char *text = cse_host_group_reported(group, number, &age_ns);
    json_t *theirs = text != NULL ? json_loads(text, 0, NULL) : NULL;
    json_object_set_new(host, "report_age_ms",
                        theirs != NULL ? json_integer(age_ns / 1000000) : json_null());
    take_report(host, view.state == CSE_MEMBER_PRESENT ? theirs : NULL, group);
    json_decref(theirs);
    free(text);
    return host;
}

static json_t *find(const json_t *hosts, const char *name)
{
    size_t i;
    json_t *host;
    json_array_foreach(hosts, i, host) if (strcmp(json_string_value(json_object_get(host, "name")),
                                                  name) == 0) return host;
    return NULL;
}

/* Those that were left out of the group since they are lost, too. */
static void add_known(json_t *hosts, cse_host_change *change)
{
    cse_host_known known;
    for (int i = 0; cse_host_change_look(change, i, &known); i++) {
        json_t *host = find(hosts, known.name);
        if (host == NULL && !known.is_lost)
            continue;
        if (host == NULL) {
            host = json_pack("{s:s, s:s, s:b, s:b, s:s, s:n, s:n, s:n, s:[], s:[]}", "name",
                             known.name, "state", "lost", "leads", 0, "connected", 0, "why", "",
                             "steps_done", "report_age_ms", "exposed", "processes", "links");
            json_array_append_new(hosts, host);
        }
        add_return(host, &known);
    }
}

static void mark_slowest(json_t *hosts)
{
    double least = 1, most = 0;
    json_t *slowest = NULL, *host;
    size_t i;
    json_array_foreach(hosts, i, host)
    {
        const json_t *exposed = json_object_get(host, "exposed");
        json_object_set_new(host, "slowest", json_false());
        if (!json_is_number(exposed))
            continue;
        const double share = json_number_value(exposed);
        if (slowest == NULL || share < least) {
            slowest = host;
            least = share;
        }
        most = share > most ? share : most;
    }
    if (slowest != NULL && most - least > NOTABLE)
        json_object_set_new(slowest, "slowest", json_true());
}

void cse_host_reports_add(cse_host_group *group, cse_host_change *change, json_t *report)
{
    json_t *hosts = json_array();
    const json_t *own = json_object_get(json_object_get(report, "host"), "number");
    for (int h = 0; json_is_integer(own) && h < cse_host_group_size(group); h++)
        json_array_append_new(hosts, host_of(group, h, (int)json_integer_value(own), report));
    add_known(hosts, change);
    mark_slowest(hosts);
    json_object_del(report, "host");
    json_object_del(report, "machine");
    json_object_set_new(report, "hosts", hosts);
}
