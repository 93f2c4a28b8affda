/* Names, types, literals and expressions of generated code. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/escape.h"
#include "engine/code/codegen/emit.h"
#include "engine/code/codegen/program.h"
#include "engine/graph/names.h"

static const char *const place_names[CSE_SPACE_COUNT] = {
    "CSE_AT_NONE",    "CSE_AT_STATE",   "CSE_AT_INPUT", "CSE_AT_REPLICA",  "CSE_AT_PARTIAL",
    "CSE_AT_REDUCED", "CSE_AT_WEIGHTS", "CSE_AT_FETCH", "CSE_AT_CONSTANT", "CSE_AT_REPLICA"
};

const char *cse_emit_stored_type(cse_dtype dtype)
{
    switch (dtype) {
    case CSE_FLOAT32:
        return "float";
    case CSE_INT32:
        return "int32_t";
    case CSE_BOOL:
        return "uint8_t"; /* 0 or 1; gcc does not vectorise loops over _Bool */
    default:
        return "uint16_t";
    }
}

const char *cse_emit_value_type(cse_dtype dtype)
{
    if (dtype == CSE_BOOL)
        return "_Bool";
    return cse_dtype_is_float(dtype) ? "float" : cse_emit_stored_type(dtype);
}

const char *cse_emit_space(cse_space space)
{
    return place_names[space];
}

void cse_emit_place(cse_text *out, const cse_node *node)
{
    cse_text_add(
        out, "CSE_PLACE(%s, %s, %lld, %lld)", cse_emit_stored_type(node->dtype),
        place_names[node->space],
        (long long)(node->offset_bytes + (node->space == CSE_SPACE_LENT ? CSE_LENT_FROM : 0)),
        (long long)cse_node_bytes(node));
}

void cse_emit_base(cse_text *out, const cse_node *node, bool written)
{
    cse_text_add(out, "    %s%s *const b%u = ", written ? "" : "const ",
                 cse_emit_stored_type(node->dtype), node->id);
    cse_emit_place(out, node);
    cse_text_add(out, ";\n");
}

void cse_emit_number(double value, cse_dtype dtype, char name[CSE_NAME_BYTES])
{
    if (!cse_dtype_is_float(dtype)) {
        snprintf(name, CSE_NAME_BYTES, "%lld", (long long)value);
    } else if (isnan(value)) {
        snprintf(name, CSE_NAME_BYTES, "__builtin_nanf(\"\")");
    } else if (isinf((float)value)) {
        snprintf(name, CSE_NAME_BYTES, "%s__builtin_inff()", value < 0 ? "-" : "");
    } else {
        snprintf(name, CSE_NAME_BYTES, "%.9g", (double)(float)value);
        bool plain = strpbrk(name, ".e") == NULL;
        size_t used = strlen(name);
        snprintf(name + used, CSE_NAME_BYTES - used, "%s", plain ? ".0f" : "f");
    }
    if (name[0] == '-') {
        char positive[CSE_NAME_BYTES];
        snprintf(positive, sizeof positive, "%s", name);
        snprintf(name, CSE_NAME_BYTES, "(%.*s)", CSE_NAME_BYTES - 3, positive);
    }
}

void cse_emit_literal(const cse_node *constant, char name[CSE_NAME_BYTES])
{
    double value = constant->attributes.numbers[0];
    if (constant->dtype == CSE_BOOL)
        value = value != 0;
    cse_emit_number(value, constant->dtype, name);
}

bool cse_emit_inline(const cse_node *node, char name[CSE_NAME_BYTES])
{
    if (node->op == &cse_op_step_number) {
        snprintf(name, CSE_NAME_BYTES, "(int32_t)frame->step");
        return true;
    }
    if (node->op != &cse_op_constant || node->shape.rank != 0)
        return false;
    cse_emit_literal(node, name);
    return true;
}

/* Stored in 16 bits but computed in float; the prelude's conversions are named by the type. */
static bool is_narrow(cse_dtype dtype)
{
    return dtype == CSE_BFLOAT16 || dtype == CSE_FLOAT16 || dtype == CSE_CBFLOAT16;
}

void cse_emit_load(cse_text *out, cse_dtype dtype, const char *array, const char *index)
{
    if (is_narrow(dtype))
        cse_text_add(out, "cse_load_%s(%s[%s])", cse_dtype_name(dtype), array, index);
    else
        cse_text_add(out, "%s[%s]", array, index);
}

void cse_emit_stored(cse_text *out, cse_dtype dtype, const char *value)
{
    if (is_narrow(dtype))
        cse_text_add(out, "cse_store_rounded_%s(%s)", cse_dtype_name(dtype), value);
    else
        cse_text_add(out, "%s", value);
}

/* Replaces the placeholder that begins after a '$'; returns what follows it. */
static const char *emit_name(cse_text *out, const char *at, const cse_node *node,
                             const cse_emit_names *names)
{
    char number[CSE_NAME_BYTES];
    char *end;
    if (isdigit((unsigned char)*at)) {
        cse_text_add(out, "%s", names->inputs[strtol(at, &end, 10) % CSE_MAX_INPUTS]);
        return end;
    }
    if (at[0] == 'a' && isdigit((unsigned char)at[1])) {
        int64_t value = node->attributes.integers[strtol(at + 1, &end, 10) % CSE_MAX_INTEGERS];
        bool wide = value > INT32_MAX || value < -INT32_MAX;
        cse_text_add(out, value < 0 ? "(%lld%s)" : "%lld%s", (long long)value, wide ? "ll" : "");
        return end;
    }
    if (at[0] == 'f' && isdigit((unsigned char)at[1])) {
        cse_emit_number(node->attributes.numbers[strtol(at + 1, &end, 10) % CSE_MAX_NUMBERS],
                        CSE_FLOAT32, number);
        cse_text_add(out, "%s", number);
        return end;
    }
    static const struct {
        const char *word;
        const char *text;
    } words[] = { { "seed", "frame->seed" }, { "step", "frame->step" } };
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++)
        if (strncmp(at, words[w].word, strlen(words[w].word)) == 0) {
            cse_text_add(out, "%s", words[w].text);
            return at + strlen(words[w].word);
        }
    cse_text_add(out, "(%s)", *at == 'i' ? names->last_index : names->flat);
    return at + 1;
}

void cse_emit_expression(cse_text *out, const cse_node *node, const cse_emit_names *names)
{
    cse_emit_rounding_begin(out, node->dtype);
    cse_emit_unrounded(out, node, names);
    cse_emit_rounding_end(out, node->dtype);
}

void cse_emit_rounding_begin(cse_text *out, cse_dtype dtype)
{
    if (is_narrow(dtype))
        cse_text_add(out, "cse_round_%s(", cse_dtype_name(dtype));
}

void cse_emit_rounding_end(cse_text *out, cse_dtype dtype)
{
    if (is_narrow(dtype))
        cse_text_add(out, ")");
}

void cse_emit_unrounded(cse_text *out, const cse_node *node, const cse_emit_names *names)
{
    const char *expression = node->op->expression;
    for (const char *at = expression; *at != '\0';) {
        const char *dollar = strchr(at, '$');
        size_t plain = dollar ? (size_t)(dollar - at) : strlen(at);
        cse_text_add_bytes(out, at, plain);
        at += plain;
        if (dollar != NULL)
            at = emit_name(out, dollar + 1, node, names);
    }
}

void cse_emit_group_comment(cse_text *out, const cse_group *group)
{
    char shape[128];
    cse_text_add(out, "/* %s; the first of these groups:", cse_part_name(group->part));
    for (int n = 0; n < group->node_count; n++) {
        const cse_node *node = group->nodes[n];
        cse_text_add(out, "\n *   v%u = ", node->id);
        cse_escape_comment(out, node->op->name); /* it may come from a plugin */
        for (int i = 0; i < node->input_count; i++) {
            const cse_node *input = cse_node_storage(node->inputs[i]);
            char number[CSE_NAME_BYTES];
            if (cse_emit_inline(input, number))
                cse_text_add(out, " %s", number);
            else
                cse_text_add(out, " v%u", input->id);
        }
        cse_text_add(out, " : %s %s", cse_dtype_name(node->dtype),
                     cse_shape_text(node->shape, shape, sizeof shape));
        if (node->scope[0] == '\0')
            continue;
        cse_text_add(out, "  ");
        cse_escape_comment(out, node->scope);
        cse_text_add(out, "%s", node->backward ? " (backward)" : "");
    }
    cse_text_add(out, " */\n");
}
