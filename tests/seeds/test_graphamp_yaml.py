"""Document 002, mixed precision of a graph, as a configuration writes it."""

from statements import Configurations

HALF = "precision:\n  fp16_type: bfloat16\n"
PRESETS = ("mp0", "mp1", "mp2", "mp3", "mp4")


class GraphAmp(Configurations):
    def sets(self, more):
        """op -> its sets."""
        found = {}
        for op in self.ops(HALF + more):
            if not op["backward"] and not op["why"].startswith("once a step"):
                found.setdefault(op["op"], set()).add(op["set"])
        return found

    def test_training_and_inference(self):
        """002:5 A step is mixed automatically in training, and in inference as well."""
        self.trains(HALF + "  graphamp: {preset: mp2}")
        steps = self.csengine("eval", HALF + "  graphamp: {preset: mp2}")
        self.assertEqual(steps.returncode, 0, steps.stderr)
        ops = self.ops(HALF + "  graphamp: {preset: mp2}")
        for backward in (False, True):
            mixed = [o for o in ops if o["backward"] is backward and o["op"] == "matmul"]
            self.assertTrue(mixed)
            self.assertTrue(all(set(o["in"]) == {"bfloat16"} for o in mixed), mixed)

    def test_presets(self):
        """002:6 A preset is chosen of several; it gives each op one set, which its gradient follows.
        002:7-9 The sets: inputs in 16 bits; as the result is used; unchanged.
        """
        for preset in PRESETS:
            found = self.sets(f"  graphamp: {{preset: {preset}}}")
            self.assertLessEqual(set.union(*found.values()), {"allow", "infer", "deny"})
            self.assertTrue(all(len(sets) == 1 for sets in found.values()), found)
        self.refused(HALF + "  graphamp: {preset: mp9}", r"preset.*accepted: .*mp4")

    def test_allowed_ops_read_16_bits(self):
        """002:7 What is allowed reads 16 bits."""
        for op in self.ops(HALF + "  graphamp: {preset: mp1}"):
            if op["set"] == "allow":
                self.assertEqual(set(op["in"]), {"bfloat16"}, op)

    def test_denied_ops_stay(self):
        """002:9 What is denied keeps its types."""
        for op in self.ops(HALF + "  graphamp: {preset: mp2}"):
            if op["set"] == "deny":
                self.assertNotIn("bfloat16", [*op["in"], op["out"]], op)

    def test_types_go_upstream(self):
        """002:5,10 The 16-bit type spreads from an allowed op to the ops before it, as far as their
        results are used in 16 bits; the graph is walked from its results to its inputs.
        """
        forward = [
            op
            for op in self.ops(HALF + "  graphamp: {preset: mp2}")
            if op["op"] == "relu" and not op["backward"]
        ]
        self.assertEqual([(op["set"], op["out"]) for op in forward], [("infer", "bfloat16")])
        kept = [
            op
            for op in self.ops(HALF + "  graphamp: {preset: mp2, deny: [matmul]}")
            if op["op"] == "relu" and not op["backward"]
        ]
        self.assertEqual([op["out"] for op in kept], ["float32"])

    def test_conservative_and_aggressive(self):
        """002:12 A preset that denies most changes little, one that allows most changes much."""
        counts = []
        for preset in PRESETS:
            ops = self.ops(f"{HALF}  graphamp: {{preset: {preset}}}")
            counts.append(sum("bfloat16" in [*op["in"], op["out"]] for op in ops))
        self.assertEqual(counts, sorted(counts))
        self.assertLess(counts[0], counts[1])
        self.assertLess(counts[1], counts[2])

    def test_denying_all_is_off(self):
        """002:12 With every op denied nothing is changed."""
        off = self.ops(HALF + "  graphamp: {preset: mp0}")
        types = [(op["op"], op["in"], op["out"]) for op in off]
        plain = [(op["op"], op["in"], op["out"]) for op in self.ops("")]
        self.assertEqual(types, plain)

    def test_products_alone(self):
        """002:13-20 Only the product is allowed, the rest denied.
        002:21 Products then read bfloat16, add in float32 and give float32; nothing else changes.
        """
        ops = self.ops(HALF + "  graphamp: {preset: mp0, allow: [matmul]}")
        products = [op for op in ops if op["op"] == "matmul"]
        self.assertTrue(products)
        for op in products:
            self.assertEqual((set(op["in"]), op["out"]), ({"bfloat16"}, "float32"))
            self.assertEqual(op["executed"], "fp32")
        for op in ops:
            if op["op"] not in ("matmul", "cast"):
                self.assertNotIn("bfloat16", [*op["in"], op["out"]], op)

    def test_regions(self):
        """002:22 A part of the model may be left out; the rest keeps what the preset gives it."""
        ops = self.ops(
            HALF + "  graphamp: {preset: mp2}\n  disable_graphamp: [model.last_layer]"
        )
        inside = [op for op in ops if op["scope"] == "model.last_layer" and not op["backward"]]
        outside = [op for op in ops if op["scope"] == "model.fc_layers.0" and op["op"] == "matmul"]
        self.assertTrue(inside and outside)
        for op in inside:
            self.assertNotIn("bfloat16", [*op["in"], op["out"]], op)
        self.assertTrue(all("bfloat16" in op["in"] for op in outside))

    def test_tiling(self):
        """002:33-37 --tiling-accum says whether sums of tiles are kept in FP32 or in BF16."""
        found = {}
        for word in ("fp32", "bf16"):
            ops = self.ops(HALF + "  tile_length: 4", "--tiling-accum", word)
            found[word] = {op["permitted"] for op in ops if op["op"] == "matmul"}
        self.assertEqual(found["fp32"], {"fp32"})
        self.assertIn("fp32 in 4, bf16 across", found["bf16"])
        self.refused(HALF + "  tiling_accum: fp8", r"tiling_accum.*accepted: ")

    def test_gradient_sums(self):
        """002:37-39 --weight-grad-reduce says whether gradients of weights are summed in FP32 or in
        BF16.
        """
        digests = {
            self.digest("", "--weight-grad-reduce", word, "--num_csx", "2")
            for word in ("fp32", "bf16")
        }
        self.assertEqual(len(digests), 2)

    def test_weight_update(self):
        """002:33,39 Weights are updated in FP32 where that is chosen."""
        self.assertEqual(
            self.digest(HALF + "  weight_update: fp32"), self.digest(HALF)
        )
        self.assertNotEqual(
            self.digest(HALF + "  weight_update: bf16"), self.digest(HALF)
        )
