/* Whoever may see the job may see what was kept of its steps. */
#include "dashboard/routes/step_part.h"

#include <unistd.h>

#include "dashboard/replays/replays.h"

int cse_step_part_file(const cse_request *request, cse_answer *answer)
{
    cse_job job;
    if (!cse_server_find_job(request, answer, &job))
        return -1;
    const int file = cse_replays_open_values(request->server->replays, job.record.id,
                                             cse_request_integer(request, "step", 0));
    cse_job_release(&job);
    if (file < 0)
        cse_answer_problem(answer, CSE_PROBLEM_NOT_FOUND,
                           "no values of this step are kept: POST .../tensors with {\"keep\": "
                           "true} does the step again and keeps them");
    return file;
}

static int take_integers(const cse_request *request, const char *name, int64_t to[CSE_MAX_RANK])
{
    const json_t *list = json_object_get(request->values, name);
    const int count = (int)json_array_size(list);
    for (int i = 0; i < count && i < CSE_MAX_RANK; i++)
        to[i] = json_integer_value(json_array_get(list, (size_t)i));
    return count < CSE_MAX_RANK ? count : CSE_MAX_RANK;
}

void cse_answer_part_failure(cse_answer *answer, cse_status status)
{
    if (status == CSE_USAGE)
        cse_answer_problem(answer, CSE_PROBLEM_BAD_REQUEST, "%s", cse_error_message());
    else if (status == CSE_NO_INPUT)
        cse_answer_problem(answer, CSE_PROBLEM_NOT_FOUND, "%s", cse_error_message());
    else
        cse_answer_failure(answer, status);
}

bool cse_step_part_open(const cse_request *request, cse_answer *answer, cse_step_part *part)
{
    cse_value_choice choice = { .tensor = cse_request_text(request, "tensor", NULL) };
    *part = (cse_step_part){ .file = -1 };
    if (choice.tensor == NULL) {
        cse_answer_problem(answer, CSE_PROBLEM_BAD_REQUEST, "tensor: the name is missing");
        return false;
    }
    choice.shape.rank = take_integers(request, "shape", choice.shape.dims);
    choice.at_count = take_integers(request, "at", choice.at);
    part->file = cse_step_part_file(request, answer);
    if (part->file < 0)
        return false;
    cse_status status = cse_tensors_map(part->file, &part->map);
    if (status == CSE_OK)
        status = cse_value_part_choose(part->map, &choice, &part->part);
    if (status == CSE_OK)
        return true;
    cse_step_part_close(part);
    cse_answer_part_failure(answer, status);
    return false;
}

void cse_step_part_close(cse_step_part *part)
{
    cse_tensors_unmap(&part->map);
    if (part->file >= 0)
        close(part->file);
    part->file = -1;
}
