"""Writes grad_scaler.h: states of the gradient scaler after each step, from the documented rule; without
a tolerance they are compared with torch.amp.GradScaler, where PyTorch is installed.
Run: python3 grad_scaler.py > grad_scaler.h"""
SCALER_STEPS = 16
FINITE = [1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1]


def scaler(tolerance, per_increase, start, least, most):
    scale, steps, overflows, skipped, rows = start, 0, 0, 0, []
    for finite in FINITE:
        steps, overflows, skipped = steps + 1, overflows + (not finite), skipped + (not finite)
        if overflows / steps > tolerance:
            scale, steps, overflows = scale / 2, 0, 0
        if steps >= per_increase:
            scale, steps, overflows = scale * 2, 0, 0
        scale = max(min(scale, most), least)
        rows.append([scale, steps, overflows, skipped])
    return rows


SCALERS = [
    ("dynamic", "{loss_scale: dynamic, init_scale: 1024, steps_per_increase: 3, "
     "max_loss_scale: 4096}", scaler(0.0, 3, 1024, 2**-14, 4096)),
    ("tolerant", "{loss_scale: dynamic, init_scale: 64, steps_per_increase: 6, "
     "overflow_tolerance: 0.3}", scaler(0.3, 6, 64, 2**-14, 32768)),
]


def scaler_of_torch(per_increase, start):
    """The same scales from PyTorch's own update, which knows no bounds and no tolerance."""
    import torch
    scale, growth = torch.tensor([float(start)]), torch.zeros(1, dtype=torch.int32)
    scales = []
    for finite in FINITE:
        torch._amp_update_scale_(scale, growth, torch.tensor([0.0 if finite else 1.0]), 2.0, 0.5,
                                 per_increase)
        scales.append(scale.item())
    return scales


try:
    assert scaler_of_torch(3, 1024) == [r[0] for r in scaler(0.0, 3, 1024, 2**-14, 2**31)]
except ImportError:
    pass
print("/* Written by grad_scaler.py: do not edit. */")
print("#ifndef CSE_TESTS_REFERENCE_GRAD_SCALER_H\n#define CSE_TESTS_REFERENCE_GRAD_SCALER_H\n")
print("#include <stdbool.h>\n")
print(f"enum {{ SCALER_STEPS = {SCALER_STEPS} }};\n")
print("static const bool scaler_finite[SCALER_STEPS] = { " + ", ".join(map(str, FINITE)) + " };")
print("/* loss_scale, steps_since_rescale, overflows_since_rescale, num_skipped_steps */")
print("static const struct {\n    const char *name, *settings;\n"
      "    double states[SCALER_STEPS][4];\n} reference_scalers[] = {")
for name, settings, rows in SCALERS:
    parts = "\n".join(f"      \"{settings[k:k + 70]}\"" for k in range(0, len(settings), 70))
    print(f"    {{ \"{name}\",\n{parts},\n      {{")
    for row in rows:
        print("        { " + ", ".join(repr(float(x)) for x in row) + " },")
    print("      } },")
print("};\n\n#endif")
