/* Each fault is told with its place in the configuration. */
#include "run/alerts/alert_check.h"

#include <stdio.h>

#include "engine/base/config/settings.h"
#include "run/alerts/alert_watch.h"
#include "run/loggers/plain_http.h"

/* A text has a value; a list of texts has entries. */
static bool is_given(const cse_settings *settings, const char *name, bool is_list)
{
    return is_list ? cse_settings_count(settings, name) > 0 : cse_settings_has(settings, name);
}

/* What a setting needs: it has no effect alone. */
static cse_status check_needs(const cse_settings *settings)
{
    static const struct {
        const char *name;
        bool is_list;
        const char *needs;
        bool needs_list;
    } rules[] = { { "webhook", false, "when", true },
                  { "program", false, "when", true },
                  { "arguments", true, "program", false } };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (is_given(settings, rules[i].name, rules[i].is_list) &&
            !is_given(settings, rules[i].needs, rules[i].needs_list))
            return cse_fail_at(
                CSE_ERROR_AT("alerts: ", cse_settings_place(settings, rules[i].name)),
                "%s has no effect without `%s`; add it, or leave both out", rules[i].name,
                rules[i].needs);
    return CSE_OK;
}

static cse_status check_condition(const cse_settings *settings, int index)
{
    cse_alert_expression *expression = NULL;
    char message[512];
    const cse_status status =
        cse_alert_expression_parse(cse_settings_text_at(settings, "when", index), &expression);
    cse_alert_expression_destroy(&expression);
    if (status == CSE_OK)
        return CSE_OK;
    snprintf(message, sizeof message, "%s", cse_error_message());
    return cse_fail_at(CSE_ERROR_AT("alerts: ", cse_settings_place_at(settings, "when", index)),
                       "when: %s", message);
}

static cse_status check_webhook(const cse_settings *settings)
{
    cse_http_place place;
    if (!cse_settings_has(settings, "webhook") ||
        cse_http_place_read(cse_settings_text(settings, "webhook"), &place) == CSE_OK)
        return CSE_OK;
    return cse_fail_at(CSE_ERROR_AT("alerts: ", cse_settings_place(settings, "webhook")),
                       "webhook: %s; accepted: http://HOST[:PORT][/PATH]; for https use program: "
                       "curl",
                       cse_settings_text(settings, "webhook"));
}

cse_status cse_alert_check(const cse_settings *settings)
{
    if (settings == NULL)
        return CSE_OK;
    CSE_TRY(check_needs(settings));
    const int count = cse_settings_count(settings, "when");
    if (count > CSE_ALERTS_MOST)
        return cse_fail_at(CSE_ERROR_AT("alerts: ", cse_settings_place(settings, "when")),
                           "when: a run may have %d conditions", CSE_ALERTS_MOST);
    for (int i = 0; i < count; i++)
        CSE_TRY(check_condition(settings, i));
    return check_webhook(settings);
}
