/* The file of a checkpoint, whole or in parts. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dashboard/routes/route_support.h"
#include "dashboard/routes/saved.h"

/* Lists the checkpoints that still have files. */
static void answer_gone(const cse_server_run *run, const json_t *checkpoint, cse_answer *answer)
{
    json_t *list = json_array(), *one;
    size_t i;
    cse_text steps = { 0 };
    if (cse_saved_list(run, list) != CSE_OK)
        json_array_clear(list);
    json_array_foreach(list, i, one)
    {
        if (!json_is_true(json_object_get(one, "deleted")) && steps.size < 200)
            cse_text_add(&steps, "%s%lld", steps.size > 0 ? ", " : "",
                         (long long)json_integer_value(json_object_get(one, "step")));
    }
    cse_answer_problem(answer, CSE_PROBLEM_GONE,
                       "the file %s of step %lld was removed; files are there of the steps: %s",
                       json_string_value(json_object_get(checkpoint, "path")),
                       (long long)json_integer_value(json_object_get(checkpoint, "step")),
                       steps.size > 0 ? steps.data : "none");
    cse_text_clear(&steps);
    json_decref(list);
}

static void get_file(const cse_request *request, cse_answer *answer)
{
    cse_server_run run;
    char path[CSE_JOB_PATH_BYTES];
    struct stat about;
    int64_t step = cse_request_integer(request, "step", 0);
    if (!cse_server_open_run(request, answer, &run))
        return;
    json_t *found = cse_saved_find(&run, step, answer);
    int file = found != NULL && cse_saved_path(&run, found, path)
                   ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
                   : -1;
    if (file >= 0 && fstat(file, &about) == 0 && S_ISREG(about.st_mode)) {
        const char *digest = json_string_value(json_object_get(found, "digest"));
        cse_answer_empty(answer, 200);
        answer->file = file;
        answer->file_size = about.st_size;
        answer->content_type = "application/x-hdf5";
        /* Time and size distinguish two files that were written under one name. */
        cse_answer_header(answer, "ETag", "\"%.16s-%llx-%llx\"", digest != NULL ? digest : "",
                          (unsigned long long)about.st_size,
                          (unsigned long long)about.st_mtim.tv_sec * 1000000000ull +
                              (unsigned long long)about.st_mtim.tv_nsec);
        cse_answer_header(answer, "Content-Disposition", "attachment; filename=\"%s_%lld.h5\"",
                          run.job.record.id, (long long)step);
    } else if (found != NULL) {
        if (file >= 0)
            close(file);
        answer_gone(&run, found, answer);
    }
    json_decref(found);
    cse_server_close_run(request, &run);
}

static const char parameters[] = "format? 'h5' = h5  # of the file\n"
                                 "Range? string ..200  # bytes=first-last\n";

const cse_route cse_route_checkpoint_file = {
    .path = "/api/v1/jobs/{id}/checkpoints/{step}/file",
    .tag = "checkpoints",
    .operations = {
        { CSE_OPERATION("GET", "getCheckpointFile", get_file, "The file, also in parts (Range)"),
          .parameters = parameters,
          .replies = "200 application/x-hdf5 binary  # The file\n"
          "206 application/x-hdf5 binary  # The part that was asked for\n",
          .problems = "410 416 503" },
    },
};
