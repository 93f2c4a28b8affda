/* The report as JSON, and back. */
#include "store/phase_report.h"

#include <jansson.h>
#include <stdio.h>

#include "engine/base/json.h"

static void add_last(const cse_phase_report *report, cse_text *out)
{
    if (report->recovery_count == 0) {
        cse_text_add(out, "null");
        return;
    }
    cse_text_add(out, "{\"time_ms\":%lld,\"process\":", (long long)report->last_recovery_ms);
    cse_json_add_string(out, report->last_process);
    cse_text_add(out, ",\"milliseconds\":%lld,\"reason\":", (long long)report->last_cost_ms);
    cse_json_add_string(out, report->last_reason);
    cse_text_add(out, "}");
}

void cse_phase_report_json(const cse_phase_report *report, int64_t attempt, cse_text *out)
{
    cse_text_add(out, "{\"attempt\":%lld,\"phase\":", (long long)attempt);
    cse_json_add_string(out, cse_run_phase_name(report->phase));
    cse_text_add(out, ",\"since_ms\":%lld", (long long)report->since_ms);
    if (report->steps > 0)
        cse_text_add(out, ",\"step\":%lld,\"steps\":%lld", (long long)report->step,
                     (long long)report->steps);
    else
        cse_text_add(out, ",\"step\":null,\"steps\":null");
    cse_text_add(out, ",\"recovery\":{\"count\":%lld,\"milliseconds\":%lld,\"last\":",
                 (long long)report->recovery_count, (long long)report->recovery_ms);
    add_last(report, out);
    cse_text_add(out, "}}");
}

static int64_t integer_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static void copy_text(char *to, size_t size, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    snprintf(to, size, "%s", text != NULL ? text : "");
}

void cse_phase_report_take_recoveries(cse_phase_report *report, const char *json)
{
    json_t *read = json_loads(json, 0, NULL);
    const json_t *recovery = json_object_get(read, "recovery");
    const json_t *last = json_object_get(recovery, "last");
    report->recovery_count = integer_of(recovery, "count");
    report->recovery_ms = integer_of(recovery, "milliseconds");
    report->last_recovery_ms = integer_of(last, "time_ms");
    report->last_cost_ms = integer_of(last, "milliseconds");
    copy_text(report->last_process, sizeof report->last_process, last, "process");
    copy_text(report->last_reason, sizeof report->last_reason, last, "reason");
    json_decref(read);
}
