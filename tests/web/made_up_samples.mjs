/* Samples of made-up jobs: pictures with predictions, texts after prompts, and data of a training
 * with two records that could not be read. */
const SIDE = 28;

/* A bright bar, upright for odd numbers, on a dark ground. */
function picture(number) {
  const pixels = Buffer.alloc(SIDE * SIDE, 20);
  const at = 3 + ((number * 5) % (SIDE - 6));
  for (let i = 2; i < SIDE - 2; i++) pixels[number % 2 ? i * SIDE + at : at * SIDE + i] = 240;
  return {
    width: SIDE,
    height: SIDE,
    channels: 1,
    pixels: pixels.toString("base64"),
  };
}

const NAMES = ["lying", "upright"];
const view = (number) => ({
  sample: number,
  place: `pictures/${NAMES[number % 2]}/${number}.png`,
  label: number % 2,
  name: NAMES[number % 2],
  picture: picture(number),
});

/* The third picture is always taken for the other class. */
function classesOf(number, step) {
  const sure = Math.min(0.99, 0.6 + step / 1e6);
  const first = number === 3 ? 0 : number % 2;
  return [
    { class: first, name: NAMES[first], probability: sure },
    { class: 1 - first, name: NAMES[1 - first], probability: 1 - sure },
  ];
}

export function samplesOf() {
  const numbers = [0, 1, 2, 3, 4, 5, 6, 7];
  return {
    pictures: numbers.map(view),
    prompts: ["The license"],
    validations: [100, 200, 300].map((step) => ({
      step,
      predictions: numbers.map((number) => classesOf(number, step)),
      texts: [step < 300 ? " the the the" : " is granted to any person"],
    })),
  };
}

export function confusionOf() {
  return {
    matrices: [
      {
        name: "val_confusion_matrix",
        step: 300,
        classes: [...NAMES, "neither"],
        counts: [
          [380, 15, 5],
          [7, 391, 2],
          [0, 12, 88],
        ],
      },
    ],
  };
}

export function dataOf(job, step) {
  return {
    input: "image_folder",
    source: "pictures",
    samples: 800,
    batch_size: 8,
    micro_batch_size: 4,
    steps_per_epoch: 100,
    skip_samples: 0,
    shuffle: true,
    shuffle_seed: "1",
    drop_last: true,
    step,
    step_samples: [0, 1].map((m) => [0, 1, 2, 3].map((i) => (step * 97 + m * 31 + i * 7) % 800)),
    examples: [11, 12, 13, 14].map(view),
    bad_records: {
      count: 2,
      first: [
        {
          time_ms: 1.7e12,
          role: "input_worker",
          rank: 0,
          message:
            "sample 223 was replaced, 1 in this process so far: pictures/lying/3.png: it is neither JPEG nor PNG",
        },
        {
          time_ms: 1.7e12 + 40,
          role: "input_worker",
          rank: 1,
          message:
            "sample 7 was replaced, 1 in this process so far: pictures/lying/7.png: a PNG that is not whole",
        },
      ],
    },
  };
}
