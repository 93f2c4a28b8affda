/* Written by models.py with PyTorch 2.13.0: do not edit. */
/* clang-format off */
#ifndef CSE_TESTS_REFERENCE_MODELS_LAYERS_H
#define CSE_TESTS_REFERENCE_MODELS_LAYERS_H

#include "tests/reference/models_text.h"

static const model_parameter layers_parameters_0[] = {
    { "first.weight", 0.9268679 },
    { "first.bias", 0.1178666 },
    { "layers.1.weight", 0.1616940 },
    { "layers.1.bias", 0.1751048 },
    { "layers.3.layers.0.weight", 1.0596177 },
    { "layers.3.layers.0.bias", 0.2072656 },
    { "layers.3.shortcut.0.weight", 1.4673001 },
    { "layers.6.weight", 0.2355522 },
    { "layers.8.weight", 4.1353139 },
    { "layers.8.bias", 0.2056151 },
    { 0, 0 },
};

static const model_parameter layers_parameters_1[] = {
    { "words.weight", 11.0445659 },
    { "layers.1.weight", 2.7981545 },
    { "layers.2.0.0.layers.0.weight", 0.1937820 },
    { "layers.2.0.0.layers.0.bias", 0.2009459 },
    { "layers.2.0.0.layers.1.proj_q_dense_layer.weight", 3.3715340 },
    { "layers.2.0.0.layers.1.proj_q_dense_layer.bias", 0.2728388 },
    { "layers.2.0.0.layers.1.proj_k_dense_layer.weight", 3.3883268 },
    { "layers.2.0.0.layers.1.proj_k_dense_layer.bias", 0.2713175 },
    { "layers.2.0.0.layers.1.proj_v_dense_layer.weight", 3.3528042 },
    { "layers.2.0.0.layers.1.proj_v_dense_layer.bias", 0.3018415 },
    { "layers.2.0.0.layers.1.proj_output_dense_layer.weight", 3.3443923 },
    { "layers.2.0.0.layers.1.proj_output_dense_layer.bias", 0.2079865 },
    { "layers.2.0.1.layers.0.weight", 0.3040041 },
    { "layers.2.0.1.layers.1.ffn.0.linear_layer.weight", 4.4483658 },
    { "layers.2.0.1.layers.1.ffn.0.linear_layer_for_glu.weight", 4.5909053 },
    { "layers.2.0.1.layers.1.ffn.1.linear_layer.weight", 4.2287466 },
    { "layers.2.1.0.layers.0.weight", 0.3199916 },
    { "layers.2.1.0.layers.0.bias", 0.3120612 },
    { "layers.2.1.0.layers.1.proj_q_dense_layer.weight", 3.4983953 },
    { "layers.2.1.0.layers.1.proj_q_dense_layer.bias", 0.2364370 },
    { "layers.2.1.0.layers.1.proj_k_dense_layer.weight", 3.5197015 },
    { "layers.2.1.0.layers.1.proj_k_dense_layer.bias", 0.2726219 },
    { "layers.2.1.0.layers.1.proj_v_dense_layer.weight", 3.4363910 },
    { "layers.2.1.0.layers.1.proj_v_dense_layer.bias", 0.2836321 },
    { "layers.2.1.0.layers.1.proj_output_dense_layer.weight", 3.3634507 },
    { "layers.2.1.0.layers.1.proj_output_dense_layer.bias", 0.2476587 },
    { "layers.2.1.1.layers.0.weight", 0.1903671 },
    { "layers.2.1.1.layers.1.ffn.0.linear_layer.weight", 4.5853153 },
    { "layers.2.1.1.layers.1.ffn.0.linear_layer_for_glu.weight", 4.4801949 },
    { "layers.2.1.1.layers.1.ffn.1.linear_layer.weight", 4.5033522 },
    { "head.weight", 11.1524923 },
    { 0, 0 },
};

static const model_run layers_runs[] = {
    { "layers",
      "input_shape: [1, 12, 12], layers: [{conv2d: {out: 4, stride: 2, padding: 1, "
      "name: first}}, batch_norm, relu, {residual: {layers: [{conv2d: {out: 6, padding: "
      "1}}, tanh], shortcut: [{conv2d: {out: 6, kernel: 1, bias: false}}]}}, "
      "{max_pool2d: {kernel: 3, stride: 2, padding: 1}}, {reshape: {shape: [6, 9]}}, "
      "{norm: {kind: biasless-layernorm}}, flatten, {linear: {out: 4}}]",
      "images", 4, 4, 0.02, { 1.360353948, 1.308755797, 1.359012278 }, layers_parameters_0 },
    { "layers",
      "input_shape: [8], layers: [{embedding: {rows: 128, size: 12, name: words}}, "
      "positions, {repeat: {count: 2, layers: [{residual: {layers: [norm, {attention: "
      "{heads: 2, causal: true, rotary: true}}]}}, {residual: {layers: [{norm: {kind: "
      "rmsnorm}}, {feed_forward: {hidden: 20, activation: swiglu, bias: false}}]}}]}}, "
      "{linear: {out: 128, bias: false, name: head}}]",
      "text", 4, 2, 0.05, { 5.001646872, 4.791512441, 4.863705685 }, layers_parameters_1 },
};

#endif
