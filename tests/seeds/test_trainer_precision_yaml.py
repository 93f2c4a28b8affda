"""Document 001, numeric precision, as a configuration writes it."""

from statements import Configurations

HALVES = ("float16", "bfloat16", "cbfloat16")


class Precision(Configurations):
    def test_the_first_example(self):
        """001:11-31 `precision` with a 16-bit type computes activations in it, and keeps weights in
        the higher precision.
        001:32-33 cbfloat16 is such a type.
        """
        section = "precision:\n  fp16_type: cbfloat16"
        self.trains(section)
        products = [op for op in self.ops(section) if op["op"] == "matmul"]
        self.assertTrue(products)
        for op in products:
            self.assertEqual(set(op["in"]), {"cbfloat16"})
        updates = [op for op in self.ops(section) if op["scope"].startswith("optimizer")]
        self.assertTrue(updates)
        for op in updates:
            self.assertEqual({*op["in"], op["out"]} - {"bool", "int32"}, {"float32"}, op)

    def test_lower_precision_costs_digits(self):
        """001:2-5 A lower precision has less accurate numbers."""
        plain = self.digest("")
        self.assertNotEqual(self.digest("precision: {fp16_type: bfloat16}"), plain)

    def test_three_types(self):
        """001:33-39 The types are float16, bfloat16 and cbfloat16; no other is taken."""
        for name in HALVES:
            self.trains(f"precision: {{fp16_type: {name}}}", "--validate_only")
        self.refused("precision: {fp16_type: float8}", r"fp16_type.*accepted: .*cbfloat16")

    def test_gradient_scaling(self):
        """001:40-60 loss_scaling_factor scales the loss against underflow of gradients.
        001:61-65 It is a number, for a constant scale, or the word dynamic.
        """
        half = "precision:\n  fp16_type: cbfloat16\n"
        digests = {
            scale: self.digest(f"{half}  loss_scaling_factor: {scale}")
            for scale in ("dynamic", "128.0")
        }
        self.assertNotEqual(self.digest(half), digests["128.0"])
        self.refused(f"{half}  loss_scaling_factor: sometimes", r"loss_scaling_factor.*dynamic")
        self.refused(f"{half}  loss_scaling_factor: -1", r"loss_scaling_factor")

    def test_clipping(self):
        """001:66-98 Gradients are clipped by max_gradient_norm or by max_gradient_value.
        001:99 Each stands for one of PyTorch's two functions that clip.
        """
        half = "precision:\n  fp16_type: cbfloat16\n  loss_scaling_factor: 2.0\n"
        found = {
            self.digest(half + more)
            for more in ("", "  max_gradient_norm: 0.01", "  max_gradient_value: 0.001")
        }
        self.assertEqual(len(found), 3)

    def test_one_kind_of_clipping(self):
        """001:85,95 The example writes both, as two possibilities.
        001:100-104 The two exclude each other: one of them may be given.
        """
        self.refused(
            "precision:\n  fp16_type: cbfloat16\n  loss_scaling_factor: dynamic\n"
            "  max_gradient_norm: 1.0\n  # OR\n  max_gradient_value: 2.0",
            r"max_gradient_value.*exclude each other",
        )

    def test_levels(self):
        """001:105-107 precision_opt_level chooses how precisely the compiled step computes.
        001:108-131 It stands beside the other settings of `precision`.
        """
        told = [
            [op["permitted"] for op in self.ops(self.level(level, "cbfloat16"))]
            for level in (0, 1)
        ]
        self.assertNotEqual(told[0], told[1])
        self.trains(self.level(1, "float16"), "--validate_only")

    @staticmethod
    def level(level, half):
        return (
            f"precision:\n  fp16_type: {half}\n  loss_scaling_factor: dynamic\n"
            f"  max_gradient_norm: 1.0\n  precision_opt_level: {level}\n  tile_length: 4"
        )

    def test_levels_are_0_to_2(self):
        """001:132-133 0, 1 and 2 are levels, and nothing else is."""
        for level in (0, 1, 2):
            self.trains(self.level(level, "cbfloat16"), "--validate_only")
        for level in (-1, 3, 1.5, "high"):
            self.refused(self.level(level, "cbfloat16"), r"precision_opt_level")

    def test_the_level_is_1(self):
        """001:133-135 Without a setting the level is 1."""
        half = "precision:\n  fp16_type: cbfloat16\n  tile_length: 4\n"
        self.assertEqual(self.ops(half), self.ops(half + "  precision_opt_level: 1"))
