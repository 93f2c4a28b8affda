/* Steps that were left take time and do not count: the run started again from before them. */
#include "dashboard/queue/run_account.h"

#include <math.h>

enum { LEAST_MS = 100 }; /* of steps: those of a start are in no account */

static void take_attempt(void *self, const cse_row *row)
{
    /* attempt start time starting compute input update communication save validation recovery
     * paused idle */
    cse_run_account *account = self;
    const cse_field *f = row->fields;
    const int64_t elapsed_ms = f[2].integer - f[1].integer;
    account->ran_ms = (account->ran_ms > 0 ? account->ran_ms : 0) + elapsed_ms;
    for (int bin = 4; bin <= 8; bin++)
        account->steps_ms += f[bin].integer;
    account->steps_ms += f[12].integer;
}

cse_run_account cse_run_account_read(cse_store_reader *reader)
{
    cse_run_account account = { .ran_ms = -1 };
    const cse_store_query query = { .limit = 10000 };
    if (reader != NULL)
        cse_store_reader_rows(reader, CSE_ROW_GOODPUT, &query, take_attempt, &account);
    return account;
}

double cse_run_account_mean_rate(const cse_run_account *account, cse_store_reader *reader,
                                 int64_t last_step, int64_t batch_size)
{
    cse_point first;
    const cse_end_points wanted = { .points = &first, .most = 1 };
    if (reader == NULL || account->steps_ms < LEAST_MS || batch_size <= 0 ||
        cse_store_reader_end_points(reader, "loss", INT64_MAX, &wanted) != 1 ||
        last_step < first.step)
        return (double)NAN;
    return (double)(last_step - first.step + 1) * (double)batch_size * 1e3 /
           (double)account->steps_ms;
}
