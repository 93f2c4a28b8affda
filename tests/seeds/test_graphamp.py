"""Document 002, mixed precision of a graph, in Python."""

from seed_programs import Net, Programs, cstorch, torch

PRODUCTS = {"fp16_type": "bfloat16", "graphamp": {"preset": "mp0", "allow": ["matmul"]}}


class TwoProducts(Net):
    """Two products, each with a GELU behind it, as in the document's graph."""

    def __init__(self):
        super().__init__()
        self.b = torch.nn.Parameter(torch.randn(16, 8) * 0.1)
        self.c = torch.nn.Parameter(torch.randn(8, 4) * 0.1)
        self.gelu = torch.nn.GELU()

    def forward(self, a):
        matmul_1 = torch.matmul(a, self.b)
        act_1 = self.gelu(matmul_1)
        matmul_2 = torch.matmul(act_1, self.c)
        return self.gelu(matmul_2)


class SecondByHand(TwoProducts):
    def forward(self, a):
        matmul_1 = torch.matmul(a, self.b)
        act_1 = self.gelu(matmul_1)
        with cstorch.disable_graphamp():
            matmul_2 = torch.matmul(act_1.bfloat16(), self.c.bfloat16())
            out = self.gelu(matmul_2)
        return out


class GraphAmp(Programs):
    def forward_ops(self, model, precision):
        _, compiled, optimizer = self.begin(model, precision=precision)
        for name in ("fc1", "last_layer"):  # of Net, not used here
            getattr(model, name).requires_grad_(False)
        self.train(compiled, optimizer, steps=1)
        return [
            (op["op"], op["in"][0], op["out"])
            for op in self.planned()
            if not op["backward"] and op["op"] in ("matmul", "gelu")
        ]

    def test_graph_of_two_products(self):
        """002:13-20 The graph of two products with GELUs; products alone are allowed.
        002:21 The products read bfloat16 and give float32, the GELUs stay.
        """
        half, full = "bfloat16", "float32"
        self.assertEqual(
            self.forward_ops(TwoProducts(), PRODUCTS),
            [
                ("matmul", half, full),
                ("gelu", full, full),
                ("matmul", half, full),
                ("gelu", full, full),
            ],
        )

    def test_region_by_hand(self):
        """002:22 In a context manager the program chooses the types of a part itself.
        002:23-31 The second GELU computes in bfloat16, by casts in the region.
        002:32 The rest of the graph is mixed as before.
        """
        half, full = "bfloat16", "float32"
        self.assertEqual(
            self.forward_ops(SecondByHand(), PRODUCTS),
            [
                ("matmul", half, full),
                ("gelu", full, full),
                ("matmul", half, half),
                ("gelu", half, half),
            ],
        )

    def test_attention_is_mixed(self):
        """002:11 linear, matmul and scaled_dot_product_attention compute in mixed precision; a
        softmax between them loses nothing that they need.
        """

        class Attention(Net):
            def forward(self, x):
                x = torch.nn.functional.linear(x, self.fc1.weight)
                heads = x.view(-1, 1, 4, 8)
                x = torch.nn.functional.scaled_dot_product_attention(heads, heads, heads)
                x = torch.softmax(x.flatten(1), -1)
                return torch.matmul(x, self.last_layer.weight.T)

        _, compiled, optimizer = self.begin(
            Attention(), precision={"fp16_type": "bfloat16", "graphamp": {"preset": "mp4"}}
        )
        self.train(compiled, optimizer, steps=1)
        ops = [op for op in self.planned() if not op["backward"]]
        mixed = [op for op in ops if op["op"] == "matmul" or "attention" in op["op"]]
        self.assertGreaterEqual(len(mixed), 3, [op["op"] for op in ops])
        self.assertTrue(all(op["in"][0] == "bfloat16" for op in mixed), mixed)

    def test_flags_of_reductions(self):
        """002:33-39 Sums of tiles, sums of gradients and updates of weights have their precision
        from a program as well.
        """
        told = []
        for settings in (
            {"precision": {"fp16_type": "bfloat16"}},
            {"precision": {"fp16_type": "bfloat16", "tiling_accum": "bf16", "tile_length": 4,
                           "emulate_accumulation": True}},
            {"precision": {"fp16_type": "bfloat16"}, "weight_update": "bf16"},
        ):
            torch.manual_seed(0)
            _, compiled, optimizer = self.begin(**settings)
            told.append(tuple(self.train(compiled, optimizer, steps=4)))
            cstorch.finish()
        self.assertEqual(len(set(told)), 3)
