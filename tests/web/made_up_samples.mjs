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

const TOKENS = [
  ["The", null],
  [" license", 0.2],
  [" grants", 1.4],
  [" you", 0.7],
  [" a", 0.1],
  [" perpetual", 9.3],
  [" right", 2.6],
  [" to", 0.05],
  [" copy", 4.4],
  [" it", 0.9],
].map(([text, loss]) => ({ text, loss }));

/* Pictures and a text: the shapes of all kinds, in one list. */
export function validationOf() {
  const worst = [3, 6, 1].map((number, i) => ({
    ...view(number),
    loss: i === 0 ? null : 3.1 - i,
    predicted: classesOf(number, 300),
  }));
  worst.push({ sample: 41, place: "text/LICENSE", loss: 2.18, tokens: TOKENS });
  worst.push({ sample: 42, place: "table.csv:43", values: [1.5, 2.25], loss: 1.44 });
  Object.assign(worst.at(-1), { target: 3.2, output: 2 });
  const bins = Array.from({ length: 15 }, (_, i) =>
    i < 7 ? null : { count: 10 * i, confidence: (i + 0.5) / 15, accuracy: (i - 0.4) / 15 },
  );
  return {
    step: 300,
    samples: 900,
    loss: "label",
    worst,
    classes: [...NAMES, "neither"],
    calibration: { error: 0.0613, unknown: 1, bins },
    precision: [0, 1, 2].map((c) => ({
      class: c,
      samples: 400 - 150 * c,
      least: 0.97 - 0.1 * c,
      greatest: 0.972 - 0.1 * c,
      points: Array.from({ length: 40 }, (_, i) => [
        1 - i / 40,
        1 - ((c + 1) * i * i) / 8000,
        (i + 1) / 40,
      ]),
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
