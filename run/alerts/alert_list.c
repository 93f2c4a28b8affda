/* Events of the type `alert`, and changes that a watch finds. */
#include "run/alerts/alert_list.h"

json_t *cse_alert_json(const cse_alert_change *change)
{
    return json_pack("{s:s, s:s, s:b, s:I, s:I}", "condition", change->condition, "values",
                     change->values, "begins", change->begins, "step", (json_int_t)change->step,
                     "time_ms", (json_int_t)change->time_ms);
}

static void begin(cse_alert_list *list)
{
    list->alerts = json_array();
    list->total = 0;
}

static cse_status end(cse_alert_list *list, cse_status status)
{
    if (status != CSE_OK) {
        json_decref(list->alerts);
        list->alerts = NULL;
    }
    return status;
}

static bool has_room(const cse_alert_list *list)
{
    return list->most == 0 || json_array_size(list->alerts) < list->most;
}

/* ---- those that were told ---- */

typedef struct reading {
    cse_alert_list *list;
    int64_t last_id;
} reading;

static void take_event(void *self, const cse_row *row)
{
    reading *r = self;
    const cse_field *payload = &row->fields[3];
    r->last_id = row->fields[0].integer;
    r->list->total++;
    if (has_room(r->list) && payload->text != NULL) {
        json_t *alert = json_loadb(payload->text, payload->size, 0, NULL);
        if (alert != NULL)
            json_array_append_new(r->list->alerts, alert);
    }
}

cse_status cse_alerts_told(cse_store_reader *reader, cse_alert_list *list)
{
    static const char *const types[] = { "alert", NULL };
    reading r = { .list = list };
    int64_t after = -1;
    cse_status status = CSE_OK;
    begin(list);
    while (status == CSE_OK && after != r.last_id) {
        after = r.last_id;
        status = cse_store_reader_rows(
            reader, CSE_ROW_EVENT,
            &(cse_store_query){ .after = after, .filters = { { "type", types } } }, take_event, &r);
    }
    return end(list, status);
}

/* ---- conditions on a past run ---- */

static void take_change(void *self, const cse_alert_change *change)
{
    cse_alert_list *list = self;
    list->total++;
    if (has_room(list))
        json_array_append_new(list->alerts, cse_alert_json(change));
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
                          cse_alert_list *list)
{
    cse_alert_watch *watch = cse_alert_watch_new();
    cse_status status = CSE_OK;
    begin(list);
    for (int i = 0; status == CSE_OK && i < count; i++)
        status = cse_alert_watch_add(watch, conditions[i]);
    if (status == CSE_OK)
        status = cse_alert_watch_read(watch, reader, 0, take_change, list);
    if (status == CSE_OK)
        status = check_names(watch, reader, count);
    cse_alert_watch_destroy(&watch);
    return end(list, status);
}
