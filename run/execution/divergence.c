/* The step fetches its loss. With a dynamic loss scale it also fetches whether the scale is
 * exhausted, and each gradient's sum of squares, so that the message can name the parameters. */
#include "run/execution/divergence.h"

#include <math.h>

#include "engine/base/text.h"

static const void *fetched_value(const cse_step *step, const cse_record *record, int fetch)
{
    return record->fetched + step->graph->fetches[fetch].offset_bytes;
}

/* "model.a, model.b and 3 more": the parameters whose sum of squared gradients overflows, or, when
 * only the sum over all parameters does, the parameter with the largest one. */
static void name_overflows(const cse_step *step, const cse_record *record, cse_text *text)
{
    enum { MOST_NAMES = 5 };
    int found = 0, greatest = 0;
    float most = -1;
    for (int i = 0; i < step->gradient_count; i++) {
        float squares = *(const float *)fetched_value(step, record, step->gradient_fetches[i]);
        if (squares > most) {
            most = squares;
            greatest = i;
        }
        if (isfinite(squares))
            continue;
        if (++found <= MOST_NAMES)
            cse_text_add(text, "%s%s", found > 1 ? ", " : "", step->gradient_names[i]);
    }
    if (found > MOST_NAMES)
        cse_text_add(text, " and %d more", found - MOST_NAMES);
    if (found == 0)
        cse_text_add(text, "all together, most of all %s", step->gradient_names[greatest]);
    else
        cse_text_add(text, " (%d of %d parameters)", found, step->gradient_count);
}

static cse_status scale_exhausted(const cse_step *step, const cse_record *record,
                                  const cse_nan_monitor *monitor)
{
    cse_text names = { 0 };
    name_overflows(step, record, &names);
    cse_fail(CSE_FAILED,
             "step %lld: gradients overflow at the least loss scale, %g: those of %s; the model or "
             "the data give values that are not finite: lower the learning rate, clip gradients, "
             "keep these layers in float32 (precision.disable_graphamp), or check the data%s",
             (long long)record->step + 1, step->least_loss_scale, names.data,
             cse_nan_monitor_text(monitor));
    cse_text_clear(&names);
    return CSE_FAILED;
}

cse_status cse_check_divergence(const cse_step *step, const cse_record *record,
                                const cse_nan_monitor *monitor)
{
    const int exhausted = step->exhausted_fetch;
    if (exhausted >= 0 && *(const int32_t *)fetched_value(step, record, exhausted) != 0)
        return scale_exhausted(step, record, monitor);
    if (step->loss_fetch < 0)
        return CSE_OK;
    const float loss = *(const float *)fetched_value(step, record, step->loss_fetch);
    if (isfinite(loss))
        return CSE_OK;
    return cse_fail(CSE_FAILED,
                    "step %lld: the loss is %s: lower the learning rate, clip gradients, or "
                    "check the data%s",
                    (long long)record->step + 1, isnan(loss) ? "nan" : "infinite",
                    cse_nan_monitor_text(monitor));
}
