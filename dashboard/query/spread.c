/* Mean and squares by Welford: values that lie close to each other and far from zero keep their
 * digits. */
#include "dashboard/query/spread.h"

#include <math.h>
#include <stdlib.h>

#include "engine/base/arena.h"

void cse_spread_start(cse_spread *spread, int count)
{
    *spread =
        (cse_spread){ .bins = cse_calloc((size_t)count, sizeof *spread->bins), .count = count };
}

void cse_spread_clear(cse_spread *spread)
{
    free(spread->bins);
    *spread = (cse_spread){ .bins = NULL };
}

static void add_value(cse_spread_bin *bin, double value)
{
    const double before = value - bin->mean;
    bin->runs++;
    bin->mean += before / (double)bin->runs;
    bin->squares += before * (value - bin->mean);
    bin->minimum = bin->runs == 1 ? value : fmin(bin->minimum, value);
    bin->maximum = bin->runs == 1 ? value : fmax(bin->maximum, value);
}

void cse_spread_add(cse_spread *spread, const cse_bin *bins)
{
    bool has_points = false;
    for (int i = 0; i < spread->count; i++) {
        has_points = has_points || bins[i].finite + bins[i].not_finite > 0;
        spread->not_finite += bins[i].not_finite;
        if (bins[i].finite > 0)
            add_value(&spread->bins[i], bins[i].sum / (double)bins[i].finite);
    }
    spread->runs += has_points;
}

double cse_spread_deviation(const cse_spread_bin *bin)
{
    return bin->runs > 1 ? sqrt(bin->squares / (double)(bin->runs - 1)) : (double)NAN;
}

static double mean_of(const cse_spread_bin *bin)
{
    return bin->runs > 0 ? bin->mean : (double)NAN;
}

static double minimum_of(const cse_spread_bin *bin)
{
    return bin->runs > 0 ? bin->minimum : (double)NAN;
}

static double maximum_of(const cse_spread_bin *bin)
{
    return bin->runs > 0 ? bin->maximum : (double)NAN;
}

static double runs_of(const cse_spread_bin *bin)
{
    return (double)bin->runs;
}

static const struct {
    const char *name;
    double (*of)(const cse_spread_bin *bin);
} columns[] = {
    { "mean", mean_of },       { "deviation", cse_spread_deviation },
    { "minimum", minimum_of }, { "maximum", maximum_of },
    { "count", runs_of },
};

/* Twelve digits are more than a chart shows, and take a third of the time of as many as it needs to
 * read the same number back. */
static void add_number(cse_text *out, double number)
{
    if (isfinite(number))
        cse_text_add(out, "%.12g", number);
    else
        cse_text_add_bytes(out, "null", 4);
}

void cse_spread_json(const cse_spread *spread, const bool *kept, bool grouped, cse_text *out)
{
    const size_t shown = grouped ? sizeof columns / sizeof columns[0] : 1;
    cse_text_add(out, "{\"runs\":%lld,\"not_finite\":%lld", (long long)spread->runs,
                 (long long)spread->not_finite);
    for (size_t c = 0; c < shown; c++) {
        cse_text_add(out, ",\"%s\":[", columns[c].name);
        bool first = true;
        for (int i = 0; i < spread->count; i++) {
            if (!kept[i])
                continue;
            cse_text_add_bytes(out, ",", !first);
            add_number(out, columns[c].of(&spread->bins[i]));
            first = false;
        }
        cse_text_add_bytes(out, "]", 1);
    }
    cse_text_add_bytes(out, "}", 1);
}
