/* JSON Schema of CONFIG.yaml, made from the tables that check it: the one of the file, and those of
 * the plugins in the sections that name a plugin. */
#include <string.h>

#include "dashboard/api/settings_schema.h"
#include "dashboard/server.h"
#include "engine/base/config/config.h"
#include "engine/base/config/dataloader_table.h"
#include "run/job/kinds.h"

static const cse_configured_descriptor *const *plugins_of(const char *kind)
{
    for (const cse_kind *one = cse_kinds; one->name != NULL; one++)
        if (strcmp(one->name, kind) == 0)
            return one->table;
    static const cse_configured_descriptor *const none[] = { NULL };
    return none;
}

static json_t *described(json_t *schema, const cse_configured_descriptor *plugin)
{
    json_object_set_new(schema, "description", json_string(plugin->summary));
    return schema;
}

static json_t *text_schema(const char *description)
{
    return json_pack("{s:s, s:s}", "type", "string", "description", description);
}

static const char library_text[] = "path of a shared object of plugins that holds it";

/* {NAME: {settings}}: one member, named after a plugin; or {library: PATH, name: NAME, settings},
 * which are not known here. */
static json_t *keyed_schema(const char *kind)
{
    json_t *properties = json_object(), *names = json_array();
    for (const cse_configured_descriptor *const *p = plugins_of(kind); *p != NULL; p++) {
        json_object_set_new(properties, (*p)->name,
                            described(cse_settings_schema((*p)->settings), *p));
        json_array_append_new(names, json_string((*p)->name));
    }
    json_object_set_new(properties, "library", text_schema(library_text));
    return json_pack("{s:[s,s,s], s:o, s:{s:[s]}, s:{s:[s]}, s:{s:{s:o}, s:i}}", "type", "object",
                     "string", "null", "properties", properties, "if", "required", "library",
                     "then", "required", "name", "else", "propertyNames", "enum", names,
                     "maxProperties", 1);
}

/* Adds the members of `more` that `schema` has not, and what it requires. */
static void add_members(json_t *schema, const json_t *more)
{
    json_object_update_missing(json_object_get(schema, "properties"),
                               json_object_get(more, "properties"));
    if (json_object_get(schema, "required") == NULL)
        json_object_set_new(schema, "required", json_array());
    json_array_extend(json_object_get(schema, "required"), json_object_get(more, "required"));
}

/* {KEY: NAME, ...settings}: one alternative a plugin, told apart by the value of KEY. `common`: the
 * schema of settings that all of them have. */
static json_t *named_schema(const char *kind, const char *key, json_t *common)
{
    json_t *alternatives = json_array();
    for (const cse_configured_descriptor *const *p = plugins_of(kind); *p != NULL; p++) {
        json_t *schema = described(cse_settings_schema((*p)->settings), *p);
        add_members(schema, common);
        json_object_set_new(
            json_object_get(schema, "properties"), key,
            json_pack("{s:s, s:s}", "const", (*p)->name, "description", (*p)->summary));
        json_array_append_new(alternatives, schema);
    }
    json_decref(common);
    return json_pack("{s:o}", "anyOf", alternatives);
}

/* A plugin of a shared object, whose settings are not known here. */
static void allow_library(json_t *schema, const char *key)
{
    json_array_append_new(json_object_get(schema, "anyOf"),
                          json_pack("{s:s, s:{s:{s:s}, s:o}, s:[s,s]}", "type", "object",
                                    "properties", key, "type", "string", "library",
                                    text_schema(library_text), "required", key, "library"));
}

static json_t *dataloader_schema(void)
{
    json_t *schema =
        named_schema("inputs", "data_processor", cse_settings_schema(cse_dataloader_settings));
    allow_library(schema, "data_processor");
    json_array_append_new(json_object_get(schema, "anyOf"), json_pack("{s:s}", "type", "null"));
    return schema;
}

static json_t *model_schema(void)
{
    json_t *schema = named_schema("models", "name", json_pack("{s:[s]}", "required", "name"));
    allow_library(schema, "name");
    return schema;
}

static json_t *list_schema(json_t *entry)
{
    json_t *list = json_pack("{s:s, s:O}", "type", "array", "items", entry);
    return json_pack("{s:[o,o]}", "anyOf", entry, list);
}

/* Replaces the schema of a section of plugins, which the file's table leaves open. */
static void set_section(json_t *trainer, const char *parent, const char *name, json_t *schema)
{
    json_t *properties = json_object_get(
        json_object_get(json_object_get(trainer, "properties"), parent), "properties");
    json_t *open = json_object_get(properties, name);
    json_object_set(schema, "description", json_object_get(open, "description"));
    json_object_set_new(properties, name, schema);
}

static void answer_schema(const cse_request *request, cse_answer *answer)
{
    (void)request;
    json_t *schema = cse_settings_schema(cse_config_table);
    json_t *trainer = json_object_get(json_object_get(schema, "properties"), "trainer");
    set_section(trainer, "init", "model", model_schema());
    set_section(trainer, "init", "objective", keyed_schema("objectives"));
    set_section(trainer, "init", "optimizer", keyed_schema("optimizers"));
    set_section(trainer, "init", "schedulers", list_schema(keyed_schema("schedules")));
    set_section(trainer, "init", "callbacks", list_schema(keyed_schema("callbacks")));
    set_section(trainer, "init", "loggers", list_schema(keyed_schema("loggers")));
    set_section(trainer, "fit", "train_dataloader", dataloader_schema());
    set_section(trainer, "fit", "val_dataloader", list_schema(dataloader_schema()));
    set_section(trainer, "validate", "val_dataloader", list_schema(dataloader_schema()));
    set_section(trainer, "validate_all", "val_dataloaders", list_schema(dataloader_schema()));
    json_object_set_new(schema, "$schema",
                        json_string("https://json-schema.org/draft/2020-12/schema"));
    json_object_set_new(schema, "title", json_string("CONFIG.yaml of csengine"));
    cse_answer_json(answer, 200, schema);
}

const cse_route cse_route_config_schema = {
    .path = "/api/v1/config-schema",
    .tag = "config",
    .operations = {
        { CSE_OPERATION("GET", "getConfigSchema", answer_schema, "JSON Schema of CONFIG.yaml"),
          .replies = "200 object" },
    },
};
