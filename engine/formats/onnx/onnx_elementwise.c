/* Ops on each element by itself: one operator of ONNX, or a few. */
#include <math.h>
#include <stddef.h>

#include "engine/formats/onnx/onnx_writer.h"

/* The operator of that name on the same inputs. */
static const char *same(cse_onnx *o, const cse_node *node, const char *type)
{
    const char *inputs[CSE_MAX_INPUTS + 1] = { NULL };
    cse_onnx_elementwise_inputs(o, node, inputs);
    return cse_onnx_add(o, node, type, inputs, NULL);
}

static const char *nothing(cse_onnx *o, const cse_node *node, const char *type)
{
    (void)type;
    return cse_onnx_value(o, node->inputs[0]);
}

/* Of x alone, and of itself. */
static const char *square(cse_onnx *o, const cse_node *node, const char *type)
{
    const char *x = cse_onnx_value(o, node->inputs[0]);
    return CSE_ONNX_ADD(o, node, type, x, x);
}

static const char *rsqrt(cse_onnx *o, const cse_node *node, const char *type)
{
    return CSE_ONNX_ADD(o, node, type,
                        CSE_ONNX_ADD(o, node, "Sqrt", cse_onnx_value(o, node->inputs[0])));
}

static const char *not_equal(cse_onnx *o, const cse_node *node, const char *type)
{
    return CSE_ONNX_ADD(o, node, type, same(o, node, "Equal"));
}

static const char *cast(cse_onnx *o, const cse_node *node, const char *type)
{
    cse_text attributes = { 0 };
    const char *x = cse_onnx_value(o, node->inputs[0]);
    if (cse_onnx_type(node->dtype) == cse_onnx_type(node->inputs[0]->dtype))
        return x;
    cse_onnx_integer(&attributes, "to", cse_onnx_type(node->dtype));
    return cse_onnx_add(o, node, type, (const char *const[]){ x, NULL }, &attributes);
}

static const char *clamp(cse_onnx *o, const cse_node *node, const char *type)
{
    const char *x = cse_onnx_value(o, node->inputs[0]);
    return CSE_ONNX_ADD(o, node, type, x,
                        cse_onnx_scalar(o, CSE_FLOAT32, node->attributes.numbers[0]),
                        cse_onnx_scalar(o, CSE_FLOAT32, node->attributes.numbers[1]));
}

/* With a slope for elements below 0. */
static const char *bent(cse_onnx *o, const cse_node *node, const char *type)
{
    cse_text attributes = { 0 };
    const char *x = cse_onnx_value(o, node->inputs[0]);
    cse_onnx_number(&attributes, "alpha", node->attributes.numbers[0]);
    return cse_onnx_add(o, node, type, (const char *const[]){ x, NULL }, &attributes);
}

static const char *silu(cse_onnx *o, const cse_node *node, const char *type)
{
    const char *x = cse_onnx_value(o, node->inputs[0]);
    return CSE_ONNX_ADD(o, node, type, x, CSE_ONNX_ADD(o, node, "Sigmoid", x));
}

/* The operator set has no Gelu before 20. */
static const char *gelu(cse_onnx *o, const cse_node *node, const char *type)
{
    const char *x = cse_onnx_value(o, node->inputs[0]), *inner = x;
    const char *half = cse_onnx_scalar(o, CSE_FLOAT32, 0.5);
    const char *one = cse_onnx_scalar(o, CSE_FLOAT32, 1);
    if (node->attributes.integers[0] != 0) {
        const char *cube = CSE_ONNX_ADD(o, node, "Mul", CSE_ONNX_ADD(o, node, "Mul", x, x), x);
        const char *term =
            CSE_ONNX_ADD(o, node, "Mul", cube, cse_onnx_scalar(o, CSE_FLOAT32, 0.044715));
        inner = CSE_ONNX_ADD(o, node, "Mul", CSE_ONNX_ADD(o, node, "Add", x, term),
                             cse_onnx_scalar(o, CSE_FLOAT32, sqrt(2 / acos(-1))));
        inner = CSE_ONNX_ADD(o, node, "Tanh", inner);
    } else {
        inner = CSE_ONNX_ADD(o, node, "Mul", x, cse_onnx_scalar(o, CSE_FLOAT32, sqrt(0.5)));
        inner = CSE_ONNX_ADD(o, node, "Erf", inner);
    }
    const char *scaled = CSE_ONNX_ADD(o, node, type, x, half);
    inner = CSE_ONNX_ADD(o, node, "Add", inner, one);
    return CSE_ONNX_ADD(o, node, type, scaled, inner);
}

const cse_onnx_mapping cse_onnx_elementwise[] = {
    { "abs", same, "Abs" },
    { "add", same, "Add" },
    { "sub", same, "Sub" },
    { "mul", same, "Mul" },
    { "div", same, "Div" },
    { "neg", same, "Neg" },
    { "exp", same, "Exp" },
    { "log", same, "Log" },
    { "sqrt", same, "Sqrt" },
    { "rsqrt", rsqrt, "Reciprocal" },
    { "reciprocal", same, "Reciprocal" },
    { "square", square, "Mul" },
    { "pow", same, "Pow" },
    { "sin", same, "Sin" },
    { "cos", same, "Cos" },
    { "tanh", same, "Tanh" },
    { "erf", same, "Erf" },
    { "sigmoid", same, "Sigmoid" },
    { "softplus", same, "Softplus" },
    { "relu", same, "Relu" },
    { "elu", bent, "Elu" },
    { "leaky_relu", bent, "LeakyRelu" },
    { "silu", silu, "Mul" },
    { "gelu", gelu, "Mul" },
    { "ceil", same, "Ceil" },
    { "floor", same, "Floor" },
    { "round", same, "Round" },
    { "sign", same, "Sign" },
    { "remainder", same, "Mod" },
    { "maximum", same, "Max" },
    { "minimum", same, "Min" },
    { "clamp", clamp, "Clip" },
    { "equal", same, "Equal" },
    { "not_equal", not_equal, "Not" },
    { "greater", same, "Greater" },
    { "greater_equal", same, "GreaterOrEqual" },
    { "less", same, "Less" },
    { "less_equal", same, "LessOrEqual" },
    { "logical_and", same, "And" },
    { "logical_or", same, "Or" },
    { "logical_not", same, "Not" },
    { "where", same, "Where" },
    { "cast", cast, "Cast" },
    { "stop_gradient", nothing, NULL },
    { .op = NULL },
};
