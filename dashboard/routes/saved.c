/* The checkpoints that the run store lists, and which of their files still exist. */
#include "dashboard/routes/saved.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/jobs/saved_file.h"

typedef struct listing {
    const cse_server_run *run;
    json_t *list;
} listing;

bool cse_saved_path(const cse_server_run *run, const json_t *checkpoint,
                    char path[CSE_JOB_PATH_BYTES])
{
    return cse_saved_file(run->job.record.model_dir,
                          json_string_value(json_object_get(checkpoint, "path")), path);
}

static json_t *digest_json(const cse_field *field)
{
    return field->text != NULL && field->size > 0 ? json_stringn(field->text, field->size)
                                                  : json_null();
}

static json_t *checkpoint_json(const cse_server_run *run, const cse_row *row)
{
    const cse_field *f = row->fields;
    char path[CSE_JOB_PATH_BYTES];
    const char *id = run->job.record.id;
    long long step = (long long)f[2].integer;
    json_t *name = f[4].text != NULL ? json_string(f[4].text) : NULL;
    json_t *object = json_object(), *links = json_object();
    json_object_set_new(object, "step", json_integer(step));
    json_object_set_new(object, "attempt", json_integer(f[1].integer));
    json_object_set_new(object, "time_ms", json_integer(f[3].integer));
    json_object_set_new(object, "path", name != NULL ? name : json_string(""));
    json_object_set_new(object, "bytes", json_integer(f[5].integer > 0 ? f[5].integer : 0));
    json_object_set_new(object, "digest", digest_json(&f[6]));
    json_object_set_new(object, "write_ms",
                        f[7].integer >= 0 ? json_integer(f[7].integer) : json_null());
    json_object_set_new(object, "verified", json_boolean(f[8].integer > 0));
    bool deleted = f[9].integer > 0 || !cse_saved_path(run, object, path);
    json_object_set_new(object, "deleted", json_boolean(deleted));
    json_object_set_new(links, "self", json_sprintf("/api/v1/jobs/%s/checkpoints/%lld", id, step));
    if (!deleted)
        json_object_set_new(links, "file",
                            json_sprintf("/api/v1/jobs/%s/checkpoints/%lld/file", id, step));
    json_object_set_new(object, "links", links);
    return object;
}

static void take_checkpoint(void *self, const cse_row *row)
{
    listing *l = self;
    json_array_append_new(l->list, checkpoint_json(l->run, row));
}

cse_status cse_saved_list(const cse_server_run *run, json_t *list)
{
    listing l = { run, list };
    return cse_store_reader_rows(run->reader, CSE_ROW_CHECKPOINT,
                                 &(cse_store_query){ .limit = 10000 }, take_checkpoint, &l);
}

json_t *cse_saved_find(const cse_server_run *run, int64_t step, cse_answer *answer)
{
    json_t *list = json_array(), *found = NULL, *one;
    size_t i;
    cse_status status = cse_saved_list(run, list);
    json_array_foreach(list, i, one)
    {
        if (json_integer_value(json_object_get(one, "step")) == step)
            found = one;
    }
    json_incref(found);
    json_decref(list);
    if (status != CSE_OK)
        cse_answer_failure(answer, status);
    else if (found == NULL)
        cse_answer_problem(answer, CSE_PROBLEM_NOT_FOUND,
                           "job \"%s\" has no checkpoint of step "
                           "%lld",
                           run->job.record.id, (long long)step);
    return found;
}

bool cse_saved_is_newest(const cse_server_run *run, int64_t step)
{
    json_t *list = json_array(), *one;
    size_t i;
    bool newest = true;
    cse_saved_list(run, list);
    json_array_foreach(list, i, one) newest =
        newest && json_integer_value(json_object_get(one, "step")) <= step;
    json_decref(list);
    return newest;
}
