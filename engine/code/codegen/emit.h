/* Parts of the generated file; used by the files of this folder only.
 *
 * Names in the generated code: v12 is the value of node 12, b12 the base of its storage; see
 * loop_emitter.h for those of loops. */
#ifndef CSE_CODEGEN_EMIT_H
#define CSE_CODEGEN_EMIT_H

#include "engine/graph/graph.h"

enum { CSE_NAME_BYTES = 64 };

/* C type of a stored element, and of a value in a register: 16-bit formats compute as float. */
const char *cse_emit_stored_type(cse_dtype dtype);
const char *cse_emit_value_type(cse_dtype dtype);

/* "CSE_AT_REPLICA", also for what is lent. */
const char *cse_emit_space(cse_space space);

/* "CSE_PLACE(float, CSE_AT_REPLICA, 1024, 400)": the type, space, offset and length in bytes. */
void cse_emit_place(cse_text *out, const cse_node *node);

/* "const float *const b12 = ...;" (const when `written` is false). */
void cse_emit_base(cse_text *out, const cse_node *node, bool written);

/* The value of a scalar constant as C. */
void cse_emit_literal(const cse_node *constant, char name[CSE_NAME_BYTES]);
void cse_emit_number(double value, cse_dtype dtype, char name[CSE_NAME_BYTES]);

/* Whether a value is written inline, as a scalar constant or the step number; `name` is then its C.
 */
bool cse_emit_inline(const cse_node *node, char name[CSE_NAME_BYTES]);

/* The load of element `index` of array `array`, and the conversion of `value`, already rounded to
 * the type, to its stored form. */
void cse_emit_load(cse_text *out, cse_dtype dtype, const char *array, const char *index);
void cse_emit_stored(cse_text *out, cse_dtype dtype, const char *value);

/* What the placeholders of an expression stand for. */
typedef struct cse_emit_names {
    char inputs[CSE_MAX_INPUTS][CSE_NAME_BYTES];
    const char *flat;       /* index of the element in the whole tensor, int64_t */
    const char *last_index; /* index along the last axis */
} cse_emit_names;

/* The node's expression rounded to its type; and unrounded, in float. */
void cse_emit_expression(cse_text *out, const cse_node *node, const cse_emit_names *names);
void cse_emit_unrounded(cse_text *out, const cse_node *node, const cse_emit_names *names);

/* The text before and after a float expression that is rounded to `dtype`. */
void cse_emit_rounding_begin(cse_text *out, cse_dtype dtype);
void cse_emit_rounding_end(cse_text *out, cse_dtype dtype);

/* The functions of groups: "static void group_7(const cse_step_frame *frame)". Numbers that differ
 * from one layer to the next are written in a form that share.h knows. */
void cse_emit_loop_group(cse_text *out, const cse_graph *graph, const cse_group *group);
void cse_emit_block_group(cse_text *out, const cse_graph *graph, const cse_group *group);
/* `kernel`: the number of the group's kernel among all of the graph. */
void cse_emit_library_group(cse_text *out, const cse_graph *graph, const cse_group *group,
                            int kernel);
/* "static void update_7(frame, lines, undo)". */
void cse_emit_update_group(cse_text *out, const cse_graph *graph, const cse_group *group);

/* Whether a loop has a variant for steps that take statistics, "group_7_statistics": it computes
 * tracked values that are counted before they are rounded. */
bool cse_emit_has_statistics(const cse_graph *graph, const cse_group *group);
/* "static void proposed_7(frame, lines, values)": the values of an UPDATE group that statistics
 * need; no state is changed. */
void cse_emit_proposal(cse_text *out, const cse_graph *graph, const cse_group *group);
/* Computes UPDATE element i: values from outside the group are named x12, each node v12. */
void cse_emit_update_element(cse_text *out, const cse_group *group, cse_node *const outside[],
                             int count);
/* Declares the bases and scalars of values from outside the group. */
void cse_emit_update_outside(cse_text *out, cse_node *const outside[], int count);
/* Declares the values of the blocks that a group reads, of the line from element `first` on. */
void cse_emit_update_blocks(cse_text *out, const cse_group *group);
/* The C name of a value in an UPDATE element. */
void cse_emit_update_name(const cse_group *group, cse_node *input, char name[CSE_NAME_BYTES]);

/* The comment before the functions of a group: its program and nodes with shapes and scopes. */
void cse_emit_group_comment(cse_text *out, const cse_group *group);

#endif
