/* One number a member; `topology` is a text. A member that nobody reads is a mistake. */
#include "run/measure/machine_rates.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "run/measure/measured_numbers.h"

#define OF_CORE(name, rate)                                                                  \
    {                                                                                        \
        name, offsetof(cse_machine_rates, of_core) + (rate) * sizeof(double), false, 0, 1e18 \
    }
#define OF_MACHINE(name, least, most)                                \
    {                                                                \
#name, offsetof(cse_machine_rates, name), false, least, most \
    }

/* The rates of a core first, in the order of their enumeration. */
static const cse_measured_number members[] = {
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

static const cse_measured_file machine_file = { .what = "the machine file",
                                                .numbers = "in bytes, operations or seconds, ",
                                                .option = "--measure_machine",
                                                .table = members,
                                                .count = MEMBERS };

const char *cse_rate_name(cse_rate rate)
{
    return members[rate].name;
}

json_t *cse_machine_rates_json(const cse_machine_rates *rates)
{
    json_t *object = json_pack("{s:s}", "topology", rates->topology);
    cse_measured_numbers_put(&machine_file, rates, object);
    return object;
}

cse_status cse_machine_rates_write(const cse_machine_rates *rates, const char *path)
{
    return cse_measured_file_write(&machine_file, cse_machine_rates_json(rates),
                                   JSON_INDENT(2) | JSON_REAL_PRECISION(6), path);
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
    return cse_measured_numbers_take(&machine_file, object, path, rates);
}

cse_status cse_machine_rates_read(const char *path, cse_machine_rates *rates)
{
    json_t *object = NULL;
    CSE_TRY(cse_measured_file_read(&machine_file, path, &object));
    cse_status status = take(object, path, rates);
    json_decref(object);
    return status;
}
