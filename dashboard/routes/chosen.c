/* A name that is no job is told: a table without it would hide a slip of the pen. */
#include "dashboard/routes/chosen.h"

#include "dashboard/routes/route_support.h"

json_t *cse_chosen_read(const cse_request *request)
{
    const json_t *ids = json_object_get(request->values, "runs");
    size_t i;
    json_t *id, *chosen = ids != NULL ? json_object() : NULL;
    json_array_foreach(ids, i, id) json_object_set_new(chosen, json_string_value(id), json_false());
    return chosen;
}

bool cse_chosen_asks(json_t *chosen, const char *id)
{
    if (chosen == NULL)
        return true;
    if (json_object_get(chosen, id) == NULL)
        return false;
    json_object_set_new(chosen, id, json_true());
    return true;
}

bool cse_chosen_all_met(json_t *chosen, cse_answer *answer)
{
    const char *id;
    json_t *met;
    json_object_foreach(chosen, id, met) if (!json_is_true(met))
    {
        cse_answer_problem(answer, CSE_PROBLEM_NOT_FOUND, "there is no job \"%s\"", id);
        return false;
    }
    return true;
}
