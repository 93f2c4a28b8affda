/* MODEL_DIR/run_meta.json: one entry for each execution of a job that has labels, a
 * priority or a time limit, in the format of the
 * reference API:
 *
 *   {"execute_jobs": [{"start_time": "...", "first_step": 0, "last_step": 100, "num_csx": 2,
 *                      "num_workers_per_csx": 1, "job_labels": ["team=vision"]}]}
 *
 * It is for users and their tools; csengine does not read it. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "run/session/session.h"

#include "engine/base/file_status.h"

static json_t *new_entry(const cse_session *session)
{
    char start_time[64];
    time_t now = time(NULL);
    struct tm parts;
    const cse_configuration *c = &session->configuration;
    strftime(start_time, sizeof start_time, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
    json_t *labels = json_array();
    for (int i = 0; c->job_labels[i] != NULL; i++)
        json_array_append_new(labels, json_string(c->job_labels[i]));
    json_t *entry = json_pack("{s:s, s:I, s:I, s:i, s:i, s:o}", "start_time", start_time,
                              "first_step", (json_int_t)session->report.first_step, "last_step",
                              (json_int_t)session->report.last_step, "num_csx", c->num_csx,
                              "num_workers_per_csx", c->num_workers_per_csx, "job_labels", labels);
    if (c->job_priority != NULL)
        json_object_set_new(entry, "job_priority", json_string(c->job_priority));
    if (c->job_time_sec > 0)
        json_object_set_new(entry, "job_time_sec", json_integer(c->job_time_sec));
    return entry;
}

cse_status cse_session_record_job(const cse_session *session)
{
    char path[4096], temporary[4200];
    const cse_configuration *c = &session->configuration;
    if (c->job_labels[0] == NULL && c->job_priority == NULL && c->job_time_sec == 0)
        return CSE_OK;
    snprintf(path, sizeof path, "%s/run_meta.json", session->configuration.model_dir);
    snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid());
    json_t *root = json_load_file(path, 0, NULL);
    if (!json_is_object(root)) {
        json_decref(root);
        root = json_object();
    }
    if (!json_is_array(json_object_get(root, "execute_jobs")))
        json_object_set_new(root, "execute_jobs", json_array());
    json_array_append_new(json_object_get(root, "execute_jobs"), new_entry(session));
    bool written =
        json_dump_file(root, temporary, JSON_INDENT(2)) == 0 && rename(temporary, path) == 0;
    json_decref(root);
    if (written)
        return CSE_OK;
    const int error = errno;
    unlink(temporary);
    return cse_fail(cse_status_of_writing(error),
                    "%s cannot be written; model_dir must exist and be writable", path);
}
