#!/usr/bin/env python3
"""Sample values of examples/outside/custom_training.c, from the formulas in float64.

    python3 outside_plugins.py        prints the initializers that the file holds
"""
import math


def gradient(t, i):
    return round(math.sin(1.7 * t + i + 0.4) * (0.3 + 0.4 * i), 4)


def heavy_ball(lr, momentum=0.9, weight_decay=0.0):
    p, m, rows = [0.5, -1.0, 2.0, 0.25], [0.0] * 4, []
    for t in range(8):
        for i in range(4):
            m[i] = momentum * m[i] + gradient(t, i)
            p[i] = p[i] - lr * (m[i] + weight_decay * p[i])
        if t + 1 in (1, 2, 4, 8):
            rows.append(list(p))
    return rows


def numbers(row):
    return ", ".join(f"{x:.9g}" for x in row)


for settings, arguments in [
    ("{lr: 0.1}", {"lr": 0.1}),
    ("{lr: 0.05, momentum: 0.5, weight_decay: 0.2}",
     {"lr": 0.05, "momentum": 0.5, "weight_decay": 0.2}),
    ("{lr: 0.1, momentum: 0.0}", {"lr": 0.1, "momentum": 0.0}),
]:
    rows = ",\n                      ".join(f"{{ {numbers(r)} }}" for r in heavy_ball(**arguments))
    print(f"""    {{ .settings = "{settings}",
      .source = "the formula in float64",
      .parameters = {{ {rows} }} }},""")


def point(index, radius):
    turns = (index * 0.6180339887498949) % 1.0
    return radius * math.cos(2 * math.pi * turns), radius * math.sin(2 * math.pi * turns)


print("""    { .settings = "samples: 12, radii: [1.0, 3.0]",
      .source = "the formula in float64",
      .sample_count = 12,
      .value_count = 6,
      .values = {""")
for index in (0, 7, 10):
    x, y = point(index, 3.0 if index % 2 else 1.0)
    print(f"          {{ 0, {index}, {0 if index % 4 else 1}, "
          f"{x if index % 4 else y:.12g} }},")
    print(f"          {{ 1, {index}, 0, {index % 2} }},")
print("      } },")
