/* The section `alerts`: conditions on the curves of a run, and who is told when one holds. */
#include "engine/base/config/alert_settings.h"

#include "engine/base/config/settings.h"

const cse_setting cse_alert_setting_table[] = {
    { "when", CSE_SETTING_TEXT_LIST, "[]", 0, 0, NULL,
      "conditions, as in [\"loss > 3 * median(loss, 100)\", \"no step for 60 s\"]; each is told in "
      "the log and on the run's page when it begins to hold and when it ceases to",
      NULL },
    { "webhook", CSE_SETTING_TEXT, "null", 0, 0, NULL,
      "http://HOST[:PORT][/PATH]: gets each alert as JSON by POST", NULL },
    { "program", CSE_SETTING_PATH, "null", 0, 0, NULL,
      "a program, as a path or a name in PATH, that is run for each alert and gets it as JSON on "
      "its standard input; without a shell",
      NULL },
    { "arguments", CSE_SETTING_TEXT_LIST, "[]", 0, 0, NULL, "arguments of the program", NULL },
    { 0 },
};

cse_status cse_alert_settings_check(const cse_settings *settings)
{
    static const char *const of_conditions[] = { "webhook", "program", "arguments" };
    if (settings == NULL || cse_settings_count(settings, "when") > 0)
        return CSE_OK;
    for (int i = 0; i < 3; i++)
        if (i == 2 ? cse_settings_count(settings, of_conditions[i]) > 0
                   : cse_settings_has(settings, of_conditions[i]))
            return cse_fail_at(
                CSE_ERROR_AT("alerts: ", cse_settings_place(settings, of_conditions[i])),
                "%s has no effect without `when`; add when: [\"CONDITION\"]", of_conditions[i]);
    return CSE_OK;
}
