/* One number a member; `topology` is a text. A member that nobody reads is a mistake. */
#include "run/measure/machine_rates.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct member {
    const char *name;
    size_t offset;
    double least, most; /* accepted */
} member;

#define OF_CORE(name, rate)                                                           \
    {                                                                                 \
        name, offsetof(cse_machine_rates, of_core) + (rate) * sizeof(double), 0, 1e18 \
    }
#define OF_MACHINE(name, least, most)                         \
    {                                                         \
#name, offsetof(cse_machine_rates, name), least, most \
    }

/* The rates of a core first, in the order of their enumeration. */
static const member members[] = {
    OF_CORE("product_float32_flop_per_s", CSE_RATE_PRODUCT_FLOAT32),
    OF_CORE("product_bfloat16_flop_per_s", CSE_RATE_PRODUCT_BFLOAT16),
    OF_CORE("attention_float32_flop_per_s", CSE_RATE_ATTENTION_FLOAT32),
    OF_CORE("attention_bfloat16_flop_per_s", CSE_RATE_ATTENTION_BFLOAT16),
    OF_CORE("other_bytes_per_s", CSE_RATE_OTHER),
    OF_CORE("serial_bytes_per_s", CSE_RATE_SERIAL),
    OF_CORE("update_bytes_per_s", CSE_RATE_UPDATE),
    OF_CORE("input_bytes_per_s", CSE_RATE_INPUT),
    OF_MACHINE(core_bytes_per_s, 1e6, 1e15),
    OF_MACHINE(memory_bytes_per_s, 1e6, 1e15),
    OF_MACHINE(link_bytes_per_s, 0, 1e15),
    OF_MACHINE(cache_bytes, 0, 1e15),
    OF_MACHINE(cache_line_s, 0, 1),
    OF_MACHINE(socket_line_s, 0, 1),
    OF_MACHINE(machine_line_s, 0, 1),
    OF_MACHINE(spread, 0, 1),
};
enum { MEMBERS = sizeof members / sizeof *members };

const char *cse_rate_name(cse_rate rate)
{
    return members[rate].name;
}

static double *place_of(cse_machine_rates *rates, const member *m)
{
    return (double *)(void *)((char *)rates + m->offset);
}

json_t *cse_machine_rates_json(const cse_machine_rates *rates)
{
    cse_machine_rates copy = *rates;
    json_t *object = json_pack("{s:s}", "topology", rates->topology);
    for (int i = 0; i < MEMBERS; i++)
        json_object_set_new(object, members[i].name, json_real(*place_of(&copy, &members[i])));
    return object;
}

cse_status cse_machine_rates_write(const cse_machine_rates *rates, const char *path)
{
    json_t *object = cse_machine_rates_json(rates);
    const bool written = json_dump_file(object, path, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) == 0;
    const int error = errno;
    json_decref(object);
    return written ? CSE_OK
                   : cse_fail(CSE_CANNOT_CREATE, "%s: the machine file cannot be written: %s", path,
                              strerror(error));
}

static cse_status read_member(const json_t *object, const member *m, const char *path,
                              cse_machine_rates *rates)
{
    const json_t *value = json_object_get(object, m->name);
    const double number = json_is_number(value) ? json_number_value(value) : NAN;
    if (!(number >= m->least && number <= m->most))
        return cse_fail(CSE_DATA,
                        "%s: \"%s\" is missing or out of range; accepted: a number from %g to %g, "
                        "in bytes, operations or seconds, as `csengine plan --measure_machine` "
                        "writes it",
                        path, m->name, m->least, m->most);
    *place_of(rates, m) = number;
    return CSE_OK;
}

static bool is_known(const char *name)
{
    for (int i = 0; i < MEMBERS; i++)
        if (strcmp(name, members[i].name) == 0)
            return true;
    return strcmp(name, "topology") == 0;
}

static cse_status read_topology(const json_t *object, const char *path, cse_machine_rates *rates)
{
    const json_t *value = json_object_get(object, "topology");
    const char *text = json_string_value(value);
    if (text != NULL && strlen(text) < sizeof rates->topology) {
        snprintf(rates->topology, sizeof rates->topology, "%s", text);
        return CSE_OK;
    }
    return cse_fail(CSE_DATA,
                    "%s: \"topology\" is missing, no text or longer than %d bytes; accepted: "
                    "levels as in \"pack:2 numa:4 l3:4 core:4 pu:1\", or the name of a file that "
                    "`lstopo FILE.xml` wrote",
                    path, CSE_TOPOLOGY_BYTES - 1);
}

static cse_status take(json_t *object, const char *path, cse_machine_rates *rates)
{
    const char *name;
    json_t *value;
    *rates = (cse_machine_rates){ .topology = "" };
    if (!json_is_object(object))
        return cse_fail(CSE_DATA, "%s: the machine file holds no JSON object", path);
    json_object_foreach(object, name, value)
    {
        if (!is_known(name))
            return cse_fail(CSE_DATA,
                            "%s: \"%s\" is no rate of a machine; accepted: those that `csengine "
                            "plan --measure_machine` writes",
                            path, name);
    }
    CSE_TRY(read_topology(object, path, rates));
    for (int i = 0; i < MEMBERS; i++)
        CSE_TRY(read_member(object, &members[i], path, rates));
    return CSE_OK;
}

cse_status cse_machine_rates_read(const char *path, cse_machine_rates *rates)
{
    json_error_t error;
    json_t *object = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (object == NULL)
        return error.line < 1 ? cse_fail(CSE_NO_INPUT, "%s: the machine file cannot be read: %s",
                                         path, error.text)
                              : cse_fail(CSE_DATA, "%s:%d:%d: the machine file is no JSON: %s",
                                         path, error.line, error.column, error.text);
    cse_status status = take(object, path, rates);
    json_decref(object);
    return status;
}
