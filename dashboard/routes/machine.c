/* What the hosts of a run did as a whole, over time: of the topology's samples, those that tell
 * it. */
#include <stdlib.h>
#include <string.h>

#include "dashboard/routes/route_support.h"
#include "engine/base/arena.h"

/* As many as the store keeps of the topology, an hour at two a second. */
enum { MOST_ROWS = 7200 };

/* A row that tells of machines. */
typedef struct told {
    int64_t time_ms;
    char *text;
} told;

typedef struct reading {
    json_t *hosts;   /* by name */
    const char *own; /* name of the host of a run that has one */
    told *rows;      /* newest first */
    int64_t count, room;
} reading;

static const char *const figures[] = { "busy",
                                       "clock_mhz",
                                       "clock_least_mhz",
                                       "memory_bytes",
                                       "memory_free_bytes",
                                       "disk_read_mb_per_second",
                                       "disk_written_mb_per_second",
                                       "disk_busy",
                                       "network_received_mb_per_second",
                                       "network_sent_mb_per_second",
                                       "temperature_celsius" };
enum { FIGURES = sizeof figures / sizeof figures[0] };

static void take_row(void *self, const cse_row *row)
{
    reading *r = self;
    const char *text = row->fields[1].text;
    if (text == NULL || strstr(text, "\"machine\":") == NULL)
        return;
    CSE_GROW(r->rows, r->count, r->room);
    r->rows[r->count++] = (told){ row->fields[0].integer, cse_strdup(text) };
}

static json_t *host_of(reading *r, const char *name)
{
    json_t *host = json_object_get(r->hosts, name);
    if (host != NULL)
        return host;
    host = json_pack("{s:s, s:[], s:[], s:[], s:[]}", "name", name, "time_ms", "step", "cores",
                     "not_readable");
    json_t *columns = json_object();
    for (int f = 0; f < FIGURES; f++)
        json_object_set_new(columns, figures[f], json_array());
    json_object_set_new(host, "figures", columns);
    json_object_set_new(r->hosts, name, host);
    return host;
}

static json_t *number_or_null(const json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_incref(value) : json_null();
}

static void add_sample(json_t *host, int64_t time_ms, const json_t *root, const json_t *machine)
{
    const json_t *cores = json_object_get(machine, "cores");
    const json_t *missing = json_object_get(machine, "not_readable");
    json_array_append_new(json_object_get(host, "time_ms"), json_integer(time_ms));
    json_array_append_new(json_object_get(host, "step"), number_or_null(root, "step"));
    for (int f = 0; f < FIGURES; f++)
        json_array_append_new(json_object_get(json_object_get(host, "figures"), figures[f]),
                              number_or_null(machine, figures[f]));
    json_array_append_new(json_object_get(host, "cores"),
                          json_is_array(cores) ? json_deep_copy(cores) : json_null());
    if (json_is_array(missing))
        json_object_set_new(host, "not_readable", json_deep_copy(missing));
}

static void add_row(reading *r, int64_t time_ms, const char *text)
{
    json_t *root = json_loads(text, 0, NULL), *one;
    const json_t *hosts = json_object_get(root, "hosts");
    const json_t *machine = json_object_get(root, "machine");
    size_t i;
    if (json_is_object(machine))
        add_sample(host_of(r, r->own), time_ms, root, machine);
    json_array_foreach(hosts, i, one)
    {
        const char *name = json_string_value(json_object_get(one, "name"));
        machine = json_object_get(one, "machine");
        if (name != NULL && json_is_object(machine))
            add_sample(host_of(r, name), time_ms, root, machine);
    }
    json_decref(root);
}

/* Oldest first; of more than `most`, one in so many. */
static json_t *hosts_json(reading *r, int64_t most)
{
    const int64_t every = (r->count + most - 1) / most;
    json_t *list = json_array(), *host;
    const char *name;
    for (int64_t i = r->count - 1; i >= 0; i--) {
        if (i % every == 0)
            add_row(r, r->rows[i].time_ms, r->rows[i].text);
        free(r->rows[i].text);
    }
    json_object_foreach(r->hosts, name, host) json_array_append(list, host);
    return list;
}

static void get_machine(const cse_request *request, cse_answer *answer)
{
    cse_server_run run;
    cse_text own = { 0 };
    reading r = { .own = "this host" };
    if (!cse_server_open_run(request, answer, &run))
        return;
    const cse_store_query query = { .limit = MOST_ROWS, .newest_first = true };
    if (cse_store_reader_key(run.reader, "host", &own) && own.size > 0)
        r.own = own.data;
    r.hosts = json_object();
    const cse_status status =
        cse_store_reader_rows(run.reader, CSE_ROW_TOPOLOGY, &query, take_row, &r);
    cse_server_close_run(request, &run);
    json_t *hosts = hosts_json(&r, cse_request_integer(request, "max_points", 300));
    cse_answer_result(answer, status,
                      json_pack("{s:O, s:s?}", "hosts", hosts, "missing",
                                json_array_size(hosts) > 0
                                    ? NULL
                                    : "no sample of a host was taken: the first comes when steps "
                                      "have been taken for four seconds; a run of an earlier "
                                      "version has none"));
    json_decref(hosts);
    json_decref(r.hosts);
    free(r.rows);
    cse_text_clear(&own);
}

static const char schemas[] =
    "MachineFigures  # Columns as long as time_ms; null: not readable on this host.\n"
    "  busy [number|null]  # share of the time of all cores, 0 to 1\n"
    "  clock_mhz,clock_least_mhz [number|null]  # mean and least of the first cores\n"
    "  memory_bytes,memory_free_bytes [number|null]\n"
    "  disk_read_mb_per_second,disk_written_mb_per_second [number|null]  # of all disks\n"
    "  disk_busy [number|null]  # share of the time, of the busiest disk\n"
    "  network_received_mb_per_second,network_sent_mb_per_second [number|null]  # but what stays "
    "on the host\n"
    "  temperature_celsius [number|null]  # the hottest sensor\n"
    "MachineHost\n"
    "  name string\n"
    "  time_ms [integer]\n"
    "  step [integer|null]  # steps done, of training or of a validation\n"
    "  figures MachineFigures\n"
    "  cores [any]  # at each time the busy share of each core; null with more than 64\n"
    "  not_readable [string]  # of cores, clock, memory, disk, network, temperature: those that "
    "this "
    "host does not tell\n"
    "Machine\n"
    "  hosts [MachineHost]\n"
    "  missing string|null  # why there are none\n";

const cse_route cse_route_machine = {
    .path = "/api/v1/jobs/{id}/machine",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getMachine", get_machine,
                        "Cores, clock, memory, disk, network, temperature by host over time"),
          .doc = "Sampled every other second while steps are taken; the last hour is kept.",
          .parameters = "max_points? integer 1..2000 = 300  # of each host; of more, one in so "
                        "many\n",
          .replies = "200 Machine",
          .problems = "503" },
    },
};
