"""Document 000, levels of layers, as a configuration writes them."""

from statements import Configurations

HALF = "precision:\n  fp16_type: bfloat16\n  tile_length: 4\n"
ROUNDED = "fp32 in 4, bf16 across"


class Levels(Configurations):
    def sums(self, more, *flags):
        """How the sums of each layer's products may be carried: (layer, whether backward)."""
        found = {}
        for op in self.ops(HALF + more, *flags):
            if op["op"] == "matmul":
                found.setdefault((op["scope"], op["backward"]), set()).add(op["permitted"])
        self.assertEqual(len(found), 4, found)
        return found

    def test_one_level_for_the_model(self):
        """000:5-7 One level holds for the whole model; the cluster's configuration may say it."""
        at_zero = self.sums("  precision_opt_level: 0")
        self.assertEqual(set.union(*at_zero.values()), {"fp32"})
        self.assertEqual(
            self.sums("", "--set", "backend.cluster_config.precision_opt_level=0"), at_zero
        )
        at_two = self.sums("", "--set", "backend.cluster_config.precision_opt_level=2")
        self.assertIn(ROUNDED, set.union(*at_two.values()))

    def test_a_layer_has_a_level_of_its_own(self):
        """000:9-11 A part of the model is given its level, for the forward and the backward pass;
        how large the part is, is the program's choice.
        000:11 The level of a layer goes before that of the model.
        """
        found = self.sums("  precision_opt_level: 2\n  pol: [{scope: model.fc_layers.0, level: 0}]")
        self.assertEqual(found["model.fc_layers.0", False], {"fp32"})
        self.assertEqual(found["model.fc_layers.0", True], {"fp32"})
        self.assertEqual(found["model.last_layer", False], {ROUNDED})

    def test_the_passes_have_levels_of_their_own(self):
        """000:26 The two passes may be given different levels."""
        found = self.sums(
            "  precision_opt_level: 2\n"
            "  pol: [{scope: model.*, level: 2, bwd_level: 0}]"
        )
        self.assertEqual(found["model.fc_layers.0", False], {ROUNDED})
        self.assertEqual(found["model.fc_layers.0", True], {"fp32"})

    def test_a_level_of_the_backward_pass_alone(self):
        """000:28-32 With bwd_level alone the forward pass stays as it was."""
        plain = self.sums("  precision_opt_level: 2")
        found = self.sums(
            "  precision_opt_level: 2\n  pol: [{scope: model.fc_layers.0, bwd_level: 0}]"
        )
        self.assertEqual(found["model.fc_layers.0", True], {"fp32"})
        self.assertNotEqual(found, plain)
        del found["model.fc_layers.0", True], plain["model.fc_layers.0", True]
        self.assertEqual(found, plain)
