/* Which 16-bit format a step computes in, and where: the settings, resolved, and the passes over a
 * graph that apply them.
 *
 * GraphAMP chooses the types of the edges: every op is in exactly one of three sets. `allow`: its
 * inputs are rounded to the 16-bit format. `infer`: its inputs have the type that its results are
 * requested in. `deny`: its types stay as written. POL, the precision optimization level, chooses
 * how the long sums inside ops accumulate, and never the types of edges. The two are
 * independent. */
#ifndef CSE_PRECISION_GRAPHAMP_H
#define CSE_PRECISION_GRAPHAMP_H

#include "csengine/extend.h"
#include "engine/base/arena.h"
#include "engine/graph/graph.h"

enum { CSE_PRESET_COUNT = 5, CSE_MAX_POL = 2 };

/* An op that the configuration puts in another set than the preset's. */
typedef struct cse_class_override {
    const cse_op *op;
    cse_precision_class precision_class;
} cse_class_override;

/* Nodes whose scope matches `pattern` (fnmatch; * also stands for dots) are given `request`. */
typedef struct cse_scope_pattern {
    const char *pattern;
    cse_place place; /* for messages */
    cse_precision_request request;
} cse_scope_pattern;

typedef struct cse_precision {
    cse_arena *arena; /* owns what the fields below point to */
    cse_dtype low;    /* the 16-bit format */
    int preset;       /* 0 to 4: mp0 to mp4 */
    bool low_norms;   /* layer_norm computes in float32 and may store its result in `low` */
    bool low_softmax; /* softmax likewise */
    cse_class_override *overrides;
    int override_count;
    int level; /* POL of the model, 0 to CSE_MAX_POL */
    bool tiling_given;
    cse_accumulation tiling; /* where tiling_given: of every product, whatever its level */
    int32_t tile_length;
    bool emulated;               /* sums are rounded as annotated; else that is only permitted */
    cse_scope_pattern *patterns; /* a later match wins over an earlier one and over the code's */
    int pattern_count;
} cse_precision;

/* From settings checked against cse_precision_setting_table, or from YAML of them, "{fp16_type:
 * bfloat16, graphamp: {preset: mp2}}". *precision is NULL for a step in float32
 * throughout. Fails with CSE_CONFIG, naming the place. The caller owns the result. */
cse_status cse_precision_new(const cse_settings *settings, cse_precision **precision);
cse_status cse_precision_parse(const char *yaml, cse_precision **precision);
void cse_precision_destroy(cse_precision **precision);

/* All settings as text: equal for settings that have the same effect on every graph. */
void cse_precision_describe(const cse_precision *precision, cse_text *out);

/* ---- presets ---- */

/* "mp2". */
const char *cse_preset_name(int preset);
/* The set an op is in under a preset. */
cse_precision_class cse_preset_class(const cse_op *op, int preset);
/* The same with the configuration's changes. */
cse_precision_class cse_precision_class_of(const cse_precision *precision, const cse_op *op);
/* Whether the op's code permits the set; else CSE_CONFIG with the reason. */
cse_status cse_precision_class_possible(const cse_op *op, cse_precision_class wanted);
/* Whether a deny op, which computes in float32, may store its result in 16 bits all the same. */
bool cse_precision_stores_low(const cse_precision *precision, const cse_op *op);
/* Whether every op of engine/graph/ops names a precision family, and can be in the sets that the
 * presets give it; else CSE_INTERNAL naming the op. */
cse_status cse_presets_check(void);

const char *cse_precision_class_name(cse_precision_class precision_class);

/* ---- passes over a graph ---- */

/* Gives the patterns' requests to the nodes traced so far. With `strict`, a pattern that matches no
 * node is CSE_CONFIG. */
cse_status cse_precision_apply_patterns(const cse_precision *precision, cse_graph *graph,
                                        bool strict);

/* Whether the configuration lets one kernel compute an attention, or its gradient, as a whole: it
 * says nothing about the types and sums inside but what such a kernel keeps to (float32 for
 * all of them; operands of the products in float32 or bfloat16). `precision` may be NULL. */
bool cse_precision_permits_whole(const cse_precision *precision, const cse_node *attention);

/* Retypes the edges of a differentiated graph and adds the casts; see graphamp.c. */
cse_status cse_graphamp_run(const cse_precision *precision, cse_graph *graph);

/* Sets the accumulation of every node that sums; see pol.c. */
void cse_pol_run(const cse_precision *precision, cse_graph *graph);

/* Whether the op has sums inside that a level may round. */
bool cse_pol_applies(const cse_op *op);

/* The level in force for a node. */
int cse_pol_level(const cse_precision *precision, const cse_node *node);

/* Terms of one sum inside a node with inputs. */
int64_t cse_pol_terms(const cse_node *node);

/* ---- the precision report ---- */

/* What the precision pass made of a graph: a line an op (class and why, types in and out, how it
 * sums, casts added) and totals; text for people, or one JSON object. `step` names the graph. */
void cse_precision_report(const cse_graph *graph, const char *step, cse_text *out);
void cse_precision_report_json(const cse_graph *graph, const char *step, cse_text *out);

#endif
