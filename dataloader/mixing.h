/* The setting `mixing` of a data loader: samples are mixed with others, and so are their labels,
 * which become probabilities of the classes: mixup (Zhang et al. 2018) and CutMix (Yun et al.
 * 2019).
 *
 * It is an input around another one. Whether a sample is mixed, how much, and with which other
 * sample is a pure function of (seed, epoch, sample): partners are drawn from all samples of the
 * data, by the weights of `sampling` where there are some, and are what they are in that epoch
 * themselves. So it makes no difference how a batch is cut into microbatches, and which process
 * reads them. A partner is read once more, which doubles the reading. */
#ifndef CSE_DATALOADER_MIXING_H
#define CSE_DATALOADER_MIXING_H

#include "dataloader/input.h"
#include "dataloader/positions/weighted.h"

/* Checks the setting, without data. */
cse_status cse_mixing_check(const cse_settings *settings);
bool cse_mixing_is_asked(const cse_settings *settings);

/* Has the label stream of `input` hold probabilities; CSE_CONFIG where the data are no pictures or
 * rows of numbers with one class each. Enough for data that are not read. */
cse_status cse_mixing_describe(const cse_settings *settings, cse_input *input);

/* Replaces *input, which is open, by one that mixes its samples and closes it with itself.
 * `sampler` is borrowed; NULL: all samples are as likely as each other. */
cse_status cse_mixing_wrap(const cse_settings *settings, uint64_t seed, const cse_weighted *sampler,
                           cse_input *input);

/* ---- parts, for tests ---- */

/* What is done to one sample. */
typedef struct cse_mixture_plan {
    int64_t partner; /* -1: it stays as it is */
    bool cuts;       /* CutMix, else mixup */
    double own;      /* the share of the sample itself, lambda; of CutMix before the box is cut */
    int64_t x, y;    /* of CutMix: the middle of the box */
} cse_mixture_plan;

/* The box that CutMix takes from the partner, and the share that the sample keeps. */
typedef struct cse_cut_box {
    int64_t left, top, right, bottom; /* right and bottom are outside */
    double own;
} cse_cut_box;
cse_cut_box cse_cut_box_of(const cse_mixture_plan *plan, int64_t width, int64_t height);

/* A number of the beta distribution with both parameters `alpha`, by random numbers of
 * (seed, counter). */
double cse_draw_beta(double alpha, uint64_t seed, const uint32_t counter[3]);

#endif
