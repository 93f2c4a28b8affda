/* The configuration: as it was sent, as it was resolved, and where each value came from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/routes/route_support.h"
#include "engine/base/arena.h"
#include "engine/base/beneath.h"

enum { MOST_BYTES = 1 << 20 };

static json_t *read_file(const char *directory, const char *name)
{
    cse_text path = { 0 };
    json_t *text = NULL;
    char *content = cse_malloc(MOST_BYTES);
    cse_text_add(&path, "%s/%s", directory, name);
    FILE *file = cse_open_plain_stream(path.data);
    if (file != NULL) {
        text = json_stringn(content, fread(content, 1, MOST_BYTES, file));
        fclose(file);
    }
    free(content);
    cse_text_clear(&path);
    return text != NULL ? text : json_null();
}

static json_t *read_artefact(cse_store_reader *reader, const char *name, bool parsed)
{
    cse_text text = { 0 };
    json_t *value = NULL;
    if (reader != NULL && cse_store_reader_artefact(reader, name, &text, NULL, 0) == CSE_OK)
        value = parsed ? json_loads(text.data, 0, NULL) : json_stringn(text.data, text.size);
    cse_text_clear(&text);
    return value != NULL ? value : json_null();
}

/* What was asked for, with name, labels and priority as they are now: the text of a configuration
 * is "submitted". Null where the run was not submitted to a queue. */
static json_t *spec_json(const cse_job_record *record)
{
    const char priority[3] = { 'p', (char)('0' + record->priority), '\0' };
    json_t *spec = record->digest[0] != '\0' && record->spec != NULL
                       ? json_loads(record->spec, 0, NULL)
                       : NULL;
    if (!json_is_object(spec)) {
        json_decref(spec);
        return json_null();
    }
    if (strcmp(record->name, record->id) != 0) /* a job without a name of its own has its id */
        json_object_set_new(spec, "name", json_string(record->name));
    json_t *labels = json_loads(record->labels, 0, NULL);
    if (json_object_size(labels) > 0)
        json_object_set(spec, "labels", labels);
    json_decref(labels);
    json_object_set_new(spec, "priority", json_string(priority));
    return spec;
}

static void get_config(const cse_request *request, cse_answer *answer)
{
    cse_job job;
    cse_store_reader *reader = NULL;
    if (!cse_server_find_job(request, answer, &job))
        return;
    const char *directory = job.record.model_dir;
    if (cse_readers_borrow(request->server->readers, directory, &reader) != CSE_OK)
        reader = NULL;
    json_t *object = json_object();
    json_object_set_new(object, "yaml", read_artefact(reader, "config.yaml", false));
    json_object_set_new(object, "origins", read_artefact(reader, "config.origins.json", true));
    json_object_set_new(object, "submitted", read_file(directory, "submitted.yaml"));
    json_object_set_new(object, "spec", spec_json(&job.record));
    cse_readers_give_back(request->server->readers, directory, &reader);
    cse_answer_json(answer, 200, object);
    cse_job_release(&job);
}

static const char schemas[] =
    "JobConfig\n"
    "  yaml string|null  # the resolved configuration\n"
    "  origins any  # place of each setting: file:line:column, default, or the option that set "
    "it\n"
    "  submitted string|null  # as it was sent\n"
    "  spec JobSpec|null  # the rest of what was asked for: the same again, with submitted as "
    "config, "
    "makes the same run; null: it was started without a queue\n";

const cse_route cse_route_job_config = {
    .path = "/api/v1/jobs/{id}/config",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getJobConfig", get_config,
                        "The resolved configuration and the origin of each value"),
          .replies = "200 JobConfig",
          .problems = "503" },
    },
};
