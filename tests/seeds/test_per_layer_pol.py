"""Document 000, levels of layers, in Python."""

import torch.nn.functional as F

from seed_programs import Net, Programs, cstorch, torch

ROUNDED = "fp32 in 4, bf16 across"
HALF = {"fp16_type": "bfloat16", "tile_length": 4, "precision_opt_level": 2}


class Decorated(Net):
    """The first layer in a decorated function, as a program of the document has it."""

    def forward(self, hidden_states):
        @cstorch.pol(level=0)
        def fc1(x):
            out = self.fc1(x)
            return F.relu(out)

        return self.last_layer(fc1(hidden_states))


class BackwardAlone(Net):
    def forward(self, hidden_states):
        @cstorch.pol(bwd_level=0)
        def fc1(x):
            return self.fc1(x)

        return self.last_layer(F.relu(fc1(hidden_states)))


class Wrapped(Net):
    def forward(self, hidden_states):
        out = cstorch.pol(bwd_level=0)(self.fc1)(hidden_states)
        return self.last_layer(F.relu(out))


class Softmax(Net):
    """Between the layers a softmax, of a level of its own."""

    level = None

    def forward(self, x):
        x = self.fc1(x)
        with cstorch.pol(level=self.level):
            x = torch.softmax(x * 4, -1)
        return self.last_layer(x)


class SoftmaxAtZero(Softmax):
    level = 0


class Levels(Programs):
    def sums(self, model=None, precision=HALF, **settings):
        """How the sums of each layer's products may be carried: (layer, whether backward)."""
        _, compiled, optimizer = self.begin(model, precision=precision, **settings)
        self.train(compiled, optimizer, steps=1)
        found = {}
        for op in self.planned():
            if op["op"] == "matmul":
                found.setdefault((op["scope"], op["backward"]), set()).add(op["permitted"])
        cstorch.finish()
        self.assertEqual(len(found), 4, found)
        return found

    def test_pol_of_the_model(self):
        """000:5-7 One level holds for the whole model, by precision_opt_level of the cluster's
        configuration.
        """
        half = {"fp16_type": "bfloat16", "tile_length": 4}
        self.assertEqual(
            set.union(*self.sums(precision=half, precision_opt_level=0).values()), {"fp32"}
        )

    def test_pol_decorator(self):
        """000:13-24 cstorch.pol on a function gives what is computed in it its level.
        000:26 Its backward pass has the same level.
        000:11 The level of a layer goes before that of the model.
        """
        found = self.sums(Decorated())
        self.assertEqual(found["model.fc1", False], {"fp32"})
        self.assertEqual(found["model.fc1", True], {"fp32"})
        self.assertEqual(found["model.last_layer", False], {ROUNDED})

    def test_pol_of_each_pass(self):
        """000:26 Arguments choose the passes apart from each other."""

        class Passes(Net):
            def forward(self, x):
                x = cstorch.pol(level=0, bwd_level=2)(self.fc1)(x)
                return cstorch.pol(level=0, enable_fwd=False)(self.last_layer)(F.relu(x))

        found = self.sums(Passes())
        self.assertEqual(found["model.fc1", False], {"fp32"})
        self.assertEqual(found["model.fc1", True], {ROUNDED})
        self.assertEqual(found["model.last_layer", False], {ROUNDED})
        self.assertLessEqual(found["model.last_layer", True], {"fp32"})

    def test_pol_backward_alone(self):
        """000:28-32 bwd_level alone is about the backward pass alone.
        000:34-38 A layer may be given in place of a function: the same is computed.
        """
        found = self.sums(BackwardAlone())
        self.assertEqual(found["model.fc1", False], {ROUNDED})
        self.assertEqual(found["model.fc1", True], {"fp32"})
        self.assertEqual(self.sums(Wrapped()), found)

    def test_pol_marks_what_is_traced(self):
        """000:40 The level is noted at the op while it is traced, and reaches the compiled step."""
        _, compiled, optimizer = self.begin(
            Decorated(), precision={**HALF, "emulate_accumulation": True}, seed=1
        )
        levels = self.train(compiled, optimizer)
        executed = {op["scope"]: op["executed"] for op in self.planned() if op["op"] == "matmul"}
        self.assertEqual(executed["model.fc1"], "fp32")
        cstorch.finish()
        torch.manual_seed(0)
        _, compiled, optimizer = self.begin(
            precision={**HALF, "emulate_accumulation": True}, seed=1
        )
        self.assertNotEqual(self.train(compiled, optimizer), levels)

    def test_pol_of_other_ops(self):
        """000:42 Levels are for matrix products alone.
        Differs: they hold for every op with a long sum that reads or stores 16 bits; the document
        announces more ops for later.
        """
        told = []
        for kind in (Softmax, SoftmaxAtZero):
            torch.manual_seed(0)
            precision = {**HALF, "graphamp": {"preset": "mp4"}, "emulate_accumulation": True}
            _, compiled, optimizer = self.begin(kind(), precision=precision)
            told.append(self.train(compiled, optimizer))
            cstorch.finish()
        self.assertNotEqual(*told)
