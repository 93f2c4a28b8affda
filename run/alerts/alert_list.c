/* Events of the type `alert`, and changes that a watch finds. */
#include "run/alerts/alert_list.h"

json_t *cse_alert_json(const cse_alert_change *change)
{
    return json_pack("{s:s, s:s, s:b, s:I, s:I}", "condition", change->condition, "values",
                     change->values, "begins", change->begins, "step", (json_int_t)change->step,
                     "time_ms", (json_int_t)change->time_ms);
}

static void take_event(void *self, const cse_row *row)
{
    const cse_field *payload = &row->fields[3];
    json_t *alert =
        payload->text != NULL ? json_loadb(payload->text, payload->size, 0, NULL) : NULL;
    if (json_is_object(alert))
        json_array_append(self, alert);
    json_decref(alert);
}

static void take_id(void *self, const cse_row *row)
{
    *(int64_t *)self = row->fields[0].integer;
}

static cse_status read_events(cse_store_reader *reader, json_t *alerts)
{
    static const char *const types[] = { "alert", NULL };
    int64_t after = -1, last = 0;
    while (after != last) {
        const cse_store_query query = { .after = last, .filters = { { "type", types } } };
        after = last;
        CSE_TRY(cse_store_reader_rows(reader, CSE_ROW_EVENT, &query, take_event, alerts));
        CSE_TRY(cse_store_reader_rows(reader, CSE_ROW_EVENT, &query, take_id, &last));
    }
    return CSE_OK;
}

/* The array, or nothing after a failure. */
static cse_status give(cse_status status, json_t *alerts, json_t **result)
{
    *result = status == CSE_OK ? json_incref(alerts) : NULL;
    json_decref(alerts);
    return status;
}

cse_status cse_alerts_told(cse_store_reader *reader, json_t **alerts)
{
    json_t *told = json_array();
    return give(read_events(reader, told), told, alerts);
}

/* ---- conditions on a past run ---- */

static void take_change(void *self, const cse_alert_change *change)
{
    json_array_append_new(self, cse_alert_json(change));
}

static void add_name(void *self, const cse_row *row)
{
    cse_text *names = self;
    cse_text_add(names, "%s%s", names->size > 0 ? ", " : "", row->fields[1].text);
}

static cse_status check_names(const cse_alert_watch *watch, cse_store_reader *reader, int count)
{
    const char *unknown = NULL;
    cse_text names = { 0 };
    for (int i = 0; unknown == NULL && i < count; i++)
        unknown = cse_alert_watch_unknown(watch, i);
    if (unknown == NULL)
        return CSE_OK;
    CSE_TRY(cse_store_reader_rows(reader, CSE_ROW_SERIES, &(cse_store_query){ .after = 0 },
                                  add_name, &names));
    const cse_status status = cse_fail(CSE_USAGE, "the run has no value of %s; it has: %s", unknown,
                                       names.size > 0 ? names.data : "none");
    cse_text_clear(&names);
    return status;
}

cse_status cse_alerts_try(cse_store_reader *reader, const char *const *conditions, int count,
                          json_t **alerts)
{
    cse_alert_watch *watch = cse_alert_watch_new();
    cse_status status = CSE_OK;
    json_t *changes = json_array();
    for (int i = 0; status == CSE_OK && i < count; i++)
        status = cse_alert_watch_add(watch, conditions[i]);
    if (status == CSE_OK)
        status = cse_alert_watch_read(watch, reader, 0, take_change, changes);
    if (status == CSE_OK)
        status = check_names(watch, reader, count);
    cse_alert_watch_destroy(&watch);
    return give(status, changes, alerts);
}
