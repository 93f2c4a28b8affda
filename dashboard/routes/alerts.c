/* The alerts of a run, or those that a new condition would have given. */
#include "dashboard/routes/route_support.h"
#include "run/alerts/alert_list.h"

enum { MOST_ALERTS = 1000 }; /* as in the description below */

static void list_alerts(const cse_request *request, cse_answer *answer)
{
    const char *condition = cse_request_text(request, "condition", "");
    cse_alert_list list = { .most = MOST_ALERTS };
    cse_server_run run;
    if (!cse_server_open_run(request, answer, &run))
        return;
    const cse_status status = *condition != '\0' ? cse_alerts_try(run.reader, &condition, 1, &list)
                                                 : cse_alerts_told(run.reader, &list);
    cse_server_close_run(request, &run);
    if (status == CSE_USAGE)
        cse_answer_problem(answer, CSE_PROBLEM_BAD_REQUEST, "condition: %s", cse_error_message());
    else
        cse_answer_result(answer, status,
                          status == CSE_OK ? json_pack("{s:o, s:I}", "alerts", list.alerts, "total",
                                                       (json_int_t)list.total)
                                           : NULL);
}

static const char parameters[] =
    "condition? string 1..1000  # what this one would have given, by the curves of the run; "
    "absent: the alerts that were told\n"
    "  = \"loss > 3 * median(loss, 100)\"\n";

static const char schemas[] = "Alert\n"
                              "  condition string\n"
                              "  values string  # of the names and functions in it\n"
                              "  begins boolean  # false: it ceases to hold\n"
                              "  step integer 0..  # the last one until then\n"
                              "  time_ms time\n"
                              "AlertList\n"
                              "  alerts [Alert]  # by time; the first 1000\n"
                              "  total integer 0..  # how many there are\n";

const cse_route cse_route_alerts = {
    .path = "/api/v1/jobs/{id}/alerts",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "listAlerts", list_alerts,
                        "Alerts of the run, or a trial of a condition on it"),
          .parameters = parameters,
          .replies = "200 AlertList",
          .problems = "503" },
    },
};
