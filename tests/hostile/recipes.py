"""Recipes of cases: one line of text, for sim, fuzz, cases and check."""

import mutate
import samples
from options import free_of_nul

FIELDS = (
    "pp dp tp ep stage M bucket align steps seed unused vary tuple dynamic unit wide first "
    "overflow bad clip scale reload schedule optim mode precision reduce comm list"
).split()


class Kind:
    name = "recipes"

    def __init__(self, made):
        self.recipes = samples.RECIPES + [case["recipe"] for case in made.cases()]

    def recipe(self, dice):
        text = mutate.text(dice, dice.choice(self.recipes))
        if dice.random() < 0.3:
            text += f",{dice.choice(FIELDS)}={mutate.number_text(dice)}"
        if dice.random() < 0.05:
            text += ",list=" + "+".join(["1@0.0"] * dice.choice([511, 512, 513, 5000]))
        return free_of_nul(text)

    def make(self, dice):
        recipe = self.recipe(dice)
        if dice.random() < 0.3:
            lines = [self.recipe(dice).replace("\n", " ").encode() for _ in range(3)] + [b"\xff,\0"]
            return {
                "argv": ["{zeroproof}", "cases"],
                "stdin": b"\n".join(lines),
                "json": "lines",
                "work": True,
            }
        argv = dice.choice(
            [
                ["sim", "--case", recipe],
                ["sim", "--case", recipe, "--json"],
                ["fuzz", "--replay", recipe],
                ["fuzz", "--replay", recipe, "--json"],
                ["cases", recipe],
                ["cases", recipe],
                [
                    "check",
                    "--adapter",
                    "{zeroproof} adapter",
                    "--only",
                    recipe,
                    "--shrink",
                    "0",
                ],
            ]
        )
        item = {"argv": ["{zeroproof}", *argv], "work": True}
        if "--json" in argv:
            item["json"] = True
        elif argv[0] == "cases":
            item["json"] = "lines"
        return item
