/* The shape is that of `csengine plan --json`. */
#include "run/measure/plan_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

cse_status cse_plan_hosts_read(const char *text, cse_plan_question *question)
{
    for (const char *at = text;; at++) {
        char *end;
        const long first = strtol(at, &end, 10);
        long last = first;
        if (end != at && strncmp(end, "..", 2) == 0) {
            at = end + 2;
            last = strtol(at, &end, 10);
        }
        if (end == at || first < 1 || last < first || last > CSE_MAX_HOSTS ||
            (*end != ',' && *end != '\0'))
            return cse_fail(CSE_USAGE,
                            "plan: --hosts %s: accepted: numbers from 1 to %d and ranges of them, "
                            "as in 1..8 or 1,2,4,8",
                            text, CSE_MAX_HOSTS);
        for (long hosts = first; hosts <= last; hosts++)
            question->wanted[hosts] = true;
        at = end;
        if (*end == '\0')
            return CSE_OK;
    }
}

cse_status cse_plan_link_read(const char *text, cse_plan_question *question)
{
    static const char prefixes[] = "kMGT";
    char *end;
    double bits_per_s = strtod(text, &end);
    const char *prefix = *end != '\0' && end != text ? strchr(prefixes, *end) : NULL;
    for (const char *p = prefixes; prefix != NULL && p <= prefix; p++)
        bits_per_s *= 1e3;
    if (prefix != NULL)
        end++;
    if (*end == '\0' && bits_per_s >= 1e3 && bits_per_s <= 1e15) {
        question->link_bits_per_s = bits_per_s;
        question->options.bytes_per_s = bits_per_s / 8 * CSE_LINK_PAYLOAD;
        return CSE_OK;
    }
    return cse_fail(CSE_USAGE,
                    "plan: --link %s: accepted: bits a second from 1k to 1000T, as in 100M, 2.5G "
                    "or 10G",
                    text);
}

cse_host_plan *cse_plans_make(const cse_host_profile *profile, const cse_plan_question *question)
{
    cse_host_plan *plans = cse_calloc(CSE_MAX_HOSTS + 1, sizeof *plans);
    cse_host_plan_options options = question->options;
    for (options.hosts = 1; options.hosts <= CSE_MAX_HOSTS; options.hosts++)
        if (question->wanted[options.hosts])
            cse_host_plan_make(profile, &options, &plans[options.hosts]);
    return plans;
}

/* null where JSON has no such number. */
static json_t *finite_number(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

json_t *cse_plan_report(const cse_host_profile *profile, const cse_plan_question *question,
                        const cse_host_plan *plans)
{
    json_t *list = json_array(), *assumptions = json_array();
    for (int hosts = 1; hosts <= CSE_MAX_HOSTS; hosts++) {
        const cse_host_plan *plan = &plans[hosts];
        if (!question->wanted[hosts])
            continue;
        json_t *shares = json_array();
        for (int host = 0; host < hosts; host++)
            json_array_append_new(
                shares, json_integer(plan->cut.bounds[host + 1] - plan->cut.bounds[host]));
        json_array_append_new(
            list,
            json_pack("{s:i, s:f, s:f, s:f, s:f, s:i, s:o, s:f, s:f, s:f, s:o, s:o, s:o}", "hosts",
                      hosts, "step_s", plan->step_s, "compute_s", plan->compute_s, "exposed_s",
                      plan->exposed_s, "update_s", plan->update_s, "pieces", plan->pieces, "shares",
                      shares, "bytes_up", plan->bytes_up, "bytes_down", plan->bytes_down,
                      "memory_bytes", plan->memory_bytes, "goodput", finite_number(plan->goodput),
                      "samples_per_second", finite_number(plan->samples_per_s),
                      "host_hours_per_million_samples", finite_number(plan->host_hours)));
    }
    for (const char *const *text = cse_host_model_assumptions; *text != NULL; text++)
        json_array_append_new(assumptions, json_string(*text));
    return json_pack("{s:o, s:i, s:f, s:o, s:f, s:I, s:o, s:o}", "profile",
                     cse_host_profile_json(profile), "replicas", question->options.replicas,
                     "link_bits_per_second", question->link_bits_per_s, "mtbf_hours",
                     question->options.failure_s > 0 ? json_real(question->options.failure_s / 3600)
                                                     : json_null(),
                     "lease_s", question->options.lease_s, "save_steps",
                     (json_int_t)profile->save_steps, "plans", list, "assumptions", assumptions);
}
