/* Trains with each format in each mode: a level with emulated accumulation, or a preset. */
#include "run/measure/precision_sweep.h"

#include <math.h>
#include <stdio.h>

static const struct {
    const char *name, *fp16_type;
    bool scaled; /* bfloat16 has the range of float32 and needs no scaling */
} formats[] = { { "bf16", "bfloat16", false },
                { "fp16, dynamic scaling", "float16", true },
                { "cb16, dynamic scaling", "cbfloat16", true } };

static const struct {
    const char *level;  /* of precision_opt_level */
    const char *preset; /* of GraphAMP; NULL: by level */
} modes[] = { { "0", NULL },  { "1", NULL },  { "2", NULL },  { "0", "mp0" },
              { "0", "mp1" }, { "0", "mp2" }, { "0", "mp3" }, { "0", "mp4" } };

enum { FORMATS = sizeof formats / sizeof formats[0], MODES = sizeof modes / sizeof modes[0] };

typedef struct running {
    const cse_sweep *sweep;
    cse_variants *variants;
    double loss_float32;
} running;

int cse_sweep_row_count(void)
{
    return 1 + FORMATS * MODES;
}

static void begin(const running *r, const cse_sweep_row *row)
{
    if (r->sweep->on_begin != NULL)
        r->sweep->on_begin(r->sweep->self, row);
}

static void report(const running *r, cse_sweep_row row)
{
    row.loss = cse_variant_final_loss(row.result);
    row.change = (row.loss - r->loss_float32) / fabs(r->loss_float32);
    r->sweep->on_row(r->sweep->self, &row);
}

static cse_status train_float32(running *r)
{
    cse_variant_result result;
    cse_sweep_row row = {
        .format = "fp32", .level = "-", .preset = "-", .number = 1, .count = cse_sweep_row_count()
    };
    begin(r, &row);
    cse_status status = cse_variants_run(
        r->variants, (const char *const[]){ "precision.enabled=false", NULL }, &result);
    r->loss_float32 = cse_variant_final_loss(&result);
    if (status == CSE_OK && !isfinite(r->loss_float32))
        status = cse_fail(CSE_FAILED,
                          "sweep-precision: the training in float32, which all else is "
                          "compared with, did not reach its end: %s",
                          result.message[0] != '\0' ? result.message : "no loss");
    row.result = &result;
    if (status == CSE_OK)
        report(r, row);
    cse_variant_result_clear(&result);
    return status;
}

static cse_status train(const running *r, int format, int mode)
{
    cse_variant_result result;
    char type[64], level[64], choice[64];
    const char *preset = modes[mode].preset;
    snprintf(type, sizeof type, "precision.fp16_type=%s", formats[format].fp16_type);
    snprintf(level, sizeof level, "precision.precision_opt_level=%s", modes[mode].level);
    if (preset != NULL)
        snprintf(choice, sizeof choice, "precision.graphamp.preset=%s", preset);
    else
        snprintf(choice, sizeof choice, "precision.emulate_accumulation=true");
    const char *scaling = formats[format].scaled ? "precision.loss_scaling_factor=dynamic" : NULL;
    const char *const settings[] = { "precision.enabled=true", type, level, choice, scaling, NULL };
    cse_sweep_row row = { .format = formats[format].name,
                          .level = modes[mode].level,
                          .preset = preset != NULL ? preset : "by POL",
                          .number = 2 + format * MODES + mode,
                          .count = cse_sweep_row_count() };
    begin(r, &row);
    cse_status status = cse_variants_run(r->variants, settings, &result);
    row.result = &result;
    if (status == CSE_OK)
        report(r, row);
    cse_variant_result_clear(&result);
    return status;
}

cse_status cse_sweep_run(const cse_sweep *sweep)
{
    running r = { .sweep = sweep };
    CSE_TRY(cse_variants_new(&sweep->variants, &r.variants));
    cse_status status = train_float32(&r);
    for (int i = 0; i < FORMATS * MODES && status == CSE_OK; i++)
        status = train(&r, i / MODES, i % MODES);
    cse_variants_destroy(&r.variants);
    return status;
}
