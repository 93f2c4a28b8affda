/* The settings of precision as text, for the key of a compiled step. */
#include "engine/graph/precision/graphamp.h"

static void add_request(const cse_precision_request *request, cse_text *out)
{
    cse_text_add(out, " %d %d %d", (int)request->graphamp_off, (int)request->pol_forward,
                 (int)request->pol_backward);
}

static void add_accumulation(const cse_accumulation *a, cse_text *out)
{
    cse_text_add(out, " %d %d %d %d %u %d", (int)a->across, (int)a->stochastic, (int)a->emulated,
                 (int)a->tile_length, (unsigned)a->stream, (int)a->arithmetic);
}

void cse_precision_describe(const cse_precision *precision, cse_text *out)
{
    const cse_precision *p = precision;
    cse_text_add(out, "precision %s %s norms %d softmax %d pol %d tiles %d emulated %d",
                 cse_dtype_name(p->low), cse_preset_name(p->preset), (int)p->low_norms,
                 (int)p->low_softmax, p->level, (int)p->tile_length, (int)p->emulated);
    if (p->tiling_given)
        add_accumulation(&p->tiling, out);
    cse_text_add(out, "\n");
    for (int i = 0; i < p->override_count; i++)
        cse_text_add(out, "op %s %s\n", p->overrides[i].op->name,
                     cse_precision_class_name(p->overrides[i].precision_class));
    for (int i = 0; i < p->pattern_count; i++) {
        cse_text_add(out, "scope");
        add_request(&p->patterns[i].request, out);
        cse_text_add(out, " %s\n", p->patterns[i].pattern);
    }
}
