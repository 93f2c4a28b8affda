/* An optimizer of the program's own: gradients as tensors, and an update that is traced like the
 * rest of the step.
 *
 * Two parts of one network are trained in the same step: the weights by Lion (Chen et al.,
 * "Symbolic Discovery of Optimization Algorithms", 2023), which is written here, and the biases by
 * the SGD of the library. The loss is scaled, and a step whose gradients overflow changes nothing.
 * The hidden values are rounded to quarters, with a gradient that passes through the rounding. */
#include <stdio.h>

#include "csengine/csengine.h"

enum { FEATURES = 20, HIDDEN = 32, CLASSES = 4 };

typedef struct training {
    /* Weights and biases of two layers. */
    cse_state *weights[2], *biases[2];
    cse_state *momentum[2]; /* of the weights, for Lion */
    cse_optimizer *of_biases;
    cse_grad_scaler *grad_scaler;
} training;

/* ---- the model ---- */

/* The straight-through estimator: rounding is treated as the identity. */
static void pass_through(void *self, const cse_backward *backward)
{
    (void)self;
    backward->input_gradients[0] = backward->output_gradients[0];
}

static cse_tensor *to_quarters(cse_tensor *x)
{
    cse_tensor *rounded = cse_scale(cse_round(cse_scale(x, 4)), 0.25);
    cse_custom_gradient(&(cse_custom_function){ .inputs = &x,
                                                .input_count = 1,
                                                .outputs = &rounded,
                                                .output_count = 1,
                                                .backward = pass_through });
    return rounded;
}

static cse_tensor *forward(const training *t, cse_tensor *x)
{
    x = cse_relu(cse_linear(x, cse_read(t->weights[0]), cse_read(t->biases[0])));
    return cse_linear(to_quarters(x), cse_read(t->weights[1]), cse_read(t->biases[1]));
}

/* ---- the update ---- */

/* p -= lr (sign(b1 m + (1 - b1) g) + decay p);  m = b2 m + (1 - b2) g; only if `finite`. */
static void lion(cse_state *weight, cse_state *momentum, cse_tensor *gradient, cse_tensor *finite)
{
    const double lr = 0.003, b1 = 0.9, b2 = 0.99, decay = 0.01;
    cse_tensor *p = cse_read(weight), *m = cse_read(momentum);
    cse_tensor *direction = cse_sign(cse_add(cse_scale(m, b1), cse_scale(gradient, 1 - b1)));
    cse_tensor *step = cse_scale(cse_add(direction, cse_scale(p, decay)), lr);
    cse_tensor *next = cse_add(cse_scale(m, b2), cse_scale(gradient, 1 - b2));
    cse_assign(weight, cse_where(finite, cse_sub(p, step), p));
    cse_assign(momentum, cse_where(finite, next, m));
}

static cse_status post_training_step(void *self, const cse_values *values)
{
    (void)self;
    printf("Loss: %g, gradient norm: %g\n", cse_value(values, 0), cse_value(values, 1));
    return CSE_OK;
}

static cse_tensor *training_step(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *gradients[4]; /* two of weights, then two of biases */
    cse_tensor *outputs = forward(t, cse_input(step, "images"));
    cse_tensor *loss = cse_cross_entropy(outputs, cse_input(step, "labels"));

    cse_tensor *scaled = cse_grad_scaler_scale(t->grad_scaler, loss);
    cse_gradients(scaled, t->weights, 2, gradients);
    cse_optimizer_gradients(t->of_biases, scaled, gradients + 2);
    cse_grad_scaler_unscale(t->grad_scaler, gradients, 4);
    cse_tensor *norm = cse_clip_gradients(gradients, 4, &(cse_clip){ .max_norm = 1.0 });

    cse_tensor *finite = cse_grad_scaler_finite(t->grad_scaler);
    for (int i = 0; i < 2; i++)
        lion(t->weights[i], t->momentum[i], gradients[i], finite);
    cse_grad_scaler_step(t->grad_scaler, t->of_biases, gradients + 2);
    cse_grad_scaler_update(t->grad_scaler);

    cse_step_closure(step, post_training_step, NULL, loss, norm);
    return loss;
}

/* ---- the program ---- */

static void declare_layer(training *t, int index, int64_t in, int64_t out)
{
    static const char *const names[][3] = { { "first.weight", "first.bias", "lion.first" },
                                            { "last.weight", "last.bias", "lion.last" } };
    const cse_initializer zero = { CSE_INIT_CONSTANT, 0, 0 };
    const cse_initializer uniform = { CSE_INIT_UNIFORM, -0.2, 0.2 };
    t->weights[index] = cse_state_new(names[index][0], cse_shape_of(out, in), CSE_FLOAT32, uniform);
    t->biases[index] = cse_state_new(names[index][1], cse_shape_of(out), CSE_FLOAT32, zero);
    t->momentum[index] = cse_state_new(names[index][2], cse_shape_of(out, in), CSE_FLOAT32, zero);
}

int main(void)
{
    training self = { .of_biases = NULL };
    cse_configure(&(cse_configuration){ .model_dir = "own_update", .num_csx = 2, .seed = 1 });
    declare_layer(&self, 0, FEATURES, HIDDEN);
    declare_layer(&self, 1, HIDDEN, CLASSES);
    self.of_biases = cse_optimizer_new("SGD", self.biases, 2, "{lr: 0.05, momentum: 0.9}");
    self.grad_scaler = cse_grad_scaler_new("{loss_scale: dynamic, init_scale: 1024}");

    cse_executor *executor = cse_executor_new(&(cse_executor_options){
        .input = "{data_processor: synthetic, samples: 4096, features: [20], classes: 4, "
                 "batch_size: 128, micro_batch_size: 32, shuffle: true}",
        .num_steps = 200,
        .checkpoint_steps = 200,
        .activation_steps = 20,
    });
    cse_status status = cse_run(executor, training_step, &self);
    if (status == CSE_OK)
        status = cse_save("own_update.mdl");
    if (status != CSE_OK)
        fprintf(stderr, "own_update: %s\n", cse_error_message());
    cse_finish();
    return cse_status_exit_code(status);
}
